package pipeline

import (
	"math"
	"time"
)

// climber finds how many requests in flight are worth having, for Adaptive. It climbs
// the curve of throughput over concurrency: one step up is kept if it brings at
// least half of what it costs, one step down if it loses less than half of what it
// saves; between the tries it holds still, longer each time nothing was found. It
// compares neighbouring measurements only, so it needs no idea of storage's latency
// when unloaded, and follows when that changes: when the rate at one limit is no longer
// what it was, or was measured long ago, it doubles again. (Rejected: comparing latency with its
// minimum, which a storage that varies by itself keeps from growing.)
//
// It begins with one: each answer while something waits adds one, up to firstLimit,
// where measuring begins. So a kind that is not busy never has many in flight, and a busy
// one has eight after three times the latency.
//
// Only requests under full use count: a measurement during which there was nothing to
// send, or something failed, is begun again. A throttled request halves the limit.
type climber struct {
	limit, max int

	phase    climbing
	from     int     // the limit before the step being tried
	rate     float64 // requests per second at that limit; 0: not known
	measured int64   // when a measurement ended last
	opening  bool    // firstLimit has not been reached yet
	starting bool    // no step up has failed yet: double instead of creeping
	patience int     // measurements to hold still before the next try
	held     int
	downNext bool // try down next, not up

	settle int   // requests to ignore, begun under the previous limit
	began  int64 // of the measurement
	done   int   // requests in it
}

type climbing uint8

const (
	holding climbing = iota
	tryingUp
	tryingDown
)

const (
	firstLimit   = 8                       // requests in flight at which measuring begins
	leastLimit   = 2                       // with less, a slow storage looks the same
	minRequests  = 64                      // in one measurement, once doubling has ended
	startRounds  = 4                       // requests per measurement and unit of limit, while doubling
	steadyRounds = 8                       // the same afterwards, when steps are small
	mostPatience = 32                      // measurements
	news         = 0.3                     // change of the rate at one limit that calls for a new try
	outdated     = 10 * int64(time.Second) // a measurement so old is not compared with
	worthIt      = 0.5                     // least share of a step that must show in the rate
)

func newClimber(limit int) *climber {
	return &climber{limit: 1, max: limit, opening: true, starting: true, patience: 1}
}

func (c *climber) bound(limit int) {
	c.max, c.phase, c.rate = limit, holding, 0
	if c.limit > limit {
		c.move(limit)
	}
}

// search has the next step go up, by doubling: what was found before is no longer true.
func (c *climber) search() {
	c.patience, c.held, c.downNext, c.starting = 1, 1, false, true
}

func (c *climber) least() int { return min(leastLimit, c.max) }

// answered takes note of a finished request; busy says that another is waiting.
func (c *climber) answered(now int64, busy bool) {
	if c.settle > 0 {
		c.settle--
		c.began = now
		return
	}
	if !busy {
		c.restart(now)
		return
	}
	if c.opening {
		first := min(firstLimit, c.max)
		if c.limit < first {
			c.limit++
		}
		if c.opening = c.limit < first; !c.opening {
			c.move(c.limit)
		}
		return
	}
	c.done++
	needed := max(minRequests, steadyRounds*c.limit)
	if c.starting {
		needed = startRounds * c.limit
	}
	if c.done < needed || now <= c.began {
		return
	}
	rate := float64(c.done) / (float64(now-c.began) / 1e9)
	if c.began-c.measured > outdated {
		c.phase, c.rate = holding, 0
	}
	c.measured = now
	c.judge(rate)
	c.restart(now)
}

func (c *climber) failed(now int64, throttled bool) {
	c.restart(now)
	if c.settle > 0 {
		c.settle--
		return
	}
	if throttled {
		c.opening, c.starting, c.phase, c.held = false, false, holding, 0
		c.move(min(c.limit, max(c.least(), c.limit/2)))
	}
}

func (c *climber) restart(now int64) { c.began, c.done = now, 0 }

// move changes the limit; what is in flight still belongs to the old one.
func (c *climber) move(limit int) {
	c.settle = max(limit, c.limit)
	c.limit = limit
}

func (c *climber) judge(rate float64) {
	switch c.phase {
	case tryingUp:
		cost := float64(c.limit)/float64(c.from) - 1
		if rate/c.rate-1 >= worthIt*cost {
			c.patience = 1
			c.step(rate)
			return
		}
		c.giveUp(true)
	case tryingDown:
		saved := 1 - float64(c.limit)/float64(c.from)
		if 1-rate/c.rate <= worthIt*saved {
			c.patience = 1
			c.step(rate)
			return
		}
		c.giveUp(false)
	default:
		change := rate/c.rate - 1
		c.rate = rate
		if c.held++; math.Abs(change) > news { // storage is not what it was
			c.search()
		}
		if c.held >= c.patience {
			c.phase = tryingUp
			if c.downNext {
				c.phase = tryingDown
			}
			c.step(rate)
		}
	}
}

func (c *climber) step(rate float64) {
	var next int
	switch {
	case c.phase == tryingDown:
		next = max(c.least(), min(c.limit-1, c.limit*4/5))
	case c.starting:
		next = min(c.max, 2*c.limit)
	default:
		next = min(c.max, max(c.limit+1, c.limit*5/4))
	}
	if next == c.limit { // the end of the range
		c.rate = rate
		c.hold(c.phase == tryingUp)
		return
	}
	c.from, c.rate = c.limit, rate
	c.move(next)
}

func (c *climber) giveUp(down bool) {
	c.move(c.from)
	c.hold(down)
}

func (c *climber) hold(downNext bool) {
	c.starting = false
	c.phase, c.held, c.downNext = holding, 0, downNext
	c.patience = min(2*c.patience, mostPatience)
}
