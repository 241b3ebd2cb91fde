package assess

import (
	"context"
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

func (c *recorded) readers(ctx context.Context, dir string, cell *result.Cell) error {
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
	evidence := reading{scenario: &c.Cell.Scenario, log: history.Readers(dir), ops: ops}
	if err := judgeReaders(ctx, evidence, cell); err != nil {
		return fmt.Errorf("readers: %w", err)
	}
	cell.Valid = len(cell.InvalidReasons) == 0
	return nil
}
