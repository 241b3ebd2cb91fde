package assess

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
)

// Run computes results.json from a run's folder.
func Run(ctx context.Context, dir string) (*result.Results, error) {
	r, err := history.LoadRun(dir)
	if err != nil {
		return nil, unusable(err)
	}
	var baseline *result.Cell
	if b := r.Baseline; b != nil {
		baseline = &result.Cell{Freshness: b.Freshness, Bystander: result.Bystander{Freshness: b.Bystander}}
	}
	return run(ctx, dir, r, baseline)
}

func run(ctx context.Context, dir string, r *history.Run, baseline *result.Cell) (*result.Results, error) {
	res := &result.Results{Schema: result.Schema, Run: r.Run, Environment: r.Environment, Scenario: r.Scenario}
	for _, id := range r.Cells {
		cell, err := Cell(ctx, history.CellDir(dir, id), Options{Baseline: baseline})
		if err == nil && cell.ID != id {
			err = &badinput.Error{What: fmt.Sprintf("%s holds the cell %s", history.CellDir(dir, id), cell.ID),
				Remedy: "the folder must be as it was written"}
		}
		if err != nil {
			return nil, err
		}
		res.Cells = append(res.Cells, cell)
	}
	if err := Complete(res); err != nil {
		return nil, &badinput.Error{What: fmt.Sprintf("%s: %v", filepath.Join(dir, history.FileRun), err),
			Remedy: "the folder must be as it was written"}
	}
	return res, nil
}

// Complete adds what needs all cells of a run: comparisons, leaders, thresholds.
func Complete(res *result.Results) error {
	res.CompareReaders()
	res.Decide()
	return res.JudgeThresholds()
}

// assessMatrix computes matrix.json from the folder of a campaign, and returns the results of the runs too, by their
// folders. Column I compares with the undisturbed row as it is assessed now.
func assessMatrix(ctx context.Context, dir string) (*result.Matrix, map[string]*result.Results, error) {
	c, err := history.LoadCampaign(dir)
	if err != nil {
		return nil, nil, unusable(err)
	}
	results := map[string]*result.Results{}
	var base, next *result.Cell
	for _, r := range c.Runs {
		if r.Try == 1 {
			base = next // of the scenarios before, with their second tries
		}
		res, err := campaignRun(ctx, filepath.Join(dir, filepath.Base(r.Dir)), r, base)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", r.Scenario, err)
		}
		results[r.Dir] = res
		if r.Row == matrix.BaseRow && base == nil {
			next = nil
			if res != nil && len(res.Cells) > 0 {
				next = &res.Cells[0]
			}
		}
	}
	return matrix.Compose(c, func(r history.CampaignRun) *result.Results { return results[r.Dir] }), results, nil
}

// campaignRun is nil for a run that was aborted before it had a record.
func campaignRun(ctx context.Context, dir string, r history.CampaignRun, baseline *result.Cell) (*result.Results,
	error) {
	if r.Dir == "" {
		return nil, nil
	}
	record, err := history.LoadRun(dir)
	if errors.Is(err, fs.ErrNotExist) && r.Error != "" {
		return nil, nil
	} else if err != nil {
		return nil, unusable(err)
	}
	return run(ctx, dir, record, baseline)
}
