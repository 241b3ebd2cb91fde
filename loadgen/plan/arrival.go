package plan

import (
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// arrivals yields the intended times of the open loop's operations, from 0 up to
// but not including Duration, never going down.
func (c *Load) arrivals(rng *rand.Rand) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		next := c.arrivalTimes(rng)
		for {
			if t, ok := next(); !ok || !yield(t) {
				return
			}
		}
	}
}

// arrivalTimes gives one of them after the other.
func (c *Load) arrivalTimes(rng *rand.Rand) func() (time.Duration, bool) {
	end, i := c.Duration.Std(), int64(0)
	at := c.arrivalFunc(rng)
	return func() (time.Duration, bool) {
		if i >= MaxOperations {
			return 0, false
		}
		s := at(i)
		i++
		if !(s < end.Seconds()) { // NaN too: a falling ramp has run out
			return 0, false
		}
		t := time.Duration(math.Round(s * float64(time.Second)))
		return t, t < end
	}
}

// times is the load with its rates multiplied.
func (c Load) times(f float64) Load {
	c.Rate *= f
	if c.Ramp != nil {
		c.Ramp = &Ramp{From: c.Ramp.From * f}
	}
	if c.Burst != nil {
		b := *c.Burst
		b.Base *= f
		c.Burst = &b
	}
	if c.Cron != nil {
		b := *c.Cron
		b.Size *= f
		c.Cron = &b
	}
	steps := c.Steps
	c.Steps = nil
	for _, s := range steps {
		c.Steps = append(c.Steps, RateStep{Length: s.Length, Rate: s.Rate * f})
	}
	return c
}

// arrivalFunc gives the time of operation i in seconds. It is called with i = 0,
// 1, 2, … in this order.
func (c *Load) arrivalFunc(rng *rand.Rand) func(i int64) float64 {
	rate := c.Rate
	switch c.arrival() {
	case ArrivalPoisson:
		return poisson(rng, rate)
	case ArrivalRamp:
		// The expected count up to t is from·t + slope·t²/2; operation i is due where
		// that reaches i.
		from := c.Ramp.From
		slope := (rate - from) / c.Duration.Std().Seconds()
		return func(i int64) float64 {
			if slope == 0 {
				return float64(i) / rate
			}
			return (math.Sqrt(from*from+2*slope*float64(i)) - from) / slope
		}
	case ArrivalBurst:
		period, length := c.Burst.Period.Std().Seconds(), c.Burst.Length.Std().Seconds()
		inBurst := rate * length
		perPeriod := inBurst + c.Burst.Base*(period-length)
		return func(i int64) float64 {
			n := math.Floor(float64(i) / perPeriod)
			rest := float64(i) - n*perPeriod
			t := n * period
			if rest < inBurst || c.Burst.Base == 0 {
				return t + rest/rate
			}
			return t + length + (rest-inBurst)/c.Burst.Base
		}
	case ArrivalStep:
		return c.stepTimes()
	case ArrivalMMPP, ArrivalDiurnal:
		return c.modulated(rng)
	case ArrivalCron:
		return c.cronTimes(rng)
	case ArrivalTrace:
		return func(i int64) float64 {
			if i >= int64(len(c.Trace)) {
				return math.Inf(1)
			}
			return c.Trace[i].Std().Seconds()
		}
	default:
		return func(i int64) float64 { return float64(i) / rate }
	}
}

func poisson(rng *rand.Rand, rate float64) func(int64) float64 {
	t := 0.0
	return func(int64) float64 {
		t += rng.ExpFloat64() / rate
		return t
	}
}

// stepTimes are evenly spaced within each step; the last step lasts to the end.
func (c *Load) stepTimes() func(int64) float64 {
	begin, before, k := 0.0, 0.0, 0 // of step k, and the operations before it
	return func(i int64) float64 {
		for {
			s, length := c.Steps[k], c.Steps[k].Length.Std().Seconds()
			if left := float64(i) - before; k == len(c.Steps)-1 || left < s.Rate*length {
				return begin + left/s.Rate // a rate of 0 in the last step is never reached
			}
			begin, before, k = begin+length, before+s.Rate*length, k+1
		}
	}
}

// modulated is a Poisson process whose rate follows the day, is raised by chance, or both.
// Of candidates at the highest rate as many are kept as the rate of their time is part of it.
func (c *Load) modulated(rng *rand.Rand) func(int64) float64 {
	highest := c.Rate
	level := func(float64) float64 { return c.Rate }
	if d := c.Diurnal; d != nil {
		highest *= 1 + d.Amplitude
		period := d.Period.Std().Seconds()
		level = func(t float64) float64 { return c.Rate * (1 + d.Amplitude*math.Sin(2*math.Pi*t/period)) }
	}
	state := func(float64) float64 { return 1 }
	if m := c.MMPP; m != nil {
		state = m.factors(rng)
		highest *= m.Factor * m.low()
	}
	t := 0.0
	return func(int64) float64 {
		for t < c.Duration.Std().Seconds() {
			t += rng.ExpFloat64() / highest
			if rng.Float64()*highest < level(t)*state(t) {
				break
			}
		}
		return t
	}
}

// low is the factor between bursts that keeps the mean.
func (m *MMPP) low() float64 { return 1 / (1 + m.Share*(m.Factor-1)) }

// factors gives the factor at t, which never goes down. Both states end by chance.
func (m *MMPP) factors(rng *rand.Rand) func(t float64) float64 {
	stay := m.Stay.Std().Seconds()
	high := rng.Float64() < m.Share
	until := 0.0
	leave := func() {
		mean := stay
		if !high {
			mean *= (1 - m.Share) / m.Share
		}
		until += rng.ExpFloat64() * mean
	}
	leave()
	return func(t float64) float64 {
		for t >= until {
			high = !high
			leave()
		}
		if high {
			return m.low() * m.Factor
		}
		return m.low()
	}
}

// cronTimes are those of a Poisson process, and batches on the dot.
func (c *Load) cronTimes(rng *rand.Rand) func(int64) float64 {
	period := c.Cron.Period.Std().Seconds()
	between := poisson(rng, c.Rate) // +Inf where the rate is 0
	next, owed, batch, tick := between(0), 0.0, 0, 0.0
	return func(i int64) float64 {
		for batch == 0 && tick+period <= next && tick < c.Duration.Std().Seconds() {
			tick += period
			owed += c.Cron.Size
			batch = int(owed)
			owed -= float64(batch)
		}
		if batch > 0 {
			batch--
			return tick
		}
		t := next
		next = between(i)
		return t
	}
}
