package tune

import (
	"context"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// answer is the smallest setting of a strategy that holds the objective by all that is known, nil if none does.
// Larger ones near it hold it, too. What was measured comes first, except that between a setting that was too slow
// beside the fastest measured one and one that was not, a smaller one may do.
func (x *Search) answer(ctx context.Context, strategy string) (*candidate, error) {
	if x.wrong(strategy) || x.out(strategy) {
		return nil, nil
	}
	proven, bound := x.proven(strategy), x.bound()
	_, least := x.floor(strategy)
	if proven != nil && (!x.relative() || least == 0) {
		return proven, nil
	}
	var all []Setting
	for _, s := range x.rungs(strategy) {
		if s.Queues >= least && (proven == nil || s.Queues < proven.set.Queues) {
			all = append(all, s)
		}
	}
	for i, s := range all {
		if !x.holds(x.cand(s), bound) || i+1 < len(all) && !x.near(x.cand(all[i+1]), bound) {
			continue
		}
		if err := x.play(ctx, seeds, s); err != nil {
			return nil, err
		}
		if !x.holds(x.cand(s), bound) {
			continue
		}
		low := max(least, x.o.Queues.Low) - 1
		if i > 0 {
			low = all[i-1].Queues
		}
		s, err := x.refine(ctx, low, s, bound)
		if err != nil {
			return nil, err
		}
		if c, err := x.shortened(ctx, s, bound); c != nil || err != nil {
			return c, err
		}
		break
	}
	return proven, nil
}

// wrong reports whether a check failed in any cell of a strategy, which is then out for good.
func (x *Search) wrong(strategy string) bool {
	for _, c := range x.cands {
		if c.set.Strategy == strategy && slices.ContainsFunc(c.cells, func(t result.TunedCell) bool { return len(t.Failed) > 0 }) {
			return true
		}
	}
	return false
}

// near reports whether a neighbour holds the bound but for chance.
func (x *Search) near(c *candidate, bound float64) bool {
	v := x.value(c)
	return v != nil && *v <= bound*(1+tolerance)
}

// refine looks between a number of queues that is too small and a setting that holds.
func (x *Search) refine(ctx context.Context, low int, s Setting, bound float64) (Setting, error) {
	if !numbered(s.Strategy) {
		return s, nil
	}
	for high := s.Queues; high-low > 1; {
		mid := x.roomy(s.Strategy, (low+high)/2)
		if err := x.play(ctx, seeds, mid); err != nil {
			return s, err
		}
		if x.holds(x.cand(mid), bound) {
			s, high = mid, mid.Queues
		} else {
			low = mid.Queues
		}
	}
	return s, nil
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
	for _, c := range x.cands {
		if c.set.Strategy != strategy || len(c.cells) == 0 {
			continue
		}
		if v := x.verdict(c); v != result.TunedHolds && v != result.TunedInvalid {
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

// shortened is a setting with queues as long as it needs; see fitLengths. nil if no length of it
// keeps the bound.
func (x *Search) shortened(ctx context.Context, s Setting, bound float64) (*candidate, error) {
	f, err := x.fitLengths(ctx, s, bound)
	if err != nil || f == nil {
		return nil, err
	}
	c := x.cand(f.set)
	if err := x.play(ctx, seeds, f.set); err != nil {
		return nil, err
	}
	if math.IsInf(bound, 0) || len(c.cells) > 0 || x.holds(c, bound) {
		return c, nil
	}
	return nil, nil
}

// finalists are the answers of all strategies, cheapest first.
func (x *Search) finalists(ctx context.Context) (all []*candidate, err error) {
	for _, strategy := range x.o.Strategies {
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
	for _, c := range x.cands {
		if v := x.value(c); v != nil && (len(strategies) == 0 || slices.Contains(strategies, c.set.Strategy)) && !x.wrong(c.set.Strategy) {
			all, low = append(all, c), min(low, *v)
		}
	}
	slices.SortStableFunc(all, x.cost)
	for _, c := range all {
		if *x.value(c) <= low*(1+tolerance) {
			return c
		}
	}
	return nil
}
