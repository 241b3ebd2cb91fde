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
	block      int       // repetitions of a block, 0 where there are none
	started    time.Time // of the cells
	rep, again int
	at         string // the point that is measured
	since      time.Time
	took       map[string]time.Duration // by point, the longest
}

func newLooks(base spec.Scenario) *looks {
	l := &looks{Decide: base.Decide, started: time.Now(), took: map[string]time.Duration{}}
	if l.On() || base.Pair != "" {
		l.block = block(base)
	}
	return l
}

// leastHope is how many blocks without a valid cell show that the machine cannot do what the scenario asks.
const leastHope = 2

// before says why the run ends before the first of the jobs that are left; empty if it goes on.
func (l *looks) before(left []job, res *result.Results) (end string) {
	now, rep := time.Now(), left[0].rep
	if l.at != "" {
		l.took[l.at] = max(l.took[l.at], now.Sub(l.since))
	}
	l.at, l.since = left[0].cell.ID, now
	within := l.rep == 0 || rep == l.rep
	if l.rep = rep; within || l.block == 0 {
		return ""
	}
	if rep == leastHope*l.block+1 && !res.AnyValid() {
		return result.EndInvalid
	}
	if !l.On() {
		return ""
	}
	if rep > stats.Least && l.known(res) {
		return result.EndDecided
	}
	for _, j := range left {
		if j.rep == rep {
			now = now.Add(l.took[j.cell.ID])
		}
	}
	if now.Sub(l.started) > l.Budget.Std() {
		return result.EndTime
	}
	return ""
}

// known reports whether the figure ranks all points.
func (l *looks) known(res *result.Results) bool {
	m, err := result.MetricByName(l.Figure)
	return err == nil && res.Decided(m)
}

// decided notes that a run has all its repetitions: what was planned beyond them is not missing, unless the run had no
// valid cell, so that it may be resumed on a quieter machine. Again is how many cells were run again.
func (r *Runner) decided(blocks int, end string, again int) {
	run := &r.results.Run
	run.Decision = &result.Decision{Figure: r.opts.Scenario.Base().Decide.Figure, Blocks: blocks, End: end, Again: again}
	run.Order = slices.DeleteFunc(run.Order, func(id string) bool {
		return end != result.EndInvalid && slices.ContainsFunc(r.jobs, func(j job) bool {
			return j.id == id && j.rep > blocks
		})
	})
}

// warm runs a cell and throws it away: the first one of a control plane costs it half as much CPU again as the next.
func (r *Runner) warm(ctx context.Context, todo []job) error {
	j := todo[max(0, slices.IndexFunc(todo, func(j job) bool { return !j.cell.Once }))]
	r.progress.Line("a first cell warms the control plane up, and is thrown away")
	j.id = "warm"
	c := r.newCell(j)
	if _, err := c.run(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("cell that warms up: %w", err)
	}
	return errors.Join(os.RemoveAll(c.dir), os.RemoveAll(c.logs))
}
