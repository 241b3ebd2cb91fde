package plan

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// stretch is a piece of an open load's time, in seconds and operations per second; the rate changes linearly.
type stretch struct{ length, from, to float64 }

// area is how much arrives in the first t seconds.
func (s stretch) area(t float64) float64 { return s.from*t + (s.to-s.from)/s.length*t*t/2 }

// when is the time at which so much has arrived.
func (s stretch) when(area float64) float64 {
	if s.from == s.to {
		return area / s.from
	}
	slope := (s.to - s.from) / s.length
	return (math.Sqrt(max(0, s.from*s.from+2*slope*area)) - s.from) / slope
}

// stretches returns the stretches of the whole load, with rates multiplied by factor.
func (c *Load) stretches(factor float64) (all []stretch) {
	left := c.Duration.Std().Seconds()
	for i, s := range c.Steps {
		length := s.Length.Std().Seconds()
		if i == len(c.Steps)-1 {
			length = max(length, left) // it lasts to the end
		}
		from := s.Rate
		if s.From != nil {
			from = *s.From
		}
		all = append(all, stretch{length, factor * from, factor * s.Rate})
		left -= length
	}
	if len(all) == 0 {
		all = []stretch{{left, factor * c.Rate, factor * c.Rate}}
	}
	return all
}

// MeanRate is the writes, or a profile's pods, per second that an open loop's arrivals amount to.
func (c *Load) MeanRate() (mean float64) {
	length := c.Duration.Std().Seconds()
	left := length
	if len(c.Steps) == 0 {
		return c.Rate
	}
	for _, s := range c.stretches(1) {
		mean += s.area(min(s.length, max(0, left))) / length
		left -= s.length
	}
	return mean
}

// arrivals yields the intended times of the open loop's operations, from 0 up to Duration, never going down.
func (c *Load) arrivals(rng *rand.Rand) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		next := c.arrivalTimes(rng, 1)
		for {
			if t, ok := next(); !ok || !yield(t) {
				return
			}
		}
	}
}

// arrivalTimes gives one of them after the other, of rates that are multiplied.
func (c *Load) arrivalTimes(rng *rand.Rand, factor float64) func() (time.Duration, bool) {
	rest, begin, area, n := c.stretches(factor), 0.0, 0.0, 0
	gap := func() float64 { return 1 }
	if c.arrival() == ArrivalPoisson {
		gap = rng.ExpFloat64
		area = gap()
	}
	return func() (time.Duration, bool) {
		for len(rest) > 0 && area >= rest[0].area(rest[0].length) {
			area -= rest[0].area(rest[0].length)
			begin += rest[0].length
			rest = rest[1:]
		}
		if n++; n > MaxOperations || len(rest) == 0 {
			return 0, false
		}
		t := time.Duration(math.Round((begin + rest[0].when(area)) * float64(time.Second)))
		area += gap()
		return t, t < c.Duration.Std()
	}
}

func (c *Load) validateArrival() error {
	switch arrival := c.arrival(); {
	case arrival != ArrivalConstant && arrival != ArrivalPoisson:
		return fieldError("arrival", "%q is not known; use constant or poisson, and steps for a rate that changes", arrival)
	case len(c.Steps) > 0 && c.Rate != 0:
		return fieldError("rate", "has no effect beside steps; drop it")
	case len(c.Steps) > 0 && !slices.ContainsFunc(c.Steps, func(s RateStep) bool { return s.Rate != 0 || s.From != nil }):
		return fieldError("steps", "have only rates of 0; give one of them more")
	}
	if mean := c.MeanRate(); mean*c.Duration.Std().Seconds() > MaxOperations {
		return fieldError("rate", "%v/s for %s are more than %d operations; lower one of them", mean, c.Duration,
			MaxOperations)
	}
	return nil
}
