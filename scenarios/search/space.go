package search

import (
	"cmp"
	"fmt"
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
	// room of queues, as a multiple of the events that wait at once: the next burst is larger.
	room = 2
)

var (
	// Strategies to search; not unordered, which loses the order by design.
	Strategies = []string{single, partitioned, keyed, dedup, adaptive}
	// originals are the strategies that bcs-k8s-watch has.
	originals = []string{partitioned, single}
	// QueueRange is the numbers of queues that are searched by default.
	QueueRange = Range{1, 256}
	// LengthRange is the queue lengths that are searched by default.
	LengthRange = Range{256, 131_072}
)

// space of the candidates: strategy, number of queues, and their lengths.
type space struct {
	strategies      []string
	queues, lengths Range
	inFlight        int      // a setting must not exceed it; 0: no limit
	kinds           []string // that are watched
	full            pipeline.QueueFull
}

func newSpace(o *Options, s *spec.Scenario) space {
	return space{o.Strategies, o.Queues, o.Lengths, o.Limits.InFlight, s.Kinds(), pipeline.QueueFull(s.Watcher.QueueFull)}
}

// numbered reports whether a strategy has a number of queues to choose.
func numbered(strategy string) bool { return strategy != single && strategy != adaptive }

// others are the strategies but one.
func (p *space) others(strategy string) []string {
	return slices.DeleteFunc(slices.Clone(p.strategies), func(s string) bool { return s == strategy })
}

// rungs lists the settings of a strategy to screen, smallest first: all numbers of queues up to 16,
// then in steps of about an eighth, and both ends.
func (p *space) rungs(strategy string) (all []Setting) {
	steps := []int{0}
	if numbered(strategy) {
		steps = nil
		for n := p.queues.Low; n < p.queues.High; n += max(1, n/8) {
			steps = append(steps, n)
		}
		steps = append(steps, p.queues.High)
	}
	for _, n := range steps {
		if s := p.roomy(strategy, n); p.within(s) {
			all = append(all, s)
		}
	}
	return all
}

// roomy is a setting with the longest queues.
func (p *space) roomy(strategy string, queues int) Setting {
	s := Setting{Strategy: strategy, WriterLen: max(leastWriter, p.lengths.High), HandlerLen: p.lengths.High}
	if numbered(strategy) {
		s.Queues = queues
	}
	return s
}

// within reports whether a setting is within the limit of requests in flight. adaptive chooses its
// number itself, so no limit can be promised.
func (p *space) within(s Setting) bool {
	return p.inFlight == 0 || s.Strategy != adaptive && p.most(s) <= p.inFlight
}

// most is the number of requests that a setting can have in flight; 0: unbounded.
func (p *space) most(s Setting) int {
	switch s.Strategy {
	case single:
		return len(p.kinds)
	case adaptive:
		return 0
	case partitioned:
		n := len(p.kinds)
		if slices.Contains(p.kinds, podKind) {
			n += s.Queues - 1
		}
		if slices.Contains(p.kinds, eventKind) {
			n += originalEventQueues*s.Queues - 1
		}
		return n
	}
	return s.Queues * len(p.kinds)
}

// least is the shortest handler queue to recommend. With block, a queue shorter than the Events that
// may wait would block their watch, too; k8s-watch warns of it.
func (p *space) least() int {
	if p.full == pipeline.Block {
		return max(p.lengths.Low, pipeline.Default().Events.Count)
	}
	return p.lengths.Low
}

// length is the smallest power of two that holds so many events, within the bounds.
func (p *space) length(events, least int) int {
	n := 1
	for n < events {
		n *= 2
	}
	return max(least, min(n, p.lengths.High))
}

// fit shortens the queues of a setting to room times the events that wait in it.
func (p *space) fit(c *candidate) Setting {
	s := c.set
	depth := func(of func(*Figures) *float64) int {
		if v := highest(c.by, of); v != nil {
			return int(room * *v)
		}
		return s.HandlerLen
	}
	s.HandlerLen = min(s.HandlerLen, p.length(depth(handlerDepth), min(p.least(), s.HandlerLen)))
	s.WriterLen = min(s.WriterLen, p.length(depth(writerDepth), leastWriter))
	return s
}

func handlerDepth(f *Figures) *float64 { return f.HandlerDepth }
func writerDepth(f *Figures) *float64  { return f.WriterDepth }

// merges reports whether a strategy keeps only the latest state of a waiting object.
func merges(strategy string) bool { return strategy == dedup || strategy == adaptive }

// overrides that give a scenario a setting.
func overrides(s Setting) []string {
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

// bySize orders settings of one strategy.
func bySize(a, b Setting) int {
	return cmp.Or(cmp.Compare(slices.Index(Strategies, a.Strategy), slices.Index(Strategies, b.Strategy)),
		cmp.Compare(a.Queues, b.Queues), cmp.Compare(a.HandlerLen, b.HandlerLen), cmp.Compare(a.WriterLen, b.WriterLen))
}

// candidate is a setting with its predictions and measurements.
type candidate struct {
	set      Setting
	by       []Figures // predicted, by plan
	excluded string    // why it cannot be chosen
	cells    []result.TunedCell
}

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

// failed lists the checks that failed in a cell.
func (c *candidate) failed() []string {
	for i := range c.cells {
		if f := c.cells[i].Failed; len(f) > 0 {
			return f
		}
	}
	return nil
}

// reason is why the last cell is invalid.
func (c *candidate) reason() string { return c.cells[len(c.cells)-1].Reason }

// requests that were simulated with the first plan.
func (c *candidate) requests() int64 {
	if len(c.by) == 0 {
		return 0
	}
	return c.by[0].Requests
}
