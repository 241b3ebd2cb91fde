// Package stats summarises the repetitions of one figure: their median, an interval for
// it, and whether two figures are apart.
//
// An interval is meant to hold the median at Level. It is made in one of two ways:
//
//   - From 3 to 9 values, resampling cannot reach that level: three values have ten
//     different resamples. Student's t is used instead, on logarithms, because the noise
//     of times, rates and sizes is a factor rather than a term. It assumes a noise that is
//     about lognormal; an outlier makes it wider.
//   - From BootstrapFrom values on, the percentiles of the median under resampling are
//     used, which assume nothing of the noise's shape. The resampling has a fixed seed, so
//     the same values give the same interval.
//
// One or two values have none.
package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

const (
	// Level is the share of intervals that hold what they estimate.
	Level = 0.99
	// Least is the fewest values that have an interval.
	Least = 3
	// BootstrapFrom is the fewest values whose median is resampled.
	BootstrapFrom = 10

	resamples = 2000
)

// Interval is a range, both ends included.
type Interval struct{ Low, High float64 }

// Digits is how many significant digits figures are published with.
const Digits = 6

// Round is v as it is published, with Digits.
func Round(v float64) float64 {
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', Digits, 64), 64); err == nil {
		return rounded
	}
	return v
}

// Median of values; of an even number it is the mean of the middle two, which may have a
// digit more than they: it is rounded to Digits. ok is false for none.
func Median(values []float64) (m float64, ok bool) {
	switch n := len(values); {
	case n == 0:
		return 0, false
	case n%2 == 1:
		return middle(slices.Sorted(slices.Values(values))), true
	}
	return Round(middle(slices.Sorted(slices.Values(values)))), true
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// Of is the interval for the median of values; ok is false for fewer than Least, and for
// values of which some are zero or below and some are not the same: they have no logarithm.
func Of(values []float64) (i Interval, ok bool) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	switch {
	case len(values) < Least:
		return Interval{}, false
	case low == high:
		return Interval{low, high}, true
	case len(values) >= BootstrapFrom:
		return bootstrap(values), true
	case low <= 0:
		return Interval{}, false
	}
	return student(values), true
}

// student is Student's interval for the mean of the logarithms.
func student(values []float64) Interval {
	n := float64(len(values))
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += math.Log(v) / n
	}
	for _, v := range values {
		squares += (math.Log(v) - mean) * (math.Log(v) - mean)
	}
	half := quantiles[len(values)-1] * math.Sqrt(squares/(n-1)/n)
	return Interval{math.Exp(mean - half), math.Exp(mean + half)}
}

// quantiles are Student's at Level by degrees of freedom, as far as student needs them, with
// six decimals: the last bits of a search are in no published interval.
var quantiles = func() (q [BootstrapFrom - 1]float64) {
	for df := Least - 1; df < len(q); df++ {
		q[df] = math.Round(1e6*Student(Level, float64(df))) / 1e6
	}
	return q
}()

// bootstrap is the percentile interval of the resampled median.
func bootstrap(values []float64) Interval {
	rng := rand.New(rand.NewPCG(1, uint64(len(values))))
	medians := make([]float64, resamples)
	again := make([]float64, len(values))
	for i := range medians {
		for j := range again {
			again[j] = values[rng.IntN(len(values))]
		}
		slices.Sort(again)
		medians[i] = middle(again)
	}
	return Percentiles(medians, Level)
}

// Spread is how far the interval reaches from a figure within it, as a part of the figure:
// the larger of both sides. ok is false for a figure of zero or below.
func (i Interval) Spread(of float64) (part float64, ok bool) {
	if of <= 0 || cmp.Compare(i.Low, i.High) > 0 {
		return 0, false
	}
	return max(i.High/of, of/max(i.Low, math.SmallestNonzeroFloat64)) - 1, true
}
