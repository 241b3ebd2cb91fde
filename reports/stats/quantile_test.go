package stats

import (
	"math"
	"slices"
	"testing"
)

// TestStudent: the values are those of the table of critical values of Student's t
// distribution in the NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2
// (doi 10.18434/M32189), at 0.975 and 0.995, which are two-sided 95 % and 99 %.
func TestStudent(t *testing.T) {
	for _, row := range []struct{ df, at95, at99 float64 }{
		{1, 12.706, 63.657}, {2, 4.303, 9.925}, {3, 3.182, 5.841}, {4, 2.776, 4.604}, {5, 2.571, 4.032}, {6, 2.447, 3.707}, {7, 2.365, 3.499},
		{8, 2.306, 3.355}, {9, 2.262, 3.250}, {10, 2.228, 3.169}, {20, 2.086, 2.845}, {30, 2.042, 2.750}, {100, 1.984, 2.626}, {math.Inf(1), 1.960, 2.576},
	} {
		for level, want := range map[float64]float64{0.95: row.at95, 0.99: row.at99} {
			if got := Student(level, row.df); math.Abs(got-want) > 0.00051 {
				t.Errorf("%g degrees of freedom, %g: %.5f, want %.3f", row.df, level, got, want)
			}
		}
	}
}

func TestPercentiles(t *testing.T) {
	var values []float64
	for i := range 200 {
		values = append(values, float64((i*7)%200)) // 0 to 199 in another order
	}
	for level, want := range map[float64]Interval{0.95: {5, 194}, 0.99: {1, 198}, 0.999: {0, 199}} {
		if got := Percentiles(slices.Clone(values), level); got != want {
			t.Errorf("%g: %v, want %v", level, got, want)
		}
	}
	if got := Percentiles([]float64{3}, 0.95); got != (Interval{3, 3}) {
		t.Errorf("one value: %v", got)
	}
}
