package tune

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// originals are the strategies that bcs-k8s-watch has.
var originals = []string{partitioned, single}

// beside measures what the answer is compared with: the best of another strategy, and the best that the original has,
// as far as there is time. Where the fastest is asked for, that is the best of each strategy that is predicted to be
// as fast, and twice the queues of the answer: any of them may be faster.
func (x *Search) beside(ctx context.Context, best *candidate) error {
	all, err := x.finalists(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(slices.Clone(x.o.Strategies), func(s string) bool { return s == best.set.Strategy })
	has := func(strategies []string) bool {
		return slices.ContainsFunc(all, func(c *candidate) bool {
			return c.set.Strategy != best.set.Strategy && slices.Contains(strategies, c.set.Strategy)
		})
	}
	if len(others) > 0 && !has(others) {
		if all, err = x.with(ctx, all, x.closest(others...)); err != nil {
			return err
		}
	}
	if !has(originals) && !slices.Contains(originals, best.set.Strategy) {
		if all, err = x.with(ctx, all, x.original(nil)); err != nil {
			return err
		}
	}
	other, original := false, slices.Contains(originals, best.set.Strategy)
	for _, c := range all {
		s := c.set.Strategy
		of := slices.Contains(originals, s)
		if s == best.set.Strategy || x.compared[s] || !x.relative() && other && (original || !of) {
			continue
		}
		other, original, x.compared[s] = true, original || of, true
		if err := x.compare(ctx, c); err != nil {
			return err
		}
	}
	return x.larger(ctx, best.set)
}

// compare measures a setting beside the answer, if that was not done.
func (x *Search) compare(ctx context.Context, c *candidate) error {
	if len(c.cells) > 0 {
		return nil
	}
	x.line("to be measured: %s, beside the answer", c.set.Name())
	return x.measure(ctx, c, 0)
}

// larger measures twice as many queues as the answer's, where the fastest is asked for.
func (x *Search) larger(ctx context.Context, best Setting) error {
	s := x.roomy(best.Strategy, min(2*best.Queues, x.o.Queues.High))
	if !x.relative() || s.Queues <= best.Queues || x.beyond(s) != "" {
		return nil
	}
	for _, c := range x.cands {
		if c.set.Strategy == s.Strategy && c.set.Queues >= s.Queues && len(c.cells) > 0 {
			return nil
		}
	}
	c, err := x.shortened(ctx, s, math.Inf(1))
	if c == nil || err != nil {
		return err
	}
	return x.compare(ctx, c)
}

// with adds a candidate that does not hold the bound, with queues that are as long as it needs.
func (x *Search) with(ctx context.Context, all []*candidate, c *candidate) ([]*candidate, error) {
	if c == nil {
		return all, nil
	}
	if len(c.cells) == 0 {
		if err := x.play(ctx, seeds, c.set); err != nil {
			return nil, err
		}
		fit, err := x.shortened(ctx, c.set, math.Inf(1))
		if err != nil || fit == nil {
			return all, err
		}
		c = fit
	}
	return append(all, c), nil
}

// original is the best setting that bcs-k8s-watch has: of those that hold, else the best that
// was measured, else what comes closest by simulation.
func (x *Search) original(held []*candidate) *candidate {
	for _, c := range held {
		if slices.Contains(originals, c.set.Strategy) {
			return c
		}
	}
	mine := func(c *candidate) bool { return slices.Contains(originals, c.set.Strategy) }
	return cmp.Or(x.least(x.slowest, mine), x.closest(originals...))
}
