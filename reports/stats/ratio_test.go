package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestPairedRatio(t *testing.T) {
	block := func(a, ratio float64) [4]float64 { return [4]float64{a, a * ratio, a * ratio, a} }
	for _, tt := range []struct {
		name   string
		blocks [][4]float64
		want   string
	}{
		{"none", nil, "none"},
		{"two are too few", [][4]float64{block(1, 2), block(1, 2)}, "none"},
		{"zero has no logarithm", [][4]float64{block(1, 2), block(1, 2), block(0, 2)}, "none"},
		{"no noise", [][4]float64{block(1, 1.5), block(2, 1.5), block(3, 1.5)}, "1.500 [1.500, 1.500] n=3"},
		// A drift of +10 % from cell to cell falls out.
		{"drift", [][4]float64{{1, 1.1, 1.21, 1.331}, {2, 2.2, 2.42, 2.662}, {1, 1.1, 1.21, 1.331}}, "1.000 [1.000, 1.000] n=3"},
		// Logarithms -0.1, 0, 0.1: t(2) = 4.3027 times 0.1/√3.
		{"three", [][4]float64{block(1, math.Exp(-0.1)), block(1, 1), block(1, math.Exp(0.1))}, fmt.Sprintf("1.000 [%.3f, %.3f] n=3", math.Exp(-0.43027/math.Sqrt(3)), math.Exp(0.43027/math.Sqrt(3)))},
		// The outlier of six is left out: without it nothing varies.
		{"outlier", [][4]float64{block(1, 1.2), block(1, 1.2), block(1, 1.2), block(1, 1.2), block(1, 1.2), block(1, 9)}, "1.200 [1.200, 1.200] n=6"},
	} {
		got := "none"
		if r := PairedRatio(tt.blocks); r.N > 0 {
			i := r.At(0.95)
			got = fmt.Sprintf("%.3f [%.3f, %.3f] n=%d", r.Median, i.Low, i.High, r.N)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestAgainst(t *testing.T) {
	e := math.Exp
	all := Against([][]float64{{1, 2}, {1, 2, 0}, {1, 1, 1}}, [][]float64{{1, 2, 3}, {1, 2, 3}, {2, 2, 2}})
	if all[0].N > 0 || all[1].N > 0 {
		t.Errorf("two values are too few, and zero has no logarithm: %+v", all)
	}
	if r := all[2]; r.Median != 2 || r.At(0.95) != (Interval{2, 2}) || r.PAbove(2) != 1 || r.PAbove(1.9) != 0 || r.PBelow(2.1) != 0 {
		t.Errorf("no noise: %+v", r)
	}
	// Welch's t of 1, 2, 3 and 2, 4, 9 as logarithms: t = 3/√(1/3+13/3), 2.306 degrees of freedom; all are 4.
	r := Against([][]float64{{e(1), e(2), e(3)}}, [][]float64{{e(2), e(4), e(9)}})[0]
	if math.Abs(r.df-(2.306+4)/2) > 1e-3 || math.Abs(r.center-3) > 1e-9 || math.Abs(r.se-math.Sqrt(14./3)) > 1e-9 {
		t.Errorf("df %v, center %v, se %v", r.df, r.center, r.se)
	}
}

// noise is that of cells on a busy machine: each is related to the one before, some are slowed much, and all drift.
type noise struct{ sigma, related, outliers, outlier, drift float64 }

func (n noise) cells(rng *rand.Rand, count int) []float64 {
	all, last := make([]float64, count), rng.NormFloat64()
	for i := range all {
		last = n.related*last + math.Sqrt(1-n.related*n.related)*rng.NormFloat64()
		l := n.sigma*last + n.drift*float64(i)/float64(count)
		if rng.Float64() < n.outliers {
			l += n.outlier * rng.ExpFloat64()
		}
		all[i] = math.Exp(l)
	}
	return all
}

func (n noise) blocks(rng *rand.Rand, count int, ratio float64) [][4]float64 {
	cells, all := n.cells(rng, 4*count), make([][4]float64, count)
	for i := range all {
		copy(all[i][:], cells[4*i:])
		if rng.IntN(2) == 0 { // begun by the other side
			c := all[i]
			all[i] = [4]float64{c[1], c[0], c[3], c[2]}
		}
		all[i][1], all[i][2] = all[i][1]*ratio, all[i][2]*ratio
	}
	return all
}

// Of p-values and intervals under noise, how many are wrong, and how many find a change of
// 10 % where 3 % are allowed.
func TestRatioKeepsItsLevel(t *testing.T) {
	const runs = 4000
	for _, tt := range []struct {
		name  string
		noise noise
		n     int
		power float64 // at p = 1.25 %, as the first of four metrics by Holm
	}{
		{"even", noise{sigma: 0.02}, 6, 0.94},
		{"even", noise{sigma: 0.02}, 10, 0.99},
		{"related, drift", noise{sigma: 0.02, related: 0.6, drift: 0.1}, 6, 0.99},
		{"outliers", noise{0.02, 0.3, 0.05, 0.2, 0.1}, 6, 0.8},
		{"outliers", noise{0.02, 0.3, 0.05, 0.2, 0.1}, 10, 0.95},
		{"loud", noise{0.05, 0.3, 0.05, 0.3, 0.1}, 10, 0.6},
	} {
		rng := rand.New(rand.NewPCG(uint64(tt.n), 11))
		held, at5, at1, found, apart := 0, 0, 0, 0, 0
		for range runs {
			r := PairedRatio(tt.noise.blocks(rng, tt.n, 1))
			i := r.At(0.95)
			held += count(i.Low <= 1 && 1 <= i.High)
			at5 += count(r.PAbove(1) <= 0.05)
			at1 += count(r.PAbove(1) <= 0.0125)
			changed := PairedRatio(tt.noise.blocks(rng, tt.n, 1.1))
			found += count(changed.PAbove(1.03) <= 0.0125)
			noDrift := tt.noise
			noDrift.related, noDrift.drift = 0, 0
			u := Against([][]float64{noDrift.cells(rng, tt.n)}, [][]float64{noDrift.cells(rng, tt.n)})[0]
			apart += count(u.PAbove(1) <= 0.05)
		}
		share := func(n int) float64 { return float64(n) / runs }
		t.Logf("%s, n = %d: interval holds %.1f %%; p ≤ 5 %% in %.1f %%, p ≤ 1.25 %% in %.2f %%; finds 10 %% in %.1f %%; unpaired p ≤ 5 %% in %.1f %%",
			tt.name, tt.n, 100*share(held), 100*share(at5), 100*share(at1), 100*share(found), 100*share(apart))
		if share(held) < 0.935 || share(at5) > 0.065 || share(at1) > 0.02 || share(apart) > 0.065 {
			t.Errorf("%s, n = %d: the level is not kept", tt.name, tt.n)
		}
		if share(found) < tt.power {
			t.Errorf("%s, n = %d: a change of 10 %% is found in %.1f %%, want %.0f %%", tt.name, tt.n, 100*share(found), 100*tt.power)
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
