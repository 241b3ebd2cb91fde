package model

import (
	"iter"
	"math"
	"time"
)

// Backlog is what waits where more arrives than is served: the integral of arrivals minus
// service, which never falls below zero.
type Backlog struct {
	Events  int64
	Peak    int64         // most events that wait or are in flight; a queue of this length loses none
	Longest int64         // the same of one queue, that with most
	Drained time.Duration // when the last event was served, as the arrivals count time
}

// Absorb plays arrivals, in the order of their times and each with its queue, into queues that
// are served at a constant rate per second each. It takes time in proportion to arrivals × queues.
func Absorb(arrivals iter.Seq2[time.Duration, int], queues int, rate float64) (Backlog, error) {
	var b Backlog
	if queues < 1 || !(rate > 0) {
		return b, refuse(OutOfDomain, "a service of %d queues at %g/s ends no backlog", queues, rate)
	}
	waiting, last := make([]float64, queues), time.Duration(0)
	for at, queue := range arrivals {
		switch {
		case b.Events > 0 && at < last:
			return Backlog{}, refuse(OutOfDomain, "an arrival at %v after one at %v", at, last)
		case queue < 0 || queue >= queues:
			return Backlog{}, refuse(OutOfDomain, "an arrival in queue %d of %d", queue, queues)
		}
		served, all := rate*(at-last).Seconds(), 1.0
		for i, w := range waiting {
			waiting[i] = max(0, w-served)
			all += waiting[i]
		}
		waiting[queue]++
		last = at
		b.Events++
		b.Peak, b.Longest = max(b.Peak, whole(all)), max(b.Longest, whole(waiting[queue]))
		b.Drained = max(b.Drained, at+seconds(waiting[queue]/rate))
	}
	return b, nil
}

// Burst is the backlog of events that arrive evenly over a time (0: at once) into a service
// of a constant rate per second.
func Burst(events int64, over time.Duration, rate float64) (Backlog, error) {
	if events < 0 || over < 0 || !(rate > 0) {
		return Backlog{}, refuse(OutOfDomain, "%d events within %v at %g/s", events, over, rate)
	}
	left := max(0, float64(events)-rate*over.Seconds())
	if left == 0 && events > 0 {
		left = 1 // the last one is served after it arrived
	}
	return Backlog{Events: events, Peak: whole(left), Longest: whole(left), Drained: over + seconds(left/rate)}, nil
}

// whole rounds events up, but for what is an error of arithmetic.
func whole(events float64) int64 { return int64(math.Ceil(events - 1e-6)) }

// seconds is a length of time; what does not fit is the longest there is.
func seconds(s float64) time.Duration {
	if d := s * float64(time.Second); d < math.MaxInt64 {
		return time.Duration(d)
	}
	return math.MaxInt64
}
