package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1}, 2.5}} {
		if m := Median(tt.values); m == nil || *m != tt.want {
			t.Errorf("%v: %v, want %v", tt.values, m, tt.want)
		}
	}
	if Median(nil) != nil {
		t.Error("nothing has a median")
	}
}

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		want   string
	}{
		{"too few", []float64{1, 2}, "none"},
		{"all the same", []float64{0, 0, 0}, "0.000 to 0.000"},
		{"zeros among them", []float64{0, 1, 2}, "none"},
		// log 1, 2, 4: mean log 2, standard deviation log 2; 9.925/√3 of those to either side.
		{"three", []float64{1, 2, 4}, fmt.Sprintf("%.3f to %.3f", 2*math.Pow(2, -9.924843/math.Sqrt(3)), 2*math.Pow(2, 9.924843/math.Sqrt(3)))},
		{"ten, zeros among them", []float64{0, 0, 0, 4, 5, 6, 7, 8, 9, 10}, "none"},
	} {
		got := "none"
		if i, ok := Of(tt.values); ok {
			got = fmt.Sprintf("%.3f to %.3f", i.Low, i.High)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestCoverage(t *testing.T) {
	const least, runs = 0.985, 20000
	for _, n := range []int{3, 5, 9, 10, 20} {
		for _, sigma := range []float64{0.02, 0.5} {
			rng := rand.New(rand.NewPCG(uint64(n), 7))
			held := 0
			for range runs {
				values := make([]float64, n)
				for i := range values {
					values[i] = 10 * math.Exp(sigma*rng.NormFloat64())
				}
				if i, ok := Of(values); ok && i.Low <= 10 && 10 <= i.High {
					held++
				}
			}
			share := float64(held) / float64(runs)
			t.Logf("n = %d, σ = %v: %.2f %%", n, sigma, 100*share)
			if share < least {
				t.Errorf("n = %d, σ = %v: %.2f %% of the intervals hold the median, want %.1f %%", n, sigma, 100*share, 100*least)
			}
		}
	}
}
