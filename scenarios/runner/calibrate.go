package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// calibrationsFirst puts the calibrations of each repetition, or block of them, before its
// other cells, and gives each of these the calibration of its own repetition.
func calibrationsFirst(jobs []job, base spec.Scenario) []job {
	for i := range jobs {
		if j := &jobs[i]; j.cell.Calibration != "" {
			j.calibration = j.cell.Calibration + strings.TrimPrefix(j.id, j.cell.ID)
		}
	}
	last := func(j job) int {
		if j.cell.Calibrates {
			return 0
		}
		return 1
	}
	round := func(j job) int { return (j.rep - 1) / block(base) }
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Or(cmp.Compare(round(a), round(b)), cmp.Compare(last(a), last(b))) })
	return jobs
}

// capacityFor is the capacity of which a cell's load is a part, as its calibration
// measured it earlier in the run, or why there is none.
func capacityFor(calibration string, cells []result.Cell) (*result.Capacity, string) {
	i := slices.IndexFunc(cells, func(c result.Cell) bool { return c.ID == calibration })
	if i < 0 {
		return nil, fmt.Sprintf("not run: its calibration %s did not run", calibration)
	}
	c := &cells[i]
	if !c.Valid {
		return nil, fmt.Sprintf("not run: its calibration %s is invalid: %s", calibration, strings.Join(c.InvalidReasons, "; "))
	}
	for _, g := range slices.Sorted(maps.Keys(c.Checks)) {
		if c.Checks[g].Verdict == result.Fail {
			return nil, fmt.Sprintf("not run: its calibration %s fails %s", calibration, g)
		}
	}
	if c.Capacity == nil {
		return nil, fmt.Sprintf("not run: its calibration %s measured no capacity", calibration)
	}
	return c.Capacity, ""
}

// resolve gives a load that is a part of a capacity its rate. Without a capacity the cell
// is not to be run.
func (r *Runner) resolve(j job) (job, *result.Capacity, string) {
	if j.calibration == "" {
		return j, nil, ""
	}
	capacity, why := capacityFor(j.calibration, r.results.Cells)
	if capacity == nil {
		return j, nil, why
	}
	load := j.cell.Scenario.Load.At(capacity.QPS)
	if why = unfit(&load); why != "" {
		return j, nil, fmt.Sprintf("not run: %.0f%% of the capacity of %s is %.4g writes/s%s", 100*load.OfCapacity, j.calibration, load.MeanRate(), why)
	}
	j.cell.Scenario.Load = load
	return j, capacity, ""
}

// unfit says why a rate that followed from a capacity cannot be run; empty if it can.
func unfit(l *spec.Load) string {
	if err := l.Validate(); err != nil {
		return ": " + err.Error()
	}
	if l.MeanRate()*l.Duration.Std().Seconds() < 1 {
		return fmt.Sprintf(", which comes to no write in %s", l.Duration)
	}
	return ""
}

// skip records that the cell was not run, and why.
func (c *cell) skip(ctx context.Context) (result.Cell, error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return result.Cell{}, fmt.Errorf("make the cell's folder: %w", err)
	}
	if err := history.SaveJSON(c.dir, history.FileCell, &c.record); err != nil {
		return result.Cell{}, err
	}
	return assess.Cell(ctx, c.dir, assess.Options{})
}
