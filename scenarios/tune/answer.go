package tune

import (
	"context"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// answer is the smallest setting of a strategy that holds the bound by all that is known,
// nil if none does. Larger ones near it hold it, too.
func (x *Search) answer(ctx context.Context, strategy string, bound float64) (*candidate, error) {
	if x.wrong(strategy) || x.late[strategy] {
		return nil, nil
	}
	if c := x.proven(strategy, bound); c != nil {
		return c, nil
	}
	least := x.floor(strategy, bound)
	var all []Setting
	for _, s := range x.rungs(strategy) {
		if s.Queues >= least {
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
		return x.shortened(ctx, s, bound)
	}
	return nil, nil
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
func (x *Search) proven(strategy string, bound float64) (best *candidate) {
	for _, c := range x.cands {
		if c.set.Strategy == strategy && c.excluded == "" && len(c.cells) > 0 && x.verdict(c, bound) == result.TunedHolds && !x.wrong(strategy) &&
			(best == nil || bySize(c.set, best.set) < 0) && c.set.Queues >= x.floor(strategy, bound) {
			best = c
		}
	}
	return best
}

// floor is the least number of queues that may still do: more than any that was measured
// and did not, by a step.
func (x *Search) floor(strategy string, bound float64) int {
	most, fails := -1, 0
	for _, c := range x.cands {
		if c.set.Strategy != strategy || len(c.cells) == 0 {
			continue
		}
		if v := x.verdict(c, bound); v != result.TunedHolds && v != result.TunedInvalid {
			most, fails = max(most, c.set.Queues), fails+1
		}
	}
	if fails == 0 {
		return 0
	}
	return most + max(1, most*min(step/2, 1<<(fails-1))/step)
}

// shortened gives a setting queues that are as long as it needs, twice what it came to, and
// no longer.
func (x *Search) shortened(ctx context.Context, s Setting, bound float64) (*candidate, error) {
	roomy := x.cand(s)
	depth := func(of func(*Figures) *float64) int {
		d := 0.0
		for i := range roomy.by {
			if v := of(&roomy.by[i]); v != nil {
				d = max(d, *v)
			}
		}
		return int(math.Ceil(2 * d))
	}
	handler := depth(func(f *Figures) *float64 { return f.HandlerDepth })
	writer := depth(func(f *Figures) *float64 { return f.WriterDepth })
	fit := s
	fit.HandlerLen = x.lengthFor(handler)
	fit.WriterLen = max(leastWriter, x.lengthFor(writer))
	for {
		c := x.cand(fit)
		if err := x.play(ctx, seeds, fit); err != nil {
			return nil, err
		}
		switch {
		case c.excluded != "" && fit.HandlerLen > x.o.Lengths.Low: // a shorter queue holds less
			fit.HandlerLen = max(x.o.Lengths.Low, fit.HandlerLen/2)
		case x.holds(c, bound), len(c.cells) > 0:
			return c, nil
		case fit == s:
			return nil, nil
		default:
			if roomy.excluded != "" {
				return nil, nil
			}
			return roomy, nil
		}
	}
}

// lengthFor is the shortest of the lengths that holds n.
func (x *Search) lengthFor(n int) int {
	all := lengths(x.o.Lengths)
	if i := slices.IndexFunc(all, func(l int) bool { return l >= n }); i >= 0 {
		return all[i]
	}
	return x.o.Lengths.High
}

// finalists are the answers of all strategies, cheapest first.
func (x *Search) finalists(ctx context.Context) (all []*candidate, err error) {
	bound := x.bound()
	for _, strategy := range x.o.Strategies {
		c, err := x.answer(ctx, strategy, bound)
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

// closest is what comes nearest to the bound, the smallest of those that are as near; of
// all strategies if it is empty. nil if there is nothing.
func (x *Search) closest(strategy string) (best *candidate) {
	var all []*candidate
	low := math.Inf(1)
	for _, c := range x.cands {
		if v := x.value(c); v != nil && (strategy == "" || c.set.Strategy == strategy) && !x.wrong(c.set.Strategy) {
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
