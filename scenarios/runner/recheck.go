package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Rechecked is a cell that was judged again.
type Rechecked struct {
	ID       string
	Checks   map[string]result.Check
	Recorded map[string]result.Check // as results.json has them; nil for a lone cell
}

// Changed lists the checks whose verdict is not the recorded one.
func (r Rechecked) Changed() []string {
	var out []string
	for _, g := range sortedChecks(r.Checks) {
		if old, ok := r.Recorded[g]; ok && old.Verdict != r.Checks[g].Verdict {
			out = append(out, g)
		}
	}
	return out
}

// Recheck judges saved evidence again: of all cells of a run's folder, by what its
// scenario expects, or of one cell's folder, where every failure counts.
func Recheck(ctx context.Context, dir string) ([]Rechecked, error) {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil, &InputError{What: dir + " is no folder", Remedy: "name the folder of a run, such as out/strategies-20260102-150405, or one of its cells"}
	}
	if _, err := os.Stat(filepath.Join(dir, history.FileMeta)); err == nil {
		cell := result.Cell{}
		if err := judgeCell(ctx, dir, nil, "", &cell); err != nil {
			return nil, unusable(err)
		}
		return []Rechecked{{ID: filepath.Base(dir), Checks: cell.Checks}}, nil
	}
	res, err := result.LoadFile(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &InputError{What: fmt.Sprintf("%s has neither %s nor %s", dir, result.FileName, history.FileMeta), Remedy: "name the folder of a run or of a cell"}
	} else if err != nil {
		return nil, &InputError{What: err.Error(), Remedy: "name the folder of a run that this version wrote"}
	}
	expect, err := recordedExpect(res)
	if err != nil {
		return nil, err
	}
	var out []Rechecked
	for _, recorded := range res.Cells {
		cell := result.Cell{Cut: recorded.Cut}
		folder := filepath.Join(dir, "cells", filepath.Base(recorded.ID))
		if err := judgeCell(ctx, folder, expect, recorded.Handler.Strategy, &cell); err != nil {
			return out, unusable(fmt.Errorf("cell %s: %w", recorded.ID, err))
		}
		out = append(out, Rechecked{ID: recorded.ID, Checks: cell.Checks, Recorded: recorded.Checks})
	}
	return out, nil
}

// unusable marks defects of the evidence as the input's.
func unusable(err error) error {
	var format *history.FormatError
	if errors.As(err, &format) || errors.Is(err, fs.ErrNotExist) {
		return &InputError{What: err.Error(), Remedy: "the evidence of the cell must be complete and as it was written"}
	}
	return err
}

// recordedExpect reads the expectations from the record of a run.
func recordedExpect(res *result.Results) (spec.Expect, error) {
	data, err := json.Marshal(res.Scenario["expect"])
	if err != nil {
		return nil, fmt.Errorf("read the recorded expectations: %w", err)
	}
	var e spec.Expect
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, &InputError{What: fmt.Sprintf("the recorded expectations: %v", err), Remedy: "name the folder of a run that this version wrote"}
	}
	return e, nil
}
