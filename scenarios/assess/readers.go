package assess

import (
	"context"
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/reading"
)

// readers judges those who read, and adds to the cell what came of it.
func (c *recorded) readers(ctx context.Context, dir string, cell *result.Cell) error {
	c.apiReads(cell)
	r := &c.Cell.Scenario.Readers
	if !r.Asked() || c.Cell.Refusal != nil {
		return nil
	}
	cell.Readers = &result.Readers{From: r.Source()}
	if !r.Any() {
		return nil
	}
	ops, err := history.Ops(dir)
	if err != nil {
		return err
	}
	if err := reading.Judge(ctx, reading.Input{Scenario: &c.Cell.Scenario, Log: history.Readers(dir), Ops: ops},
		cell); err != nil {
		return fmt.Errorf("readers: %w", err)
	}
	cell.Valid = len(cell.InvalidReasons) == 0
	return nil
}

// apiReads is the growth of the apiserver's counters during the load.
func (c *recorded) apiReads(cell *result.Cell) {
	a, b := c.Cell.APIBefore, c.Cell.APIAfter
	if a == nil || b == nil {
		return
	}
	cell.API = &result.API{Gets: b.Gets - a.Gets, Lists: b.Lists - a.Lists, Watches: b.Watches,
		Events: b.Events - a.Events}
	cpu, window := cell.Parties[history.PartyAPIServer].CPUSeconds, cell.Watcher.CPUWindow
	if cpu != nil && window != nil && *window > 0 {
		cell.API.CPUCores = new(stats.Round(*cpu / *window)) // of figures that are published
	}
}
