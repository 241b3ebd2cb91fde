package pipeline

import "math"

// climber finds how many requests in flight are worth having, for Adaptive. It climbs
// the curve of throughput over concurrency: one step up is kept if it brings at
// least half of what it costs, one step down if it loses less than half of what it
// saves; between the tries it holds still, longer each time nothing was found. It
// compares neighbouring measurements only, so it needs no idea of storage's latency
// when unloaded, and follows when that changes. (Rejected: comparing latency with its
// minimum, which a storage that varies by itself keeps from growing.)
//
// Only requests under full use count: a measurement during which there was nothing to
// send, or something failed, is begun again. A throttled request halves the limit.
type climber struct {
	limit, max int

	phase    phase
	from     int     // the limit before the step being tried
	rate     float64 // requests per second at that limit
	starting bool    // no step up has failed yet: double instead of creeping
	patience int     // measurements to hold still before the next try
	held     int
	downNext bool // try down next, not up

	settle int   // requests to ignore, begun under the previous limit
	began  int64 // of the measurement
	done   int   // requests in it
}

type phase uint8

const (
	holding phase = iota
	tryingUp
	tryingDown
)

const (
	firstLimit   = 8   // requests in flight before anything is known
	leastLimit   = 2   // with less, a slow storage looks the same
	minRequests  = 64  // in one measurement
	startRounds  = 4   // requests per measurement and unit of limit, while doubling
	steadyRounds = 8   // the same afterwards, when steps are small
	mostPatience = 32  // measurements
	news         = 0.3 // change of the rate at one limit that calls for a new try
	worthIt      = 0.5 // least share of a step that must show in the rate
)

func newClimber(limit int) *climber {
	return &climber{limit: min(firstLimit, limit), max: limit, starting: true, patience: 1}
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
	c.done++
	rounds := steadyRounds
	if c.starting {
		rounds = startRounds
	}
	if c.done < max(minRequests, rounds*c.limit) || now <= c.began {
		return
	}
	rate := float64(c.done) / (float64(now-c.began) / 1e9)
	c.judge(rate)
	c.restart(now)
}

// failed takes note of a request without a useful answer.
func (c *climber) failed(now int64, throttled bool) {
	c.restart(now)
	if c.settle > 0 {
		c.settle--
		return
	}
	if throttled {
		c.starting, c.phase, c.held = false, holding, 0
		c.move(max(c.least(), c.limit/2))
	}
}

func (c *climber) restart(now int64) { c.began, c.done = now, 0 }

// move changes the limit; what is in flight still belongs to the old one.
func (c *climber) move(limit int) {
	c.settle = max(limit, c.limit)
	c.limit = limit
}

// judge decides the next step by the rate at the present limit.
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
		if c.held++; math.Abs(change) > news && c.held > 1 { // storage is not what it was
			c.patience, c.held, c.downNext = 1, 1, change < 0
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

// step tries the next limit in the present direction, from a rate that is known.
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
		c.hold(c.phase == tryingUp)
		return
	}
	c.from, c.rate = c.limit, rate
	c.move(next)
}

// giveUp returns to where the failed step came from.
func (c *climber) giveUp(down bool) {
	c.move(c.from)
	c.hold(down)
}

func (c *climber) hold(downNext bool) {
	c.starting = false
	c.phase, c.held, c.downNext = holding, 0, downNext
	c.patience = min(2*c.patience, mostPatience)
}
