package model

import (
	"iter"
	"math"
	"time"
)

// Backlog is what waits where more arrives than is served: the integral of arrivals minus
// service, which never falls below zero.
type Backlog struct {
	Events    int64
	Peak      int64         // most events that wait or are in flight; a queue of this length loses none
	PeakAt    time.Duration // as the arrivals count time
	Drained   time.Duration // when the last event was served, as the arrivals count time
	AfterLast time.Duration // from the last arrival until then
}

// Absorb plays arrivals, in the order of their times, into a service of a constant rate per
// second. For the busiest of several queues, give it that queue's arrivals and rate.
func Absorb(arrivals iter.Seq[time.Duration], rate float64) (Backlog, error) {
	var b Backlog
	if !(rate > 0) {
		return b, refuse(OutOfDomain, "a service of %g/s ends no backlog", rate)
	}
	waiting, last := 0.0, time.Duration(0)
	for at := range arrivals {
		if b.Events > 0 && at < last {
			return Backlog{}, refuse(OutOfDomain, "an arrival at %v after one at %v", at, last)
		}
		waiting = max(0, waiting-rate*(at-last).Seconds()) + 1
		last = at
		b.Events++
		if n := int64(math.Ceil(waiting - 1e-6)); n > b.Peak {
			b.Peak, b.PeakAt = n, at
		}
	}
	if b.Events > 0 {
		b.AfterLast = seconds(waiting / rate)
		b.Drained = last + b.AfterLast
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
		left = min(1, float64(events)) // the last one is served after it arrived
	}
	b := Backlog{Events: events, Peak: int64(math.Ceil(left - 1e-6)), PeakAt: over, AfterLast: seconds(left / rate)}
	b.Drained = over + b.AfterLast
	return b, nil
}

// seconds is a length of time; what does not fit is the longest there is.
func seconds(s float64) time.Duration {
	if d := s * float64(time.Second); d < math.MaxInt64 {
		return time.Duration(d)
	}
	return math.MaxInt64
}
