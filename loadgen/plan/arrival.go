package plan

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/units"
)

// stretch is a piece of an open load's time, in seconds and operations per second: the rate
// goes from one value to another, linearly.
type stretch struct{ length, from, to float64 }

// area is how much arrives in the first t seconds.
func (s stretch) area(t float64) float64 {
	if s.from == s.to {
		return s.from * t
	}
	return s.from*t + (s.to-s.from)/s.length*t*t/2
}

// when is the time at which so much has arrived.
func (s stretch) when(area float64) float64 {
	if s.from == s.to {
		return area / s.from
	}
	slope := (s.to - s.from) / s.length
	return (math.Sqrt(max(0, s.from*s.from+2*slope*area)) - s.from) / slope
}

// cut divides a stretch at t.
func (s stretch) cut(t float64) (first, rest stretch) {
	if t >= s.length {
		return s, stretch{}
	}
	at := s.from + (s.to-s.from)*t/s.length
	return stretch{length: t, from: s.from, to: at}, stretch{length: s.length - t, from: at, to: s.to}
}

// sineParts are the straight pieces that a day's sine is made of.
const sineParts = 96

// stretch is the i-th of the load; ok is false after the last. Of what recurs, every so many
// take one period.
func (c *Load) stretch(i int) (s stretch, every int, ok bool) {
	whole := stretch{length: c.Duration.Std().Seconds(), from: c.Rate, to: c.Rate}
	switch c.arrival() {
	case ArrivalRamp:
		whole.from = c.Ramp.From
	case ArrivalBurst:
		length := c.Burst.Length.Std().Seconds()
		if i%2 == 0 {
			return stretch{length: length, from: c.Rate, to: c.Rate}, 2, true
		}
		return stretch{length: c.Burst.Period.Std().Seconds() - length, from: c.Burst.Base, to: c.Burst.Base}, 2, true
	case ArrivalStep:
		if i >= len(c.Steps) {
			return s, 0, false
		}
		s = stretch{length: c.Steps[i].Length.Std().Seconds(), from: c.Steps[i].Rate, to: c.Steps[i].Rate}
		if i == len(c.Steps)-1 {
			s.length = max(s.length, whole.length) // it lasts to the end
		}
		return s, 0, true
	case ArrivalDiurnal:
		level := func(i int) float64 {
			return c.Rate * (1 + c.Diurnal.Amplitude*math.Sin(2*math.Pi*float64(i)/sineParts))
		}
		return stretch{length: c.Diurnal.Period.Std().Seconds() / sineParts, from: level(i), to: level(i + 1)}, sineParts,
			true
	}
	return whole, 0, i == 0
}

// arrivedBy is how much of the load arrives up to a time in seconds, but for chance.
func (c *Load) arrivedBy(t float64) (n float64) {
	if c.arrival() == ArrivalTrace {
		n, _ := slices.BinarySearchFunc(c.Trace, t, func(at units.Duration, t float64) int {
			if at.Std().Seconds() <= t {
				return -1
			}
			return 1
		})
		return float64(n)
	}
	begin, each := 0.0, 0.0
	for i := 0; ; i++ {
		s, every, ok := c.stretch(i)
		if !ok {
			return n
		}
		if every > 0 && i == every { // one period is known
			whole := math.Floor(t / begin)
			n, t = n+(whole-1)*each, t-(whole-1)*begin
		}
		if t-begin < s.length {
			return n + s.area(t-begin)
		}
		n += s.area(s.length)
		begin += s.length
		each = n
	}
}

// MeanRate is the writes, or a profile's pods, per second that an open loop's arrivals
// amount to: over its whole duration, for what recurs over whole periods.
func (c *Load) MeanRate() float64 {
	span := c.Duration
	switch c.arrival() {
	case ArrivalConstant, ArrivalPoisson, ArrivalMMPP, ArrivalDiurnal:
		return c.Rate
	case ArrivalBurst:
		span = c.Burst.Period
	}
	return c.arrivedBy(span.Std().Seconds()) / span.Std().Seconds()
}

// arriving goes through a load's stretches.
type arriving struct {
	load    *Load
	factor  float64 // of the rates
	rng     *rand.Rand
	chance  bool    // Poisson, not even
	begun   bool    // the first operation was due
	pending bool    // area is of an operation that was not due yet
	i       int     // of the next stretch
	s       stretch // under way
	rest    stretch // what MMPP has cut off it
	begin   float64 // of s
	area    float64 // of the next operation, within s
	high    bool    // state of MMPP
	until   float64 // when it ends
}

// arrivals yields the intended times of the open loop's operations, from 0 up to but not
// including Duration, never going down.
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
	end, n := c.Duration.Std(), 0
	a := &arriving{load: c, factor: factor, rng: rng, chance: !slices.Contains([]string{ArrivalConstant, ArrivalRamp,
		ArrivalBurst, ArrivalStep}, c.arrival())}
	if c.MMPP != nil {
		a.high = rng.Float64() >= c.MMPP.Share // the first step turns it around
	}
	return func() (time.Duration, bool) {
		if n++; n > MaxOperations {
			return 0, false
		}
		if c.arrival() == ArrivalTrace {
			if n > len(c.Trace) {
				return 0, false
			}
			return c.Trace[n-1].Std(), c.Trace[n-1].Std() < end
		}
		s, ok := a.next(end.Seconds())
		t := time.Duration(math.Round(s * float64(time.Second)))
		return t, ok && t < end
	}
}

// next is when the next operation is due.
func (a *arriving) next(end float64) (at float64, ok bool) {
	if !a.pending {
		switch {
		case a.chance:
			a.area += a.rng.ExpFloat64()
		case a.begun:
			a.area++
		}
		a.begun, a.pending = true, true
	}
	for a.s.length == 0 || a.area >= a.s.area(a.s.length) {
		if a.s.length > 0 {
			a.area -= a.s.area(a.s.length)
			a.begin += a.s.length
		}
		if a.begin >= end || !a.advance() {
			return 0, false
		}
	}
	a.pending = false
	return a.begin + a.s.when(a.area), true
}

// advance takes the next stretch, or as much of it as MMPP's state lasts.
func (a *arriving) advance() (ok bool) {
	if a.s, a.rest = a.rest, (stretch{}); a.s.length == 0 {
		if a.s, _, ok = a.load.stretch(a.i); !ok {
			return false
		}
		a.i++
		a.s.from, a.s.to = a.s.from*a.factor, a.s.to*a.factor
	}
	m := a.load.MMPP
	if m == nil {
		return true
	}
	for a.begin >= a.until {
		mean := m.Stay.Std().Seconds()
		if a.high = !a.high; !a.high {
			mean *= (1 - m.Share) / m.Share
		}
		a.until += a.rng.ExpFloat64() * mean
	}
	a.s, a.rest = a.s.cut(a.until - a.begin)
	factor := 1 / (1 + m.Share*(m.Factor-1)) // between rises, so that the mean stays
	if a.high {
		factor *= m.Factor
	}
	a.s.from, a.s.to = a.s.from*factor, a.s.to*factor
	return true
}
