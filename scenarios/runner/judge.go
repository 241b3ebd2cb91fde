package runner

import (
	"context"
	"fmt"
	"iter"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// judgeCell judges the evidence in a cell's folder and holds the verdicts against
// what the scenario expects.
func judgeCell(ctx context.Context, dir string, expect spec.Expect, strategy string, cell *result.Cell) error {
	h, err := check.Load(dir)
	if err != nil {
		return err
	}
	v, err := check.Judge(ctx, h)
	if err != nil {
		return err
	}
	cell.Checks = v.Checks
	if cell.Events == nil {
		if v.Lost != nil || v.Reordered != nil {
			// A watcher without an account of its own still has its losses.
			cell.Events = &result.Events{}
		}
	}
	if cell.Events != nil {
		cell.Events.Lost, cell.Events.Reordered = v.Lost, v.Reordered
	}
	applyExpect(expect, strategy, cell)
	return nil
}

// applyExpect turns failures that the scenario allows into allowed ones, and the absence
// of a failure that it demands into a failure.
func applyExpect(expect spec.Expect, strategy string, cell *result.Cell) {
	for _, g := range check.Guarantees {
		c, ok := cell.Checks[g]
		if !ok {
			continue
		}
		switch want := expect.Of(g, strategy); {
		case want == spec.ExpectPass:
			continue
		case c.Verdict == result.Fail:
			c.Verdict = result.Allowed
		case want == spec.ExpectFail && c.Verdict == result.Pass:
			c.Verdict = result.Fail
			c.Note = note(c.Note, "the scenario expects a violation and there was none")
		case want == spec.ExpectFail && !cell.Cut:
			cell.Valid = false
			cell.InvalidReasons = append(cell.InvalidReasons, fmt.Sprintf("%s was to fail and could not be judged", g))
		}
		cell.Checks[g] = c
	}
}

func note(old, add string) string {
	if old == "" {
		return add
	}
	return old + "; " + add
}

// gather reads a sequence to its end.
func gather[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var out []T
	for v, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

// sortedChecks lists the checks of a cell in the guarantees' order.
func sortedChecks(checks map[string]result.Check) []string {
	var names []string
	for _, g := range check.Guarantees {
		if _, ok := checks[g]; ok {
			names = append(names, g)
		}
	}
	return names
}
