package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

const (
	// maxProbes bounds how many settings are measured, beside repetitions.
	maxProbes = 9
	// maxBelow bounds how many smaller settings are tried than one that holds.
	maxBelow = 3
	// cellOverhead is what a cell takes besides load and drain.
	cellOverhead = 6 * time.Second
)

// errBudget ends measuring: there is no time for another cell.
var errBudget = errors.New("the time for measuring is used up")

// confirm measures what the simulations recommend until a setting holds the objective in
// every repetition, nothing does, or the time is used up. What is recommended then is the
// first of what it returns; it may be nil.
func (x *Search) confirm(ctx context.Context) (best *candidate, err error) {
	for probes, below := 0, 0; probes < maxProbes; {
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
			return x.giveUp(ctx)
		}
		best = all[0]
		switch next := x.below(ctx, best); {
		case len(best.cells) == 0:
			x.line("to be measured: %s, predicted %s", best.set.Name(), x.said(x.predicted(best)))
			probes++
			err = x.measure(ctx, best, 0)
		case x.verdict(best, x.bound()) == result.TunedInvalid:
			// Another setting of it would be as late: the answer is then of another strategy.
			x.late[best.set.Strategy] = true
			x.notes = append(x.notes, fmt.Sprintf("%s, predicted to do, could not be measured, so %s is out: %s", best.set.Name(), best.set.Strategy, best.cells[len(best.cells)-1].Reason))
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
			return best, x.beside(ctx, best)
		}
		if err != nil {
			return best, err
		}
	}
	x.notes = append(x.notes, fmt.Sprintf("ended after %d settings that were measured", maxProbes))
	return x.cheapest(), nil
}

// giveUp measures what comes closest, if that was not done, where nothing holds.
func (x *Search) giveUp(ctx context.Context) (*candidate, error) {
	c := x.closest("")
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
		if c2 := x.closest(""); c2 != nil && len(c2.cells) > 0 {
			c = c2
		}
	}
	return c, nil
}

// cheapest is the cheapest of all that were measured and hold, else what comes closest of
// what was measured.
func (x *Search) cheapest() (best *candidate) {
	bound := x.bound()
	for _, strategy := range x.o.Strategies {
		if c := x.proven(strategy, bound); c != nil && (best == nil || x.cost(c, best) < 0) {
			best = c
		}
	}
	if best != nil {
		return best
	}
	for _, c := range x.cands {
		v, _ := x.worst(c)
		if v == nil || c.excluded != "" || x.wrong(c.set.Strategy) {
			continue
		}
		if best == nil {
			best = c
			continue
		}
		b, _ := x.worst(best)
		if d := cmp.Or(cmp.Compare(*v, *b), x.cost(c, best)); d < 0 {
			best = c
		}
	}
	return best
}

// below is a smaller setting of the same strategy that may hold as well, nil if there is
// none worth measuring.
func (x *Search) below(ctx context.Context, c *candidate) *candidate {
	bound := x.bound()
	if x.o.Objective.Bound == 0 {
		return nil // what is as good is by the model; a measurement could not tell 5 %
	}
	if !numbered(c.set.Strategy) || len(c.cells) == 0 || x.verdict(c, bound) != result.TunedHolds {
		return nil
	}
	s := c.set
	s.Queues = int(math.Floor(float64(s.Queues) * 0.88))
	if s.Queues < max(x.o.Queues.Low, x.floor(s.Strategy, bound)) || s.Queues == c.set.Queues {
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

// beside measures what the answer is compared with: the best of another strategy, and the
// best that the original has, as far as there is time.
func (x *Search) beside(ctx context.Context, best *candidate) error {
	all, err := x.finalists(ctx)
	if err != nil {
		return err
	}
	has := func(strategies ...string) bool {
		return slices.ContainsFunc(all, func(c *candidate) bool {
			return c.set.Strategy != best.set.Strategy && slices.Contains(strategies, c.set.Strategy)
		})
	}
	if !has(x.o.Strategies...) { // none holds: then what comes closest
		var near *candidate
		for _, strategy := range x.o.Strategies {
			if c := x.closest(strategy); c != nil && strategy != best.set.Strategy && (near == nil || *x.value(c) < *x.value(near)) {
				near = c
			}
		}
		if all, err = x.with(ctx, all, near); err != nil {
			return err
		}
	}
	if !has(originals...) && !slices.Contains(originals, best.set.Strategy) {
		if all, err = x.with(ctx, all, x.original(nil)); err != nil {
			return err
		}
	}
	other, original := false, slices.Contains(originals, best.set.Strategy)
	for _, c := range all {
		of := slices.Contains(originals, c.set.Strategy)
		if c.set.Strategy == best.set.Strategy || other && (original || !of) {
			continue
		}
		other, original = true, original || of
		if len(c.cells) > 0 {
			continue
		}
		x.line("to be measured: %s, beside the answer", c.set.Name())
		if err := x.measure(ctx, c, 0); err != nil {
			return err
		}
	}
	return nil
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

// originals are the strategies that bcs-k8s-watch has.
var originals = []string{partitioned, single}

// original is the best setting that bcs-k8s-watch has: of those that hold, else the best that
// was measured, else what comes closest by simulation.
func (x *Search) original(held []*candidate) (best *candidate) {
	for _, c := range held {
		if slices.Contains(originals, c.set.Strategy) {
			return c
		}
	}
	for _, strategy := range originals {
		for _, c := range x.cands {
			v, _ := x.worst(c)
			if c.set.Strategy != strategy || v == nil || c.excluded != "" {
				continue
			}
			if best == nil {
				best = c
			} else if b, _ := x.worst(best); *v < *b {
				best = c
			}
		}
	}
	if best != nil {
		return best
	}
	if c := x.closest(partitioned); c != nil {
		return c
	}
	return x.closest(single)
}

func (x *Search) valid(c *candidate) (n int) {
	for i := range c.cells {
		if c.cells[i].Valid {
			n++
		}
	}
	return n
}

// measure runs one repetition of a candidate, once more if it was late, and learns from it.
func (x *Search) measure(ctx context.Context, c *candidate, rep int) error {
	for try := 0; ; try++ {
		cell, err := x.cell(ctx, c, rep)
		if err != nil {
			return err
		}
		if !cell.Valid && cell.Late && len(cell.Failed) == 0 && try == 0 {
			x.second++
			x.line("%s was late and gets one second try: %s", c.set.Name(), cell.Reason)
			continue
		}
		c.cells = append(c.cells, cell)
		break
	}
	if err := x.fit(ctx, c); err != nil {
		return err
	}
	x.learn()
	last := &c.cells[len(c.cells)-1]
	left := ""
	if x.o.Budget > 0 {
		left = fmt.Sprintf(", at most %s left", max(0, x.o.Budget-x.spent).Round(time.Second))
	}
	what := x.verdict(c, x.bound()) + ", " + x.said(x.o.Objective.of(&last.Figures))
	if !last.Valid { // its figures are no evidence
		what = "no valid measurement: " + last.Reason
	}
	x.line("%s: %s (%d cells measured in %s%s)", c.set.Name(), what, x.measured, x.spent.Round(time.Second), left)
	return nil
}

// cell is a repetition of a candidate, of an earlier search if that has it.
func (x *Search) cell(ctx context.Context, c *candidate, rep int) (result.TunedCell, error) {
	seed, err := x.seed(rep)
	if err != nil {
		return result.TunedCell{}, err
	}
	for _, k := range x.o.Known {
		if k.Setting == c.set && k.Seed == seed && k.Valid {
			x.reused++
			return k, nil
		}
	}
	drain := x.patience(c)
	if x.o.Budget > 0 && x.spent+x.length+cellOverhead+x.expectedDrain(c) > x.o.Budget {
		return result.TunedCell{}, errBudget
	}
	f, err := x.variant(c.set, fmt.Sprintf("seed=%d", seed), "repeat=1", "drainTimeout="+drain.String())
	if err != nil {
		return result.TunedCell{}, err
	}
	began := time.Now()
	res, err := x.o.Measurer.Measure(ctx, f)
	took := time.Since(began)
	x.spent += took
	if err != nil {
		return result.TunedCell{}, err
	}
	if res == nil || len(res.Cells) != 1 {
		return result.TunedCell{}, fmt.Errorf("measure %s: no cell", c.set.Name())
	}
	x.measured++
	t := fromCell(&res.Cells[0])
	t.Setting, t.Seed, t.Run, t.Seconds = c.set, seed, res.Run.ID, took.Seconds()
	return t, nil
}

// patience is how long a cell may drain: a point that cannot hold the objective any more is
// cut, and one that may is not.
func (x *Search) patience(c *candidate) time.Duration {
	d := 5*time.Second + 2*x.expectedDrain(c)
	if b := x.o.Objective.Bound; b > 0 && x.o.Objective.Metric != metricDrain {
		d = max(d, 5*time.Second+2*b)
	} else if b > 0 {
		d = max(5*time.Second+x.expectedDrain(c), b-x.length+b/2)
	}
	return min(d, 10*time.Minute).Round(time.Millisecond)
}

// expectedDrain is the drain after the load by prediction.
func (x *Search) expectedDrain(c *candidate) time.Duration {
	longest := 0.0
	for i := range c.by {
		if v := c.by[i].DrainAfter; v != nil {
			longest = max(longest, *v)
		}
	}
	return time.Duration(longest * x.factor * float64(time.Second))
}

// fit takes the time that a request takes besides storage's from the first valid cell, and
// screens all again if it matters.
func (x *Search) fit(ctx context.Context, c *candidate) error {
	last := &c.cells[len(c.cells)-1]
	f := &last.Figures
	if !last.Valid {
		return nil
	}
	if f.RSSMiB != nil && len(c.by) > 0 && c.by[0].QueuedMiB != nil && x.memory == 0 {
		x.memory = max(0, *f.RSSMiB-*c.by[0].QueuedMiB)
	}
	if x.fitted || f.WatcherMeanMs == nil || f.SeenMeanMs == nil {
		return nil
	}
	x.fitted = true
	const least, most = 0.02, 0.05 // of the latency; in seconds
	over := min(max(0, (*f.WatcherMeanMs-*f.SeenMeanMs)/1e3), most)
	if over < least*x.base.Storage.MeanLatency(podKind).Seconds() {
		return nil
	}
	x.overhead = time.Duration(over * float64(time.Second)).Round(time.Microsecond)
	x.line("a request takes %s besides storage's time: screening again with it", x.overhead)
	for _, k := range x.cands {
		k.by, k.excluded = nil, ""
	}
	var measured []Setting
	for _, k := range x.cands {
		if len(k.cells) > 0 {
			measured = append(measured, k.set)
		}
	}
	slices.SortFunc(measured, bySize)
	if err := x.screen(ctx); err != nil {
		return err
	}
	return x.play(ctx, seeds, measured...)
}

// said is a value of the objective's metric.
func (x *Search) said(v *float64) string {
	if v == nil {
		return "– (" + x.o.Objective.Metric + " is not known)"
	}
	return figure(*v) + " s"
}
