package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/watchbench/watchbench/reports/stats"
)

// Rated is a rate that was measured with so many queues, or requests in flight.
type Rated struct {
	Queues int
	Rate   float64 // per second
}

// Scaling is the universal scalability law (Gunther): X(N) = γN ÷ (1 + α(N−1) + βN(N−1)). γ is
// the rate of one queue, α what all of them wait for together, β what each pair costs.
type Scaling struct {
	Gamma, Alpha, Beta float64
}

// At is the rate with n queues.
func (s Scaling) At(n int) float64 {
	x := float64(n)
	return s.Gamma * x / (1 + s.Alpha*(x-1) + s.Beta*x*(x-1))
}

// peak is the number of queues beyond which more make it slower; ok is false without one.
func (s Scaling) peak() (n float64, ok bool) {
	if s.Beta <= 0 || s.Alpha >= 1 {
		return 0, false
	}
	return math.Sqrt((1 - s.Alpha) / s.Beta), true
}

// Fitted is a law with the intervals that hold its parameters at ScalingLevel.
type Fitted struct {
	Scaling
	AlphaIn, BetaIn stats.Interval
	R2              float64 // of logarithms
	Error           float64 // typical distance of a point from the law, as a part of its rate
	least, most     int     // queues
	gammas, peaks   stats.Interval
}

// Peak is where the rate is highest.
type Peak struct {
	Queues float64
	In     stats.Interval
}

// Bounds of a fit.
const (
	ScalingLevel  = 0.95 // share of intervals that hold what they estimate
	scalingPoints = 5    // different numbers of queues
	scalingR2     = 0.9
	resamples     = 500
)

// ScalingOf fits the law by least squares of logarithms, α and β not below 0, and resamples
// the residuals for intervals. The seed of the resampling is fixed. It is refused for fewer
// than five different numbers of queues and where the law explains less than 90 % of the
// differences.
func ScalingOf(points []Rated) (Fitted, error) {
	var queues []int
	for _, p := range points {
		if p.Queues < 1 || !(p.Rate > 0) || math.IsInf(p.Rate, 0) {
			return Fitted{}, refuse(OutOfDomain, "a rate of %g/s with %d queues", p.Rate, p.Queues)
		}
		queues = append(queues, p.Queues)
	}
	slices.Sort(queues)
	queues = slices.Compact(queues)
	if len(queues) < scalingPoints {
		return Fitted{}, refuse(TooFew, "%d different numbers of queues; the law needs %d", len(queues), scalingPoints)
	}
	logs := make([]float64, len(points))
	mean := 0.0
	for i, p := range points {
		logs[i] = math.Log(p.Rate)
		mean += logs[i] / float64(len(points))
	}
	s, left := fit(points, logs)
	total := 0.0
	for _, l := range logs {
		total += (l - mean) * (l - mean)
	}
	f := Fitted{Scaling: s, least: queues[0], most: queues[len(queues)-1]}
	f.Error = math.Exp(math.Sqrt(left/float64(len(points)))) - 1
	if total > 0 {
		f.R2 = 1 - left/total
	}
	if f.R2 < scalingR2 {
		return Fitted{}, refuse(PoorFit, "the law explains %.0f%% of the differences (R²); at least %.0f%% are needed", 100*max(0, f.R2), 100*scalingR2)
	}
	f.resample(points, logs)
	return f, nil
}

// parameters of the law, for degrees of freedom.
const parameters = 3

// resample sets the intervals. The residuals of a fit are smaller than the noise, the more so
// the fewer points there are, and the percentiles of resamples do not know that they come from
// few: the first is made good by the degrees of freedom, the second by Student's quantile.
func (f *Fitted) resample(points []Rated, logs []float64) {
	n := len(points)
	predicted, residuals := make([]float64, n), make([]float64, n)
	mean := 0.0
	for i, p := range points {
		predicted[i] = math.Log(f.At(p.Queues))
		residuals[i] = logs[i] - predicted[i]
		mean += residuals[i] / float64(n)
	}
	free := n - parameters
	grow := math.Sqrt(float64(n)/float64(free)) * stats.Student(ScalingLevel, float64(free)) / stats.Student(ScalingLevel, math.Inf(1))
	for i := range residuals {
		residuals[i] = (residuals[i] - mean) * grow
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var gammas, alphas, betas, peaks []float64
	again := make([]float64, n)
	for range resamples {
		for i := range again {
			again[i] = predicted[i] + residuals[rng.IntN(n)]
		}
		s, _ := fit(points, again)
		gammas, alphas, betas = append(gammas, s.Gamma), append(alphas, s.Alpha), append(betas, s.Beta)
		top, ok := s.peak()
		if !ok {
			top = math.Inf(1)
		}
		peaks = append(peaks, top)
	}
	in := func(values []float64) stats.Interval { return stats.Percentiles(values, ScalingLevel) }
	f.gammas, f.AlphaIn, f.BetaIn, f.peaks = in(gammas), in(alphas), in(betas), in(peaks)
}

// Peak is the number of queues with the highest rate, N* = √((1−α) ÷ β). It is refused where
// the interval of β has 0 in it: the points then do not say that there is one.
func (f *Fitted) Peak() (Peak, error) {
	n, ok := f.peak()
	if !ok || f.BetaIn.Low <= 0 || math.IsInf(f.peaks.High, 1) {
		return Peak{}, refuse(NoPeak, "from %d to %d queues the rate does not turn: more queues are not shown to make it slower", f.least, f.most)
	}
	return Peak{Queues: n, In: f.peaks}, nil
}
