package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// measure runs one repetition of a candidate, once more if it was late on a machine that stood
// still, and learns from it.
func (x *Search) measure(ctx context.Context, c *candidate, rep int) error {
	cell, stalled, err := x.cell(ctx, c, rep)
	if err != nil {
		return err
	}
	if !cell.Valid && cell.Late && len(cell.Failed) == 0 && len(stalled) > 0 && x.retries < result.MostRetries {
		x.retries++
		retry := &result.Retry{Scenario: c.set.Name(), Why: cell.Reason, Stalled: stalled}
		x.line("%s was late and gets one second try: %s; %s", c.set.Name(), cell.Reason, strings.Join(stalled, ", "))
		second, _, err := x.cell(ctx, c, rep)
		if err != nil {
			c.cells = append(c.cells, cell) // there is no time for another
			return err
		}
		cell, cell.Retry = second, retry
	}
	c.cells = append(c.cells, cell)
	x.learn(c)
	last := &c.cells[len(c.cells)-1]
	left := ""
	if x.o.Budget > 0 {
		left = fmt.Sprintf(", at most %s left", max(0, x.left()).Round(time.Second))
	}
	what := x.verdict(c) + ", " + x.said(x.o.Objective.of(&last.Figures))
	if !last.Valid { // its figures are no evidence
		what = "no valid measurement: " + last.Reason
	}
	x.line("%s: %s (%s measured in %s%s)", c.set.Name(), what, units.Count(x.measured, "cell"), x.spent.Round(time.Second), left)
	return nil
}

// left is the time for measuring that is left. As much as the first screening took is kept for
// what is simulated at the end.
func (x *Search) left() time.Duration { return x.o.Budget - time.Since(x.began) - x.took }

// cell is a repetition of a candidate, of an earlier search if that has it, and the evidence
// that the machine stood still in it if it is late.
func (x *Search) cell(ctx context.Context, c *candidate, rep int) (t result.TunedCell, stalled []string, err error) {
	seed, err := x.seed(rep)
	if err != nil {
		return t, nil, err
	}
	for _, k := range x.o.Known {
		if k.Setting == c.set && k.Seed == seed && k.Valid {
			x.reused++
			return k, nil, nil
		}
	}
	drain := x.patience(c)
	if x.o.Budget > 0 && x.length+cellOverhead+x.expectedDrain(c) > x.left() {
		return t, nil, errBudget
	}
	f, err := x.variant(c.set, fmt.Sprintf("seed=%d", seed), "repeat=1", "drainTimeout="+drain.String())
	if err != nil {
		return t, nil, err
	}
	began := time.Now()
	res, err := x.o.Measurer.Measure(ctx, f)
	took := time.Since(began)
	x.spent += took
	if err != nil {
		return t, nil, err
	}
	if res == nil || len(res.Cells) != 1 {
		return t, nil, fmt.Errorf("measure %s: no cell", c.set.Name())
	}
	x.measured++
	t = fromCell(&res.Cells[0])
	t.Setting, t.Seed, t.Run, t.Seconds = c.set, seed, res.Run.ID, took.Seconds()
	if w, ok := x.o.Measurer.(Witness); ok && t.Late {
		stalled = w.Stalled(res, res.Cells[0].ID)
	}
	return t, stalled, nil
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

// learn takes from the measurements how wrong the predictions are, and from the first of them what memory the watcher
// takes besides its queues.
func (x *Search) learn(c *candidate) {
	last := &c.cells[len(c.cells)-1]
	if m := last.Figures.RSSMiB; last.Valid && m != nil && len(c.by) > 0 && c.by[0].QueuedMiB != nil && x.memory == 0 {
		x.memory = max(0, *m-*c.by[0].QueuedMiB)
		for _, k := range x.cands {
			x.exclude(k)
		}
	}
	var ratios []float64
	for _, c := range x.cands {
		if c.excluded == "" {
			ratios = append(ratios, x.ratios(c)...)
		}
	}
	if k, ok := stats.Median(ratios); ok {
		x.factor = min(max(k, 0.25), 4)
	}
}

// ratios are measured ÷ predicted, of the valid cells whose plan was simulated as well.
func (x *Search) ratios(c *candidate) (all []float64) {
	for i := range c.cells {
		t := &c.cells[i]
		rep := slices.Index(x.plans, t.Seed)
		if !t.Valid || rep < 0 || rep >= len(c.by) {
			continue
		}
		m, p := x.o.Objective.of(&t.Figures), x.o.Objective.of(&c.by[rep])
		if m != nil && p != nil && *p > 0 {
			all = append(all, *m / *p)
		}
	}
	return all
}

// said is a value of the objective's metric.
func (x *Search) said(v *float64) string {
	if v == nil {
		return "– (" + x.o.Objective.Metric + " is not known)"
	}
	return figure(*v) + " s"
}
