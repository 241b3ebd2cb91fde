package search

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Measurer runs all cells of a variant of the scenario. With an error it returns the results so
// far, which may be nil.
type Measurer interface {
	Measure(ctx context.Context, f *spec.File) (*result.Results, error)
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

// measure runs a cell, and once more if it was late and nothing else. If the retry fails, it returns the first cell,
// with the error unless the time is up.
func (b *bench) measure(ctx context.Context, o order) (cell result.TunedCell, err error) {
	for _, k := range b.known {
		if k.Setting == o.set && k.Seed == o.seed && k.Valid {
			b.reused++
			return k, nil
		}
	}
	cell, err = b.once(ctx, o)
	if err != nil || cell.Valid || !cell.Late || len(cell.Failed) > 0 || b.retries >= result.MostRetries {
		return cell, err
	}
	b.retries++
	b.line("%s was late and is retried once: %s", o.set.Name(), cell.Reason)
	second, err := b.once(ctx, o)
	if errors.Is(err, errBudget) {
		return cell, nil
	} else if err != nil {
		return cell, err
	}
	second.Retry = &result.Retry{Scenario: o.set.Name(), Why: cell.Reason}
	return second, nil
}

// run measures a variant of one cell and about so long, if there is time for it.
func (b *bench) run(ctx context.Context, f *spec.File, length time.Duration) (*result.Results, error) {
	if b.budget > 0 && length+cellOverhead > b.left() {
		return nil, errBudget
	}
	began := time.Now()
	res, err := b.measurer.Measure(ctx, f)
	b.spent += time.Since(began)
	if err != nil {
		return res, err
	}
	if b.measured++; res == nil || len(res.Cells) != 1 {
		return nil, errors.New("no cell was measured")
	}
	return res, nil
}

// once runs a cell.
func (b *bench) once(ctx context.Context, o order) (t result.TunedCell, err error) {
	before := b.spent
	res, err := b.run(ctx, o.file, o.length)
	if err != nil {
		return t, fmt.Errorf("measure %s: %w", o.set.Name(), err)
	}
	t = fromCell(&res.Cells[0])
	t.Setting, t.Seed, t.Run, t.Seconds = o.set, o.seed, res.Run.ID, (b.spent - before).Seconds()
	return t, nil
}
