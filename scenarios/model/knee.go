package model

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Point is what a storage did under so many requests in flight.
type Point struct {
	InFlight int
	Rate     float64       // answers per second
	Latency  time.Duration // mean of one request; 0: not known
}

// Knee is where a storage stops answering faster.
type Knee struct {
	InFlight float64 // beyond it requests wait for each other
	Capacity float64 // answers per second from there on
	// ByLatency is the knee by Little's law alone: capacity × the latency that was measured
	// with the fewest requests in flight; 0 where that is not known. It is independent of the
	// slope, and so says how far to trust it.
	ByLatency float64
	Error     float64 // typical distance of a point from the two lines, as a part of its rate
}

const (
	kneePoints = 4    // different numbers in flight that two lines need
	kneeSide   = 2    // of them on either line
	kneeGain   = 0.25 // part of one line's squared residuals that two may leave
	kneeError  = 0.2  // largest Knee.Error
)

// KneeOf fits two lines: the rate rises in proportion to what is in flight, then is flat. The
// residuals are those of logarithms, because the noise of rates is a factor. It is refused
// where the points do not show both lines.
func KneeOf(points []Point) (Knee, error) {
	for _, p := range points {
		if p.InFlight < 1 || !(p.Rate > 0) || math.IsInf(p.Rate, 0) {
			return Knee{}, refuse(OutOfDomain, "a rate of %g/s with %d in flight", p.Rate, p.InFlight)
		}
	}
	points = slices.SortedFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.InFlight, b.InFlight) })
	var starts []int // of each number in flight
	for i, p := range points {
		if i == 0 || p.InFlight != points[i-1].InFlight {
			starts = append(starts, i)
		}
	}
	if len(starts) < kneePoints {
		return Knee{}, refuse(TooFew, "%d different numbers in flight; two lines need %d", len(starts), kneePoints)
	}
	_, oneLine := slope(points)
	_, level := flat(points)
	best, at := math.Inf(1), 0
	for i := 1; i < len(starts); i++ {
		_, rising := slope(points[:starts[i]])
		_, even := flat(points[starts[i]:])
		if rising+even < best {
			best, at = rising+even, i
		}
	}
	most := points[len(points)-1].InFlight
	switch {
	case oneLine <= level && (best > kneeGain*oneLine || len(starts)-at < kneeSide):
		return Knee{}, refuse(NotFlat, "the rate still rises at %d in flight, the most that was measured", most)
	case best > kneeGain*level || at < kneeSide:
		return Knee{}, refuse(NotRising, "the rate is flat from %d in flight on, the fewest that were measured", points[0].InFlight)
	case len(starts)-at < kneeSide:
		return Knee{}, refuse(NotFlat, "only the point at %d in flight is beyond the knee", most)
	}
	per, _ := slope(points[:starts[at]])
	capacity, _ := flat(points[starts[at]:])
	k := Knee{
		InFlight: math.Exp(capacity - per), Capacity: math.Exp(capacity),
		Error: math.Exp(math.Sqrt(best/float64(len(points)))) - 1,
	}
	if k.Error > kneeError {
		return Knee{}, refuse(PoorFit, "the points are %.0f%% off the two lines; at most %.0f%% are believed", 100*k.Error, 100*kneeError)
	}
	if l := points[0].Latency; l > 0 {
		k.ByLatency = k.Capacity * l.Seconds()
	}
	return k, nil
}

// slope is the logarithm of the rate per request in flight, and the squared residuals.
func slope(points []Point) (mean, squares float64) {
	return scatter(points, func(p Point) float64 { return math.Log(p.Rate / float64(p.InFlight)) })
}

// flat is the logarithm of the rate, and the squared residuals.
func flat(points []Point) (mean, squares float64) {
	return scatter(points, func(p Point) float64 { return math.Log(p.Rate) })
}

func scatter(points []Point, of func(Point) float64) (mean, squares float64) {
	for _, p := range points {
		mean += of(p) / float64(len(points))
	}
	for _, p := range points {
		squares += (of(p) - mean) * (of(p) - mean)
	}
	return mean, squares
}
