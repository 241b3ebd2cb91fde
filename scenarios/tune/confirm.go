package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

const (
	// maxProbes bounds how many settings are measured, beside repetitions.
	maxProbes = 9
	// maxBelow bounds how many smaller settings are tried than one that holds.
	maxBelow = 3
	// maxLate is how many settings of a strategy may be left out because they could not be
	// measured before all of it is.
	maxLate = 2
	// cellOverhead is what a cell takes besides load and drain.
	cellOverhead = 6 * time.Second
)

// errBudget ends screening, and measuring when there is no time for another cell.
var errBudget = errors.New("the time for the search is used up")

// confirm measures what the simulations recommend until a setting holds the objective in
// every repetition, nothing does, or the time is used up. What is recommended then is the
// first of what it returns; it may be nil.
func (x *Search) confirm(ctx context.Context) (best *candidate, err error) {
	for probes, below := 0, 0; probes < maxProbes; {
		if c := x.lucky(); c != nil {
			if err := x.measure(ctx, c, len(c.cells)); err != nil {
				return best, err
			}
			continue
		}
		all, err := x.finalists(ctx)
		if err != nil {
			return best, err
		}
		if len(all) == 0 && len(x.late) > 0 {
			if c := x.cheapest(); c != nil {
				best = c
			}
			return best, nil
		}
		if len(all) == 0 {
			done := x.measured + x.reused
			best, err = x.giveUp(ctx)
			if err != nil || x.measured+x.reused == done || !x.confirmed(best) {
				return best, err
			}
			probes++ // the prediction was wrong: it is repeated as any other
			continue
		}
		best = all[0]
		switch next := x.below(ctx, best); {
		case len(best.cells) == 0:
			x.line("to be measured: %s, predicted %s", best.set.Name(), x.said(x.predicted(best)))
			probes++
			err = x.measure(ctx, best, 0)
		case x.verdict(best) == result.TunedInvalid:
			x.leaveOut(best)
		case below < maxBelow && next != nil:
			x.line("to be measured: %s, to see whether fewer do", next.set.Name())
			probes, below = probes+1, below+1
			err = x.measure(ctx, next, 0)
		case x.valid(best) < x.o.Repeat:
			err = x.measure(ctx, best, len(best.cells))
			if err == nil && len(best.cells) > 2*x.o.Repeat {
				return best, nil // one is invalid again and again
			}
		default:
			done := x.measured + x.reused
			if err = x.beside(ctx, best); !x.relative() || x.measured+x.reused == done {
				return best, err
			}
		}
		if err != nil {
			return best, err
		}
	}
	x.notes = append(x.notes, fmt.Sprintf("ended after %d settings that were measured", maxProbes))
	return x.cheapest(), nil
}

// leaveOut goes on without a setting that could not be measured, and after maxLate of them
// without the strategy: another setting of it would be as late.
func (x *Search) leaveOut(c *candidate) {
	s := c.set.Strategy
	x.late[s] = append(x.late[s], c.set)
	what := "it is left out"
	if x.out(s) {
		what += ", and with it " + s
	}
	x.notes = append(x.notes, fmt.Sprintf("%s, predicted to do, could not be measured (%s): %s", c.set.Name(), c.cells[len(c.cells)-1].Reason, what))
	x.line("%s", x.notes[len(x.notes)-1])
}

// out reports whether a strategy has no setting left that could be measured.
func (x *Search) out(strategy string) bool {
	n := len(x.late[strategy])
	return n >= maxLate || n > 0 && !numbered(strategy)
}

// giveUp measures what comes closest, if that was not done, where nothing holds.
func (x *Search) giveUp(ctx context.Context) (*candidate, error) {
	c := x.closest()
	if c == nil {
		return nil, nil
	}
	if len(c.cells) == 0 {
		if err := x.play(ctx, seeds, c.set); err != nil {
			return c, err
		}
		x.line("nothing is predicted to hold the objective; to be measured: %s, which comes closest", c.set.Name())
		if err := x.measure(ctx, c, 0); err != nil {
			return c, err
		}
		if c2 := x.closest(); c2 != nil && len(c2.cells) > 0 {
			c = c2
		}
	}
	return c, nil
}

// cheapest is the cheapest of all that were measured and hold, else what comes closest of
// what was measured.
func (x *Search) cheapest() *candidate {
	if held := x.ranked(); len(held) > 0 {
		return held[0]
	}
	return x.least(x.slowest, func(c *candidate) bool { return !x.wrong(c.set.Strategy) })
}

// below is a smaller setting of the same strategy that may hold as well, nil if there is
// none worth measuring.
func (x *Search) below(ctx context.Context, c *candidate) *candidate {
	if x.relative() || !numbered(c.set.Strategy) || !x.confirmed(c) {
		return nil // one cell could not tell whether fewer queues are as fast
	}
	bound := x.bound()
	s := c.set
	s.Queues = int(math.Floor(float64(s.Queues) * 0.88))
	if _, least := x.floor(s.Strategy); s.Queues < max(x.o.Queues.Low, least) || s.Queues == c.set.Queues {
		return nil
	}
	if err := x.play(ctx, seeds, s); err != nil {
		return nil
	}
	low := x.cand(s)
	if v := x.value(low); v == nil || len(low.cells) > 0 || *v > 1.25*bound {
		return nil // hopeless, or done
	}
	return low
}

func (x *Search) valid(c *candidate) (n int) {
	for i := range c.cells {
		if c.cells[i].Valid {
			n++
		}
	}
	return n
}
