package tune

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

const (
	// room is how many times the shortest length that holds is recommended: the next burst is
	// a larger one.
	room = 2
	// mergedMore is the part of the requests of long queues that shorter ones may save by
	// merging. A strategy that sends every change is there to do so; what is merged is lost
	// to it.
	mergedMore = 0.001
)

// lengthsFound are the lengths of a setting: the search's answer, and how it came about.
type lengthsFound struct {
	set             Setting
	handler, writer result.TuningLength
}

// fitLengths gives a setting with queues as long as may be the lengths that are recommended: the
// shortest with which all plans keep the bound, lose nothing and stay within the limits, and
// one doubling of room. Where the bound is beyond reach or infinite, they are the shortest
// with which it does as well. nil if no length is within the limits.
func (x *Search) fitLengths(ctx context.Context, roomy Setting, bound float64) (*lengthsFound, error) {
	steps := x.handlerSteps(roomy.HandlerLen)
	base, err := x.longest(ctx, roomy, steps)
	if err != nil || base == nil {
		return nil, err
	}
	steps = steps[:slices.Index(steps, base.set.HandlerLen)+1]
	f := &lengthsFound{set: base.set}
	enough := x.enough(base, bound)

	f.handler = result.TuningLength{Key: "handlerQueueLen", None: "the shortest that --lengths allows"}
	switch {
	case merges(roomy.Strategy) && x.coalesces():
		// A key waits once wherever it waits: the length decides only which metric counts it.
		f.handler.NoEffect = roomy.Strategy + " keeps one event of an object however long its queue is; this has room for twice the depth reached"
		f.set.HandlerLen = atLeast(steps, room*depth(base, handlerDepth))
	default:
		if x.blocks() {
			f.handler.None = fmt.Sprintf("with queueFull block no shorter one is taken: Events wait up to %d", eventQueueLen())
		}
		of := func(n int) Setting { s := f.set; s.HandlerLen = n; return s }
		if f.set.HandlerLen, err = x.bisect(ctx, &f.handler, lengthSearch{steps, of, enough, handlerDepth}); err != nil {
			return nil, err
		}
	}

	f.writer = result.TuningLength{Key: "writerQueueLen", None: fmt.Sprintf("both watchers raise less to %d", leastWriter)}
	at, err := x.probe(ctx, f.set)
	if err != nil {
		return nil, err
	}
	steps = x.writerSteps()
	switch {
	case x.coalesces():
		f.writer.NoEffect = "with queueFull coalesce the Writer refuses nothing; this has room for twice the depth reached, and is what both watchers raise less to, or more"
		f.set.WriterLen = atLeast(steps, room*depth(at, writerDepth))
	default:
		of := func(n int) Setting { s := f.set; s.WriterLen = n; return s }
		if f.set.WriterLen, err = x.bisect(ctx, &f.writer, lengthSearch{steps, of, enough, writerDepth}); err != nil {
			return nil, err
		}
	}
	f.handler.Setting, f.writer.Setting = f.set, f.set
	f.handler.Recommended, f.writer.Recommended = f.set.HandlerLen, f.set.WriterLen
	return f, nil
}

// lengthSearch is the search for one of the two lengths.
type lengthSearch struct {
	steps  []int                   // shortest first; the last one is enough
	of     func(int) Setting       // with that length
	enough func(*candidate) string // why a setting is not enough, empty if it is
	depth  func(*Figures) *float64
}

// bisect finds the shortest step that is enough and returns the one that is recommended.
func (x *Search) bisect(ctx context.Context, found *result.TuningLength, q lengthSearch) (int, error) {
	low, high := -1, len(q.steps)-1
	for high-low > 1 {
		mid := (low + high) / 2
		c, err := x.probe(ctx, q.of(q.steps[mid]))
		if err != nil {
			return 0, err
		}
		if why := q.enough(c); why == "" {
			high = mid
		} else {
			low, found.Shorter, found.Comes = mid, q.steps[mid], why
		}
	}
	if low >= 0 {
		found.None = ""
	}
	found.Shortest = q.steps[high]
	c, err := x.probe(ctx, q.of(found.Shortest))
	if err != nil {
		return 0, err
	}
	if room*depth(c, q.depth) <= found.Shortest {
		return found.Shortest, nil // it has that room
	}
	longer, err := x.probe(ctx, q.of(atLeast(q.steps, room*found.Shortest)))
	if err != nil || q.enough(longer) != "" {
		return found.Shortest, err
	}
	return atLeast(q.steps, room*found.Shortest), nil
}

// enough returns what says why a setting with shorter queues does not do what base does.
func (x *Search) enough(base *candidate, bound float64) func(*candidate) string {
	limit := bound
	if !x.relative() {
		limit *= 1 - margin
	}
	if v := x.predicted(base); v != nil && (*v*x.factor > limit || math.IsInf(limit, 0)) {
		limit = *v * x.factor * (1 + tolerance)
	}
	return func(c *candidate) string {
		x.exclude(c) // what the watcher itself takes may be known by now
		v := x.predicted(c)
		switch {
		case c.excluded != "":
			return c.excluded
		case v == nil:
			return x.o.Objective.Metric + " is not known"
		case *v*x.factor > limit:
			return "comes to " + x.said(new(*v*x.factor)) + ", simulated"
		}
		if merges(c.set.Strategy) {
			return ""
		}
		for i := range c.by {
			if sent, all := c.by[i].Requests, base.by[i].Requests; float64(all-sent) > mergedMore*float64(all) {
				return fmt.Sprintf("sends %s of %s changes in the simulation: the others are merged while they wait", thousands(sent), thousands(all))
			}
		}
		return ""
	}
}

// longest is the setting with the longest queues that the limits allow.
func (x *Search) longest(ctx context.Context, roomy Setting, steps []int) (*candidate, error) {
	for _, n := range slices.Backward(steps) {
		roomy.HandlerLen = n
		c, err := x.probe(ctx, roomy)
		if err != nil {
			return nil, err
		}
		if x.exclude(c); c.excluded == "" {
			return c, nil
		}
	}
	return nil, nil
}

// probe plays a setting with all plans, beside the candidates: what is tried of lengths is not
// in the table.
func (x *Search) probe(ctx context.Context, s Setting) (*candidate, error) {
	c := x.probes[s]
	if c == nil {
		c = &candidate{set: s}
		x.probes[s] = c
	}
	return c, x.playAll(ctx, seeds, c)
}

// handlerSteps are the powers of two within --lengths up to a length, and both ends.
func (x *Search) handlerSteps(longest int) []int {
	low := x.o.Lengths.Low
	if x.blocks() {
		low = max(low, eventQueueLen())
	}
	return powers(Range{min(low, longest), longest})
}

// writerSteps are the same of the Writer, from the least that both watchers take.
func (x *Search) writerSteps() []int {
	return powers(Range{max(leastWriter, x.o.Lengths.Low), max(leastWriter, x.o.Lengths.High)})
}

// powers are the powers of two within a range, and its ends.
func powers(r Range) []int {
	steps := []int{r.Low}
	for n := 1; n < r.High; n *= 2 {
		if n > r.Low {
			steps = append(steps, n)
		}
	}
	if r.High > r.Low {
		steps = append(steps, r.High)
	}
	return steps
}

// atLeast is the first step that is n or more, else the last.
func atLeast(steps []int, n int) int {
	if i := slices.IndexFunc(steps, func(l int) bool { return l >= n }); i >= 0 {
		return steps[i]
	}
	return steps[len(steps)-1]
}

// depth is the most of all plans.
func depth(c *candidate, of func(*Figures) *float64) int {
	d := 0.0
	for i := range c.by {
		if v := of(&c.by[i]); v != nil {
			d = max(d, *v)
		}
	}
	return int(math.Ceil(d))
}

func handlerDepth(f *Figures) *float64 { return f.HandlerDepth }
func writerDepth(f *Figures) *float64  { return f.WriterDepth }

// merges reports whether a strategy keeps only the latest state of an object that waits.
func merges(strategy string) bool { return strategy == dedup || strategy == adaptive }

func (x *Search) coalesces() bool { return x.base.Watcher.QueueFull == string(pipeline.Coalesce) }
func (x *Search) blocks() bool    { return x.base.Watcher.QueueFull == string(pipeline.Block) }

// eventQueueLen is how many Events wait before the oldest are dropped. While handler queues
// are shorter, queueFull block would hold back the watch of Events, too; k8s-watch warns of it.
func eventQueueLen() int { return pipeline.Default().Events.Count }

// lengths says how the lengths of settings came about, by what is known in the end.
func (x *Search) lengths(ctx context.Context, all ...*candidate) (found []result.TuningLength, err error) {
	for _, c := range all {
		if c == nil {
			continue
		}
		f, err := x.fitLengths(ctx, x.roomy(c.set.Strategy, c.set.Queues), x.bound())
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		f.handler.Setting, f.writer.Setting = c.set, c.set
		f.handler.Recommended, f.writer.Recommended = c.set.HandlerLen, c.set.WriterLen
		found = append(found, f.handler, f.writer)
	}
	return found, nil
}
