package search

import (
	"context"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

const (
	// maxProbes bounds how many settings are measured, not counting repetitions.
	maxProbes = 9
	// maxBelow bounds how many smaller settings are tried below one that holds.
	maxBelow = 3
)

// confirm measures the settings that simulation recommends until one holds the objective in every
// repetition, none can, or the budget ends. It returns the recommendation, or the closest setting;
// nil if nothing is known.
func (x *Search) confirm(ctx context.Context) (best *candidate, err error) {
	for probes, below := 0, 0; probes < maxProbes; {
		if c := x.judge.lucky(); c != nil {
			if err := x.measure(ctx, c); err != nil {
				return best, err
			}
			continue
		}
		all, err := x.finalists(ctx)
		if err != nil {
			return best, err
		}
		done := x.bench.done()
		if len(all) == 0 {
			if best, err = x.giveUp(ctx, best); err != nil || x.bench.done() == done || !x.judge.confirmed(best) {
				return best, err
			}
			probes++ // the prediction was wrong: it is repeated as any other
			continue
		}
		best = all[0]
		switch next := x.below(ctx, best); {
		case len(best.cells) == 0:
			x.bench.line("to be measured: %s, predicted %s", best.set.Name(), x.said(x.judge.predicted(best)))
			probes++
			err = x.measure(ctx, best)
		case x.judge.verdict(best) == result.TunedInvalid:
			x.leaveOut(best)
		case below < maxBelow && next != nil:
			x.bench.line("to be measured: %s, to see whether fewer do", next.set.Name())
			probes, below = probes+1, below+1
			err = x.measure(ctx, next)
		case len(best.valid()) < x.judge.repeat:
			if err = x.measure(ctx, best); err == nil && len(best.cells) > 2*x.judge.repeat {
				return best, nil // one is invalid again and again
			}
		default:
			if err = x.beside(ctx, best, all); !x.judge.objective.relative() || x.bench.done() == done {
				return best, err
			}
		}
		if err != nil {
			return best, err
		}
	}
	x.note("ended after %d settings that were measured", maxProbes)
	return x.measured(x.space.strategies...), nil
}

// leaveOut skips a setting that could not be measured, and after maxLate of them the strategy:
// its other settings would be as late.
func (x *Search) leaveOut(c *candidate) {
	s := c.set.Strategy
	x.late[s] = append(x.late[s], c.set)
	what := "it is left out"
	if x.out(s) {
		what += ", and with it " + s
	}
	x.note("%s, predicted to do, could not be measured (%s): %s", c.set.Name(), c.reason(), what)
	x.bench.line("%s", x.notes[len(x.notes)-1])
}

// giveUp measures the closest setting where none is predicted to hold. After settings that could not
// be measured it only returns the best so far.
func (x *Search) giveUp(ctx context.Context, best *candidate) (*candidate, error) {
	if len(x.late) > 0 {
		if c := x.measured(x.space.strategies...); c != nil {
			best = c
		}
		return best, nil
	}
	c := x.closest(x.space.strategies...)
	if c == nil || len(c.cells) > 0 {
		return c, nil
	}
	if err := x.screen.play(ctx, seeds, c); err != nil {
		return c, err
	}
	x.bench.line("nothing is predicted to hold the objective; to be measured: %s, which comes closest", c.set.Name())
	if err := x.measure(ctx, c); err != nil {
		return c, err
	}
	if closer := x.closest(x.space.strategies...); closer != nil && len(closer.cells) > 0 {
		c = closer
	}
	return c, nil
}

// below is a smaller setting of the same strategy that may hold as well, nil if none is worth
// measuring. With a relative objective one cell could not decide whether fewer queues are as fast.
func (x *Search) below(ctx context.Context, c *candidate) *candidate {
	if x.judge.objective.relative() || !numbered(c.set.Strategy) || !x.judge.confirmed(c) {
		return nil
	}
	s := c.set
	s.Queues = int(math.Floor(float64(s.Queues) * 0.88))
	if _, least := x.floor(s.Strategy); s.Queues < max(x.space.queues.Low, least) || s.Queues == c.set.Queues {
		return nil
	}
	low := x.judge.cand(s)
	if x.screen.play(ctx, seeds, low) != nil {
		return nil
	}
	if v := x.judge.value(low); v == nil || len(low.cells) > 0 || *v > 1.25*x.bound() {
		return nil // hopeless, or done
	}
	return low
}

// beside measures the alternatives: the best of another strategy, and the best that the original has. With a relative
// objective any other setting may be faster: then also the best of each strategy that is predicted to be as fast, and
// twice the queues of the answer.
func (x *Search) beside(ctx context.Context, best *candidate, finalists []*candidate) error {
	groups := [][]string{x.space.others(best.set.Strategy)}
	if !slices.Contains(originals, best.set.Strategy) {
		groups = append(groups, originals)
	}
	if x.judge.objective.relative() {
		for _, c := range finalists {
			groups = append(groups, []string{c.set.Strategy})
		}
	}
	for _, group := range groups {
		c, err := x.bestOf(ctx, group, finalists)
		if err != nil {
			return err
		}
		if c == nil || x.compared[c.set.Strategy] || c.set.Strategy == best.set.Strategy {
			continue
		}
		x.compared[c.set.Strategy] = true
		if err := x.compare(ctx, c); err != nil {
			return err
		}
	}
	return x.larger(ctx, best.set)
}

// bestOf is the first finalist of the strategies, else their best measured setting, else their closest; nil if nothing
// is known of them.
func (x *Search) bestOf(ctx context.Context, strategies []string, finalists []*candidate) (*candidate, error) {
	for _, c := range finalists {
		if x.among(c, strategies) {
			return c, nil
		}
	}
	if c := x.measured(strategies...); c != nil {
		return c, nil
	}
	c := x.closest(strategies...)
	if c == nil {
		return nil, nil
	}
	return x.fitted(ctx, c.set)
}

// compare measures an alternative to the answer, unless that was done.
func (x *Search) compare(ctx context.Context, c *candidate) error {
	if len(c.cells) > 0 {
		return nil
	}
	x.bench.line("to be measured: %s, beside the answer", c.set.Name())
	return x.measure(ctx, c)
}

// larger measures twice the queues of the answer, with a relative objective.
func (x *Search) larger(ctx context.Context, best Setting) error {
	s := x.space.roomy(best.Strategy, min(2*best.Queues, x.space.queues.High))
	if !x.judge.objective.relative() || s.Queues <= best.Queues || !x.space.within(s) {
		return nil
	}
	for _, c := range x.judge.cands {
		if c.set.Strategy == s.Strategy && c.set.Queues >= s.Queues && len(c.cells) > 0 {
			return nil
		}
	}
	c, err := x.fitted(ctx, s)
	if err != nil {
		return err
	}
	return x.compare(ctx, c)
}
