package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// looks says after each repetition whether another one is needed.
type looks struct {
	spec.Decide
	started, began time.Time // of the cells, of this repetition
	longest        time.Duration
	rep, again     int
}

func newLooks(d spec.Decide) *looks { return &looks{Decide: d, started: time.Now()} }

// before says why the run ends before a cell of a repetition; empty if it goes on.
func (b *looks) before(rep int, res *result.Results) (end string) {
	if !b.On() || rep == b.rep {
		return ""
	}
	now := time.Now()
	if b.rep > 0 {
		b.longest = max(b.longest, now.Sub(b.began))
	}
	first := b.rep == 0
	b.rep, b.began = rep, now
	switch {
	case first:
		return ""
	case rep > stats.Least && b.known(res):
		return result.EndDecided
	case now.Sub(b.started)+b.longest > b.Budget.Std():
		return result.EndTime
	}
	return ""
}

// known reports whether the figure ranks all points.
func (b *looks) known(res *result.Results) bool {
	m, err := result.MetricByName(b.Figure)
	return err == nil && res.Decided(m)
}

// decided notes that a run has all its repetitions: what was planned beyond them is not missing.
func (r *Runner) decided(blocks int, end string) {
	run := &r.results.Run
	run.Decision = &result.Decision{Figure: r.opts.Scenario.Base().Decide.Figure, Blocks: blocks, End: end}
	run.Order = slices.DeleteFunc(run.Order, func(id string) bool {
		return slices.ContainsFunc(r.jobs, func(j job) bool { return j.id == id && j.rep > blocks })
	})
}

// warm runs a cell and throws it away: the first one of a control plane costs it half as much CPU again as the next.
func (r *Runner) warm(ctx context.Context, j job) error {
	r.progress.Line("a first cell warms the control plane up, and is thrown away")
	j.id = "warm"
	c := r.newCell(j)
	if _, err := c.run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("cell that warms up: %w", err)
	}
	return errors.Join(os.RemoveAll(c.dir), os.RemoveAll(c.logs))
}
