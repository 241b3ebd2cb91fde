package search

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// Setting is a candidate's.
type Setting = result.Setting

const (
	podKind     = "Pod"
	eventKind   = "Event"
	single      = "single"
	partitioned = "partitioned"
	keyed       = "keyed"
	dedup       = "dedup"
	adaptive    = "adaptive"

	// originalEventQueues is how many queues the original has for Events to each for Pods.
	originalEventQueues = 4
	// leastWriter: both watchers raise a shorter bcs.writerQueueLen to this.
	leastWriter = 10_240
	// leastLength and mostLength bound the queues that are recommended.
	leastLength, mostLength = 256, 131_072
	// room of queues, as a multiple of the events that wait at once: the next burst is larger.
	room = 2
	// rateStep is the ratio of neighbouring rates.
	rateStep = 1.05
)

var (
	// Strategies to search; not unordered, which loses the order by design.
	Strategies = []string{single, partitioned, keyed, dedup, adaptive}
	// originals are the strategies that bcs-k8s-watch has.
	originals = []string{partitioned, single}
	// QueueRange is the numbers of queues that are searched by default.
	QueueRange = Range{1, 256}
)

// candidate is a setting with its predictions and measurements.
type candidate struct {
	set      Setting
	by       []Figures // predicted, by plan
	excluded string    // why it cannot be chosen
	cells    []result.TunedCell
}

// ladder holds the candidates of a strategy, first the one that holds the objective most easily: the most queues, or
// the lowest rate.
type ladder struct {
	strategy string
	file     *spec.File // what the candidates override
	rungs    []*candidate
	start    int // the last that is predicted to hold; -1: none
}

// first is the candidate to measure first.
func (l *ladder) first() *candidate { return l.rungs[max(0, l.start)] }

// unreachable is 1 if no candidate is predicted to hold.
func (l *ladder) unreachable() int { return -min(0, l.start) }

// measured reports whether any candidate was.
func (l *ladder) measured() bool {
	return slices.ContainsFunc(l.rungs, func(c *candidate) bool { return len(c.cells) > 0 })
}

// wrong reports whether any candidate lost something or failed a check.
func (l *ladder) wrong() bool {
	return slices.ContainsFunc(l.rungs, func(c *candidate) bool { return c.failed() != nil })
}

// edge returns the last of n rungs that holds, -1 for none: with doubling steps from start, then by halves.
func edge(n, start int, holds func(int) (bool, error)) (int, error) {
	low, high := -1, n
	for at, step := start, 1; high-low > 1; {
		ok, err := holds(at)
		switch {
		case err != nil:
			return low, err
		case ok:
			low = at
		default:
			high = at
		}
		switch {
		case high == n:
			at, step = min(low+step, n-1), 2*step
		case low < 0:
			at, step = max(high-step, 0), 2*step
		default:
			at = (low + high) / 2
		}
	}
	return low, nil
}

// numbered reports whether a strategy has a number of queues to choose.
func numbered(strategy string) bool { return strategy != single && strategy != adaptive }

// settings are the numbers of queues: all up to 16, then in steps of about an eighth, and both ends.
func settings(f *spec.File, strategy string, queues Range) *ladder {
	l := &ladder{strategy: strategy, file: f}
	add := func(n int) {
		l.rungs = append(l.rungs, &candidate{set: Setting{Strategy: strategy, Queues: n, WriterLen: mostLength,
			HandlerLen: mostLength}})
	}
	if !numbered(strategy) {
		add(0)
		return l
	}
	for n := queues.Low; n < queues.High; n += max(1, n/8) {
		add(n)
	}
	add(queues.High)
	slices.Reverse(l.rungs)
	l.start = len(l.rungs) / 2
	return l
}

// rates are those that a scenario can have, rateStep apart. The first to try is one that a strategy that sends each
// event carries by Little's law, with room for the variability of latencies.
func rates(f *spec.File) *ladder {
	s := f.Base()
	l := &ladder{strategy: cmp.Or(s.Watcher.Label(), s.Watcher.Strategy), file: f}
	first, latency := s.Load.Rate, s.Storage.MeanLatency(podKind).Seconds()
	if s.Load.Profile == "" && latency > 0 { // else the rate is not of writes
		inFlight := s.Watcher.Concurrency()
		if most := s.Storage.Capacity.Inflight; most > 0 {
			inFlight = min(inFlight, most)
		}
		first = 0.7 * float64(inFlight) / latency
		if most := s.Storage.Capacity.Rate; most > 0 {
			first = min(first, 0.7*float64(most))
		}
	}
	for r := leastRate; ; r = rounded(r * rateStep) {
		if r <= first {
			l.start = len(l.rungs)
		}
		l.rungs = append(l.rungs, &candidate{set: Setting{Strategy: l.strategy, Rate: r}})
		if r >= MaxRate {
			return l
		}
	}
}

// overrides that give a scenario a setting.
func overrides(s Setting) []string {
	if s.Rate > 0 {
		return []string{"load.rate=" + number(s.Rate)}
	}
	queues := s.Queues
	switch s.Strategy {
	case single:
		queues = 1
	case adaptive:
		queues = 30 // has no effect, and an axis of the file must not run it twice
	}
	return []string{
		"watcher.strategy=" + s.Strategy, fmt.Sprintf("watcher.podQueueNum=%d", queues),
		fmt.Sprintf("watcher.writerQueueLen=%d", s.WriterLen), fmt.Sprintf("watcher.handlerQueueLen=%d", s.HandlerLen),
	}
}

// inFlight is the number of requests that a candidate can have in flight, or had in virtual time if its strategy sets
// none.
func (x *Search) inFlight(c *candidate) float64 {
	n := len(x.kinds)
	switch c.set.Strategy {
	case single:
		return float64(n)
	case adaptive:
		if v := highest(c.by, func(f *Figures) *float64 { return f.InFlight }); v != nil {
			return *v
		}
		return math.Inf(1)
	case partitioned:
		if slices.Contains(x.kinds, podKind) {
			n += c.set.Queues - 1
		}
		if slices.Contains(x.kinds, eventKind) {
			n += originalEventQueues*c.set.Queues - 1
		}
		return float64(n)
	}
	return float64(n * c.set.Queues)
}

// cost orders candidates: fewer requests in flight first, then fewer requests, then shorter queues.
func (x *Search) cost(a, b *candidate) int {
	return cmp.Or(cmp.Compare(x.inFlight(a), x.inFlight(b)), cmp.Compare(a.requests(), b.requests()),
		cmp.Compare(a.set.HandlerLen, b.set.HandlerLen),
		cmp.Compare(slices.Index(Strategies, a.set.Strategy), slices.Index(Strategies, b.set.Strategy)))
}

// fit gives a candidate queues of the power of two with room for twice the events that wait in them, so that none
// fills with the same plans. With block, a queue shorter than the Events that may wait would block their watch, too.
func (x *Search) fit(c *candidate) {
	least := leastLength
	if x.base.Watcher.QueueFull == string(pipeline.Block) {
		least = pipeline.Default().Events.Count
	}
	length := func(depth *float64, least int) int {
		if depth == nil {
			return mostLength
		}
		n := 1
		for float64(n) < room**depth {
			n *= 2
		}
		return max(least, min(n, mostLength))
	}
	c.set.HandlerLen = length(highest(c.by, handlerDepth), least)
	c.set.WriterLen = length(highest(c.by, func(f *Figures) *float64 { return f.WriterDepth }), leastWriter)
}

func handlerDepth(f *Figures) *float64 { return f.HandlerDepth }

// highest is the highest of a figure, nil where one of them is not known.
func highest(all []Figures, of func(*Figures) *float64) (high *float64) {
	for i := range all {
		v := of(&all[i])
		if v == nil {
			return nil
		}
		if high == nil || *v > *high {
			high = v
		}
	}
	return high
}

// valid returns the figures of the valid cells.
func (c *candidate) valid() (all []Figures) {
	for i := range c.cells {
		if c.cells[i].Valid {
			all = append(all, c.cells[i].Figures)
		}
	}
	return all
}

// failed lists what was lost, or which checks failed, in a cell.
func (c *candidate) failed() []string {
	for i := range c.cells {
		if f := c.cells[i].Failed; len(f) > 0 {
			return f
		}
	}
	return nil
}

// requests that were simulated with the first plan.
func (c *candidate) requests() int64 {
	if len(c.by) == 0 {
		return 0
	}
	return c.by[0].Requests
}
