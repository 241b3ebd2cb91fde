package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

const (
	// seeds is how many plans a candidate near the answer is played with.
	seeds = 3
	// step is the least part by which the next candidate is larger than one that failed; it
	// doubles with each that does.
	step = 16
	// mergedMore is the part of the requests of long queues that shorter ones may save by
	// merging. A strategy that sends every change is there to do so.
	mergedMore = 0.001
)

// bound is what a prediction must stay within to be worth a measurement: the objective's bound, or what is as good as
// the lowest prediction. 0 if nothing is known.
func (x *Search) bound() float64 {
	if !x.judge.objective.relative() {
		return x.judge.objective.Bound.Seconds()
	}
	low := math.Inf(1)
	for _, strategy := range x.space.strategies {
		if !x.judge.wrong(strategy) && !x.out(strategy) {
			low = min(low, x.lowest(strategy))
		}
	}
	if math.IsInf(low, 1) {
		return 0
	}
	return low * x.judge.factor * (1 + tolerance)
}

// lowest is the lowest prediction of a strategy's rungs whose next one comes near it, so that
// one that was lucky does not set the bound. Infinite if there is none.
func (x *Search) lowest(strategy string) float64 {
	low, next := math.Inf(1), 0.0
	for _, s := range slices.Backward(x.space.rungs(strategy)) {
		c, v := x.judge.cand(s), math.Inf(1)
		if p := x.judge.predicted(c); p != nil && c.excluded == "" {
			v = *p
		}
		low, next = min(low, max(v, next)), v/(1+tolerance)
	}
	return low
}

// answer is the smallest setting of a strategy that holds the objective by all that is known, nil if none does.
// Larger ones near it hold it, too. What was measured comes first, except that between a setting that was too slow
// beside the fastest measured one and one that was not, a smaller one may do.
func (x *Search) answer(ctx context.Context, strategy string) (*candidate, error) {
	if x.judge.wrong(strategy) || x.out(strategy) {
		return nil, nil
	}
	proven, bound := x.proven(strategy), x.bound()
	_, least := x.floor(strategy)
	if proven != nil && (!x.judge.objective.relative() || least == 0) {
		return proven, nil
	}
	var all []*candidate
	for _, s := range x.space.rungs(strategy) {
		if s.Queues >= least && (proven == nil || s.Queues < proven.set.Queues) {
			all = append(all, x.judge.cand(s))
		}
	}
	for i, c := range all {
		if !x.judge.holds(c, bound) || i+1 < len(all) && !x.judge.near(all[i+1], bound) {
			continue
		}
		if err := x.screen.play(ctx, seeds, c); err != nil {
			return nil, err
		}
		if !x.judge.holds(c, bound) {
			continue
		}
		low := max(least, x.space.queues.Low) - 1
		if i > 0 {
			low = all[i-1].set.Queues
		}
		c, err := x.refine(ctx, low, c, bound)
		if err != nil {
			return nil, err
		}
		if c, err = x.fitted(ctx, c.set); err != nil {
			return nil, err
		}
		if len(c.cells) > 0 || x.judge.holds(c, bound) {
			return c, nil
		}
		break
	}
	return proven, nil
}

// refine looks between a number of queues that is too small and a candidate that holds.
func (x *Search) refine(ctx context.Context, low int, c *candidate, bound float64) (*candidate, error) {
	if !numbered(c.set.Strategy) {
		return c, nil
	}
	for c.set.Queues-low > 1 {
		mid := x.judge.cand(x.space.roomy(c.set.Strategy, (low+c.set.Queues)/2))
		if err := x.screen.play(ctx, seeds, mid); err != nil {
			return c, err
		}
		if x.judge.holds(mid, bound) {
			c = mid
		} else {
			low = mid.set.Queues
		}
	}
	return c, nil
}

// fitted is a setting with queues that have room for twice what waits in them in virtual time, or for so much more
// that they do what the longest do.
func (x *Search) fitted(ctx context.Context, s Setting) (*candidate, error) {
	long := x.judge.cand(x.space.roomy(s.Strategy, s.Queues))
	if err := x.screen.play(ctx, seeds, long); err != nil {
		return nil, err
	}
	for s = x.space.fit(long); ; s.HandlerLen *= 2 {
		s.HandlerLen = min(s.HandlerLen, long.set.HandlerLen)
		c := x.judge.cand(s)
		if err := x.screen.play(ctx, seeds, c); err != nil {
			return nil, err
		}
		fewer := long.requests() - c.requests()
		if s.HandlerLen == long.set.HandlerLen ||
			c.excluded == "" && (merges(s.Strategy) || float64(fewer) <= mergedMore*float64(long.requests())) {
			return c, nil
		}
	}
}

// ranked are those that were measured and hold, cheapest first. What holds below a larger one that does not was lucky.
func (x *Search) ranked() []*candidate {
	held := slices.DeleteFunc(x.judge.known(), func(c *candidate) bool {
		failed, _ := x.floor(c.set.Strategy)
		return !x.judge.confirmed(c) || x.judge.wrong(c.set.Strategy) || c.set.Queues <= failed
	})
	slices.SortStableFunc(held, x.cost)
	return held
}

// proven is the smallest setting of a strategy that was measured and holds.
func (x *Search) proven(strategy string) *candidate {
	for _, c := range x.ranked() {
		if c.set.Strategy == strategy {
			return c
		}
	}
	return nil
}

// floor is the largest number of queues that was measured and did not do, -1 if there is none, and the least that may
// still do: more than that, or than what could not be measured, by a step.
func (x *Search) floor(strategy string) (most, least int) {
	most = -1
	fails := 0
	for _, c := range x.judge.cands {
		if c.set.Strategy != strategy || len(c.cells) == 0 {
			continue
		}
		if v := x.judge.verdict(c); v != result.TunedHolds && v != result.TunedInvalid {
			most, fails = max(most, c.set.Queues), fails+1
		}
	}
	if fails > 0 {
		least = most + max(1, most*min(step/2, 1<<(fails-1))/step)
	}
	for _, s := range x.late[strategy] { // the next one may be measured
		least = max(least, s.Queues+max(1, s.Queues/step))
	}
	return most, least
}

// finalists are the answers of all strategies, cheapest first.
func (x *Search) finalists(ctx context.Context) (all []*candidate, err error) {
	for _, strategy := range x.space.strategies {
		c, err := x.answer(ctx, strategy)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, x.cost)
	return all, nil
}

// closest comes nearest to the bound, of the named strategies or of all: the smallest of those that are as near; nil if
// there is none.
func (x *Search) closest(strategies ...string) *candidate {
	var all []*candidate
	low := math.Inf(1)
	for _, c := range x.judge.known() {
		wanted := len(strategies) == 0 || slices.Contains(strategies, c.set.Strategy)
		if v := x.judge.value(c); v != nil && wanted && !x.judge.wrong(c.set.Strategy) {
			all, low = append(all, c), min(low, *v)
		}
	}
	slices.SortStableFunc(all, x.cost)
	for _, c := range all {
		if *x.judge.value(c) <= low*(1+tolerance) {
			return c
		}
	}
	return nil
}

// of is the best that was measured of the wanted strategies: of those that hold, else of all; nil if there is none.
func (x *Search) of(wanted func(strategy string) bool) *candidate {
	for _, c := range x.ranked() {
		if wanted(c.set.Strategy) {
			return c
		}
	}
	return x.judge.least(x.judge.worst, func(c *candidate) bool { return wanted(c.set.Strategy) })
}

// cheapest is the best that was measured of the strategies of which no check failed.
func (x *Search) cheapest() *candidate {
	return x.of(func(s string) bool { return !x.judge.wrong(s) })
}

// cost orders settings: fewer requests in flight first, of those that have none to be set
// what they came to; then fewer requests, then shorter queues.
func (x *Search) cost(a, b *candidate) int {
	return cmp.Or(cmp.Compare(x.inFlight(a), x.inFlight(b)), cmp.Compare(a.requests(), b.requests()),
		cmp.Compare(a.set.HandlerLen, b.set.HandlerLen), bySize(a.set, b.set))
}

// inFlight is what a setting may have in flight, or came to.
func (x *Search) inFlight(c *candidate) (peak float64) {
	if n := x.space.most(c.set); n > 0 {
		return float64(n)
	}
	for _, f := range slices.Concat(c.by, c.valid()) {
		if f.InFlight != nil {
			peak = max(peak, *f.InFlight)
		}
	}
	return peak
}
