package search

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// cellOverhead is the time of a cell besides load and drain.
const cellOverhead = 6 * time.Second

// errBudget ends a search whose time is too short for another cell.
var errBudget = errors.New("the time for the search is used up")

// Measurer runs all cells of a variant of the scenario. With an error it returns the results so far, which may be nil.
type Measurer interface {
	Measure(ctx context.Context, f *spec.File) (*result.Results, error)
}

// play simulates a candidate with the plans of its first measurements, unless that was done, and fits its queues.
func (x *Search) play(ctx context.Context, l *ladder, c *candidate) error {
	if len(c.by) > 0 {
		return nil
	}
	if x.options.Budget > 0 && time.Since(x.began) > x.options.Budget {
		return errBudget
	}
	f, err := l.file.With(overrides(c.set)...)
	if err != nil {
		return err
	}
	by := make([]Figures, seeds)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range by {
		g.Go(func() (err error) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			by[i], err = x.options.Simulate(ctx, f.Cells()[0].Scenario, x.base.Seed+uint64(i))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("simulate %s: %w", c.set.Name(), err)
	}
	c.by = by
	x.played += seeds
	for i := range by {
		if d := by[i].Dropped; d != nil && *d > 0 {
			c.excluded = fmt.Sprintf("drops %d events in the simulation", *d)
		}
	}
	if !x.options.Rate {
		x.fit(c)
	}
	return nil
}

// measure runs the next repetition of a candidate, once more if it is invalid and nothing failed, and corrects the
// predictions by it.
func (x *Search) measure(ctx context.Context, l *ladder, c *candidate) error {
	drain := time.Duration(0)
	if v := highest(c.by, func(f *Figures) *float64 { return f.DrainAfter }); v != nil {
		drain = time.Duration(*v * x.factor * float64(time.Second))
	}
	seed := x.base.Seed + uint64(len(c.cells))
	f, err := l.file.With(append(overrides(c.set), fmt.Sprintf("seed=%d", seed),
		"drainTimeout="+x.patience(drain).String())...)
	if err != nil {
		return err
	}
	cell, err := x.once(ctx, c, f, x.length+drain)
	if err != nil {
		return err
	}
	if !cell.Valid && len(cell.Failed) == 0 && x.retries < result.MostRetries {
		x.retries++
		x.note("%s was measured again: %s", c.set.Name(), cell.Reason)
		if again, err := x.once(ctx, c, f, x.length+drain); err == nil {
			cell = again
		} else if !errors.Is(err, errBudget) {
			return err
		}
	}
	cell.Setting, cell.Seed = c.set, seed
	c.cells = append(c.cells, cell)
	x.learn()
	said := x.why(&cell)
	if said == "" {
		said = fmt.Sprintf("holds, %s s", figure(*x.of(&cell.Figures)))
	}
	left := ""
	if b := x.options.Budget; b > 0 {
		left = fmt.Sprintf(", at most %s left", max(0, b-time.Since(x.began)).Round(time.Second))
	}
	x.line("%s: %s (%s in %s%s)", c.set.Name(), said, units.Count(x.measured, "cell"), x.spent.Round(time.Second), left)
	return nil
}

// once runs a cell of about that length, if there is time for it.
func (x *Search) once(ctx context.Context, c *candidate, f *spec.File, length time.Duration) (
	t result.TunedCell, err error,
) {
	began := time.Now()
	if b := x.options.Budget; b > 0 && length+cellOverhead > b-time.Since(x.began) {
		return t, errBudget
	}
	res, err := x.measurer.Measure(ctx, f)
	x.spent += time.Since(began)
	switch {
	case res != nil && res.Crashes() != "" && ctx.Err() == nil:
		t.Failed = []string{res.Crashes()}
	case err != nil:
		return t, fmt.Errorf("measure %s: %w", c.set.Name(), err)
	case res == nil || len(res.Cells) != 1:
		return t, errors.New("no cell was measured")
	default:
		t = fromCell(&res.Cells[0])
	}
	x.measured++
	t.Run, t.Seconds = res.Run.ID, time.Since(began).Seconds()
	return t, nil
}

// patience is the drain timeout of a cell: long enough for any that can still hold the objective.
func (x *Search) patience(expected time.Duration) time.Duration {
	const least, most = 5 * time.Second, 10 * time.Minute
	o := &x.options.Objective
	d := least + max(2*expected, 2*o.Bound)
	if o.Metric == metricDrain {
		d = max(least+expected, o.Bound-x.length+o.Bound/2)
	}
	return min(d, most).Round(time.Millisecond)
}

// learn updates the correction of predictions from all measurements.
func (x *Search) learn() {
	var all []float64
	for _, l := range x.ladders {
		for _, c := range l.rungs {
			all = append(all, x.ratios(c)...)
		}
	}
	if k := stats.Median(all); k != nil {
		x.factor = min(max(*k, 0.25), 4)
	}
}

// ratios returns measured ÷ predicted of the valid cells whose plan was simulated as well.
func (x *Search) ratios(c *candidate) (all []float64) {
	for i := range min(len(c.cells), len(c.by)) {
		if m, p := x.of(&c.cells[i].Figures), x.of(&c.by[i]); c.cells[i].Valid && m != nil && p != nil && *p > 0 {
			all = append(all, *m / *p)
		}
	}
	return all
}
