package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Measurer runs all cells of a variant of the scenario. With an error it returns the results so
// far, which may be nil.
type Measurer interface {
	Measure(ctx context.Context, f *spec.File) (*result.Results, error)
}

// Witness is a Measurer that can show that the machine stalled during a cell. Without one, no cell
// is retried.
type Witness interface {
	// Stalled returns the evidence; empty without any.
	Stalled(res *result.Results, cell string) []string
}

// cellOverhead is the time of a cell besides load and drain.
const cellOverhead = 6 * time.Second

// errBudget ends screening, and measuring when the time left is too short for another cell.
var errBudget = errors.New("the time for the search is used up")

// bench measures settings within the budget.
type bench struct {
	measurer Measurer
	known    []result.TunedCell // of an earlier search for the same scenario
	budget   time.Duration      // of the whole search; 0: any
	began    time.Time          // the search
	screened time.Duration      // time of the first screening; as much is reserved for the simulations at the end
	spent    time.Duration      // on measuring

	measured, reused, retries int
	line                      func(format string, args ...any)
}

// order is a cell to measure.
type order struct {
	set    Setting
	seed   uint64
	file   *spec.File
	length time.Duration // expected, of load and drain
}

// left is the remaining time for measuring.
func (b *bench) left() time.Duration { return b.budget - time.Since(b.began) - b.screened }

// done counts the cells.
func (b *bench) done() int { return b.measured + b.reused }

// measure runs a cell, and once more if it was late because the machine stalled. If the retry fails,
// it returns the first cell with the error.
func (b *bench) measure(ctx context.Context, o order) (cell result.TunedCell, err error) {
	for _, k := range b.known {
		if k.Setting == o.set && k.Seed == o.seed && k.Valid {
			b.reused++
			return k, nil
		}
	}
	cell, stalled, err := b.once(ctx, o)
	if err != nil || len(stalled) == 0 || len(cell.Failed) > 0 || b.retries >= result.MostRetries {
		return cell, err
	}
	b.retries++
	b.line("%s was late and is retried once: %s; %s", o.set.Name(), cell.Reason, strings.Join(stalled, ", "))
	second, _, err := b.once(ctx, o)
	if err != nil {
		return cell, err
	}
	second.Retry = &result.Retry{Scenario: o.set.Name(), Why: cell.Reason, Stalled: stalled}
	return second, nil
}

// once runs a cell and, if it is late, returns the evidence that the machine stalled.
func (b *bench) once(ctx context.Context, o order) (t result.TunedCell, stalled []string, err error) {
	if b.budget > 0 && o.length+cellOverhead > b.left() {
		return t, nil, errBudget
	}
	began := time.Now()
	res, err := b.measurer.Measure(ctx, o.file)
	took := time.Since(began)
	b.spent += took
	if err != nil {
		return t, nil, err
	}
	if res == nil || len(res.Cells) != 1 {
		return t, nil, fmt.Errorf("measure %s: no cell", o.set.Name())
	}
	b.measured++
	t = fromCell(&res.Cells[0])
	t.Setting, t.Seed, t.Run, t.Seconds = o.set, o.seed, res.Run.ID, took.Seconds()
	if w, ok := b.measurer.(Witness); ok && t.Late {
		stalled = w.Stalled(res, res.Cells[0].ID)
	}
	return t, stalled, nil
}
