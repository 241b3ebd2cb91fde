package stats

import (
	"math"
	"slices"

	moremath "github.com/aclements/go-moremath/stats"
)

// Ratio is how many times one figure is another, and how sure that is.
//
// Its intervals and p-values come from Student's t on trimmed means of logarithms, with winsorized variances (Tukey
// and McLaughlin; for two samples Yuen and Welch): of each side the lowest and the highest fifth are left out, one at
// least, from LeastTrimmed values on. A bootstrap of the median was tried and dropped: of 6 to 10 blocks it claims a
// one-sided p of 1.25 % about twice as often as it may. So was the plain mean: one cell in twenty that a busy machine
// slows by 20 % costs it a quarter of its power. TestRatioKeepsItsLevel shows both figures for what is used.
type Ratio struct {
	Median float64 // of the blocks' ratios, or the ratio of the medians
	N      int     // blocks, or values of the smaller side

	center, se, df float64 // of the logarithm of the ratio
}

// LeastTrimmed is the fewest values of which the outermost are left out.
const LeastTrimmed = 6

// unpaired compares two sets of repetitions that were not run in pairs. ok is false with fewer than Least values on a
// side, and where one is not above zero: it has no logarithm.
func unpaired(base, changed []float64) (r Ratio, x, y trimmed, ok bool) {
	a, okA := logs(base)
	b, okB := logs(changed)
	if !okA || !okB || len(a) < Least || len(b) < Least {
		return r, x, y, false
	}
	x, y = trim(a), trim(b)
	r = Ratio{Median: math.Exp(middle(b) - middle(a)), N: min(len(a), len(b)), center: y.mean - x.mean}
	vx, vy := x.variance(), y.variance()
	r.se = math.Sqrt(vx + vy)
	if r.df = math.Inf(1); r.se > 0 { // Welch and Satterthwaite
		r.df = (vx + vy) * (vx + vy) / (vx*vx/(x.kept-1) + vy*vy/(y.kept-1))
	}
	return r, x, y, true
}

// PairedRatio compares cells that were run in blocks of four, side by side in time: the base, what changed, what
// changed, the base (or the other way round). A drift that is steady within a block falls out of its ratio. A
// Ratio of N 0 is not known: fewer than Least blocks, or a value that is not above zero.
func PairedRatio(blocks [][4]float64) Ratio {
	ratios := make([]float64, len(blocks))
	for i, b := range blocks {
		l, ok := logsInOrder(b[:])
		if !ok {
			return Ratio{}
		}
		ratios[i] = (l[1] + l[2] - l[0] - l[3]) / 2
	}
	if len(ratios) < Least {
		return Ratio{}
	}
	return paired(ratios)
}

func paired(logs []float64) Ratio {
	slices.Sort(logs)
	x := trim(logs)
	return Ratio{
		Median: math.Exp(middle(logs)), N: len(logs), center: x.mean, se: math.Sqrt(x.variance()), df: x.kept - 1,
	}
}

// At is the interval of another level. It holds Median, which a trimmed mean's own interval may miss by a hair.
func (r Ratio) At(level float64) Interval {
	half := 0.0
	if r.se > 0 {
		half = r.se * Student(level, r.df)
	}
	return Interval{min(r.Median, math.Exp(r.center-half)), max(r.Median, math.Exp(r.center+half))}
}

// PAbove is the one-sided p-value of a true ratio above limit: how likely such values are
// if it is limit or less. The smaller, the surer is that it is above.
func (r Ratio) PAbove(limit float64) float64 { return r.tail(r.center - math.Log(limit)) }

// PBelow is the same for a true ratio below limit.
func (r Ratio) PBelow(limit float64) float64 { return r.tail(math.Log(limit) - r.center) }

func (r Ratio) tail(beyond float64) float64 {
	switch {
	case r.se > 0:
		return moremath.TDist{V: min(r.df, manyDegrees)}.CDF(-beyond / r.se)
	case beyond > 0:
		return 0 // values without any noise
	}
	return 1
}

func logsInOrder(values []float64) ([]float64, bool) {
	l := make([]float64, len(values))
	for i, v := range values {
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, false
		}
		l[i] = math.Log(v)
	}
	return l, true
}

func logs(values []float64) ([]float64, bool) {
	l, ok := logsInOrder(values)
	slices.Sort(l)
	return l, ok
}

type trimmed struct {
	mean    float64
	squares float64 // of the winsorized values, around their mean
	kept    float64
}

// trim takes sorted values.
func trim(sorted []float64) (x trimmed) {
	n, out := len(sorted), 0
	if n >= LeastTrimmed {
		out = max(1, n/5)
	}
	x.kept = float64(n - 2*out)
	for _, v := range sorted[out : n-out] {
		x.mean += v / x.kept
	}
	within := func(v float64) float64 { return min(max(v, sorted[out]), sorted[n-1-out]) }
	mean := 0.0
	for _, v := range sorted {
		mean += within(v) / float64(n)
	}
	for _, v := range sorted {
		d := within(v) - mean
		x.squares += d * d
	}
	return x
}

func (x trimmed) variance() float64 { return x.squares / (x.kept * (x.kept - 1)) }
