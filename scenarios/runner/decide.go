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

// looks says before each repetition whether it is needed.
type looks struct {
	spec.Decide
	block          int       // repetitions of a block, 0 where there are none
	started, since time.Time // of the cells, and of the repetition
	rep            int
	oneTry         bool            // in a fault matrix or a search, which have second tries of their own
	again          map[string]bool // points of which a cell was run once more
}

func newLooks(base spec.Scenario, oneTry bool) *looks {
	l := &looks{Decide: base.Decide, started: time.Now(), oneTry: oneTry || base.Fault != nil, again: map[string]bool{}}
	if l.On() || base.Pair != "" {
		l.block = block(base)
	}
	return l
}

// leastHope is how many blocks without a valid cell show that the machine cannot do what the scenario asks.
const leastHope = 2

// before says why the run ends before a repetition, which is expected to last as long as the one before; empty: it
// goes on.
func (l *looks) before(rep int, res *result.Results) (end string) {
	if rep == l.rep || l.block == 0 {
		return ""
	}
	now, first := time.Now(), l.rep == 0
	took := now.Sub(l.since)
	l.rep, l.since = rep, now
	switch {
	case first:
	case rep == leastHope*l.block+1 && !res.AnyValid():
		return result.EndInvalid
	case !l.On():
	case rep > stats.Least && l.known(res):
		return result.EndDecided
	case now.Sub(l.started)+took > l.Budget.Std():
		return result.EndTime
	}
	return ""
}

// oncemore reports whether an invalid cell is run again: the first of its point, unless further repetitions replace it.
func (l *looks) oncemore(c spec.Cell) bool {
	if l.oneTry || l.block > 0 && !c.Once || l.again[c.ID] {
		return false
	}
	l.again[c.ID] = true
	return true
}

// known reports whether the figure ranks all points.
func (l *looks) known(res *result.Results) bool {
	m, err := result.MetricByName(l.Figure)
	return err == nil && res.Decided(m)
}

// decided notes that a run has all its repetitions: those planned beyond are not missing, unless it had no valid cell.
func (r *Runner) decided(blocks int, end string) {
	run := &r.results.Run
	run.Decision = &result.Decision{Figure: r.opts.Scenario.Base().Decide.Figure, Blocks: blocks, End: end}
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
