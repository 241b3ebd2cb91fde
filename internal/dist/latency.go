package dist

import (
	"math"
	"math/rand/v2"
	"time"
)

// MaxLatency bounds every duration of a latency: an hour is past any timeout.
const MaxLatency = time.Hour

// Source is what a law draws from.
type Source struct {
	*rand.Rand
	// Periods is of what all draws have in common, and Now lets slow periods come and go.
	Periods *rand.Rand
	Now     time.Time
}

// Latency is a distribution of service times. Draws are made by one goroutine at a time: slow
// periods keep state.
type Latency struct{ law law }

// ParseLatency reads one.
func ParseLatency(text string) (Latency, error) {
	l, err := parse(text, latencies)
	return Latency{l}, err
}

// Fixed reports whether all draws are the mean.
func (l Latency) Fixed() bool { _, ok := l.law.(constant); return ok }

// Draw is one value, to the nanosecond.
func (l Latency) Draw(s Source) time.Duration { return nanoseconds(l.law.draw(s)) }

// Mean is over a long time.
func (l Latency) Mean() time.Duration { return nanoseconds(l.law.mean()) }

// Share is the part of draws of at most so many nanoseconds, over a long time.
func (l Latency) Share(ns float64) float64 { return min(max(0, l.law.share(ns/1e9)), 1) }

// nanoseconds rounds, and keeps absurd values within the bound.
func nanoseconds(seconds float64) time.Duration {
	return time.Duration(min(math.Round(seconds*1e9), float64(MaxLatency)))
}
