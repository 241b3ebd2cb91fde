package pipeline

import (
	"math/rand/v2"
	"time"
)

// gate paces the requests of one kind while storage does not answer them. It is per
// kind so that a kind which storage refuses cannot hold up the others.
//
// It counts the keys that have failed since the last answer; a key that fails again is
// paced by its own backoff. From the first of them on it narrows: failed keys and
// requests in flight together are at most one per worker. When all of these have
// failed, which a storage that still serves other keys will not let happen, it
// shuts, and lets one probe through per backoff step. One answer opens it wide.
type gate struct {
	trip     int // failed keys that shut it
	failures int
	round    uint64 // of counting; an answer begins the next
	shut     bool
	until    int64 // no probe before
	probing  bool  // a probe is in flight
	step     int
	down     int64 // since when storage has not answered; 0 if it is not known to be down
	why      error // of the last failure
}

// set makes the gate fit a number of workers. One failed key alone never shuts it: it
// may be the key's own fault.
func (g *gate) set(workers int) { g.trip = max(2, workers) }

// pass reports whether a request may start now, and whether it is the probe.
func (g *gate) pass(inFlight int, now int64) (ok, probe bool) {
	if !g.shut {
		return g.failures == 0 || g.failures+inFlight < g.trip, false
	}
	if g.probing || now < g.until {
		return false, false
	}
	g.probing = true
	return true, true
}

// answered notes that storage answered, even with a refusal. It reports whether the
// gate held anybody up until now.
func (g *gate) answered() bool {
	if !g.shut && g.failures == 0 {
		return false
	}
	*g = gate{trip: g.trip, round: g.round + 1}
	return true
}

// failed notes a request without a useful answer; again says that its key has failed
// in this round before.
func (g *gate) failed(probe, again bool, now int64, b Backoff) {
	if g.shut {
		if probe {
			g.probing = false
			g.step++
			g.until = max(g.until, now+b.delay(g.step))
		}
		return
	}
	if !again {
		g.failures++
	}
	g.judge(now, b)
}

func (g *gate) judge(now int64, b Backoff) {
	if g.failures >= g.trip {
		g.shut, g.step, g.down = true, 1, now
		g.until = now + b.delay(1)
	}
}

func (g *gate) pause(until int64) {
	g.shut = true
	g.until = max(g.until, until)
}

// delay is the jittered delay before try n+1: between half of Min·2ⁿ⁻¹, bounded by
// Max, and the whole. The jitter keeps keys that failed together from coming back
// together.
func (b Backoff) delay(n int) int64 {
	d := b.Max
	if shift := n - 1; shift < 32 && b.Min<<shift < b.Max && b.Min<<shift > 0 {
		d = b.Min << shift
	}
	half, by := int64(d)/2, rand.Int64N
	if b.jitter != nil {
		by = b.jitter.Int64N
	}
	return int64(d) - half + by(half+1)
}

// after is a duration as the offset from now that the queues count in.
func after(now int64, d time.Duration) int64 { return now + int64(d) }
