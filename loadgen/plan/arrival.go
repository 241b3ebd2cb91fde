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
	end := c.Duration.Std()
	at := c.arrivalFunc(rng)
	return func(yield func(time.Duration) bool) {
		for i := range int64(MaxOperations) {
			s := at(i)
			if !(s < end.Seconds()) { // NaN too: a falling ramp has run out
				return
			}
			t := time.Duration(math.Round(s * float64(time.Second)))
			if t >= end || !yield(t) {
				return
			}
		}
	}
}

// arrivalFunc gives the time of operation i in seconds. It is called with i = 0,
// 1, 2, … in this order.
func (c *Load) arrivalFunc(rng *rand.Rand) func(i int64) float64 {
	rate := c.Rate
	switch c.arrival() {
	case ArrivalPoisson:
		t := 0.0
		return func(int64) float64 {
			t += rng.ExpFloat64() / rate
			return t
		}
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
	default:
		return func(i int64) float64 { return float64(i) / rate }
	}
}
