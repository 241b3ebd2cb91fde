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

// Measurer runs all cells of a variant of the scenario. With an error come the results so
// far, which may be nil.
type Measurer interface {
	Measure(ctx context.Context, f *spec.File) (*result.Results, error)
}

// Witness is a Measurer that can tell whether the machine stood still in a cell. With one that
// cannot, no cell gets a second try.
type Witness interface {
	// Stalled returns the evidence, none if there is none.
	Stalled(res *result.Results, cell string) []string
}

// cellOverhead is what a cell takes besides load and drain.
const cellOverhead = 6 * time.Second

// errBudget ends screening, and measuring when there is no time for another cell.
var errBudget = errors.New("the time for the search is used up")

// bench measures settings, as long as there is time.
type bench struct {
	measurer Measurer
	known    []result.TunedCell // of an earlier search for the same scenario
	budget   time.Duration      // of the whole search; 0: any
	began    time.Time          // the search
	screened time.Duration      // what the first screening took; as much is kept for what is simulated at the end
	spent    time.Duration      // on measuring

	measured, reused, retries int
	line                      func(format string, args ...any)
}

// order is a cell to be measured.
type order struct {
	set    Setting
	seed   uint64
	file   *spec.File
	length time.Duration // that is expected, of load and drain
}

// left is the time for measuring that is left.
func (b *bench) left() time.Duration { return b.budget - time.Since(b.began) - b.screened }

// done counts the cells.
func (b *bench) done() int { return b.measured + b.reused }

// measure is a cell, once more if it was late on a machine that stood still. With an error comes
// the first one if that is all.
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
	b.line("%s was late and gets one second try: %s; %s", o.set.Name(), cell.Reason, strings.Join(stalled, ", "))
	second, _, err := b.once(ctx, o)
	if err != nil {
		return cell, err
	}
	second.Retry = &result.Retry{Scenario: o.set.Name(), Why: cell.Reason, Stalled: stalled}
	return second, nil
}

// once is a cell and, if it is late, the evidence that the machine stood still in it.
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
