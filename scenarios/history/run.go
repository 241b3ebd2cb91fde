package history

import (
	"fmt"
	"path/filepath"

	"github.com/watchbench/watchbench/reports/result"
)

// Files of a run's folder and of a matrix's.
const (
	FileRun      = "run.json"
	FileScenario = "scenario.yaml" // as it was given to the run, without the overrides
	FileCampaign = "matrix-run.json"
)

// Schemas of these files.
const (
	RunSchema      = "watchbench/run/v1"
	CampaignSchema = "watchbench/matrix-run/v1"
)

// CellDir is a cell's folder in that of its run.
func CellDir(run, cell string) string { return filepath.Join(run, "cells", filepath.Base(cell)) }

// Run is run.json: what results.json says and the cells' records do not.
type Run struct {
	Schema      string             `json:"schema"`
	Run         result.Run         `json:"run"`
	Environment result.Environment `json:"environment"`
	Scenario    map[string]any     `json:"scenario"` // resolved, as it was run
	// Source is the name of scenario.yaml in errors, Sets are its overrides.
	Source string   `json:"source,omitempty"`
	Sets   []string `json:"sets,omitempty"`
	// Cells are those whose record is complete, in the order in which they were run.
	Cells []string `json:"cells"`
	// Baseline is the undisturbed cell that column I compares with, if the run was given one.
	Baseline *Baseline `json:"baseline,omitempty"`
}

// Baseline is the freshness, in seconds, of an undisturbed cell.
type Baseline struct {
	Freshness *result.Quantiles `json:"freshness,omitempty"`
	Bystander *result.Quantiles `json:"bystander,omitempty"`
}

// BaselineOf keeps of a cell what others are compared with; nil for none.
func BaselineOf(c *result.Cell) *Baseline {
	if c == nil {
		return nil
	}
	return &Baseline{Freshness: c.Freshness, Bystander: c.Bystander.Freshness}
}

// Campaign is matrix-run.json: which scenarios of the fault matrix were run, in order, and how each run ended.
// matrix.json is computed from it and the runs' folders.
type Campaign struct {
	Schema  string        `json:"schema"`
	Profile string        `json:"profile"`
	Asked   []string      `json:"asked,omitempty"` // rows of the table; none: all
	Seconds float64       `json:"seconds"`         // so far
	Runs    []CampaignRun `json:"runs"`
}

// CampaignRun is one run of one scenario.
type CampaignRun struct {
	Scenario string  `json:"scenario"`
	Row      string  `json:"row"`
	Title    string  `json:"title"`
	Cells    int     `json:"cells"`         // that were to be run
	Dir      string  `json:"dir,omitempty"` // in the matrix's folder; empty if none was made
	Seconds  float64 `json:"seconds"`
	Error    string  `json:"error,omitempty"` // why it was aborted
	// Crashed says that the error is a watcher that ended by itself.
	Crashed bool `json:"crashed,omitempty"`
	Try     int  `json:"try"` // 2: the run before it is the first try
}

// LoadRun reads run.json from a run's folder. Runs of former versions have none; the error is then a FormatError that
// wraps fs.ErrNotExist.
func LoadRun(dir string) (*Run, error) {
	var r Run
	return &r, loadSchema(dir, FileRun, RunSchema, &r, &r.Schema)
}

// LoadCampaign reads matrix-run.json from a matrix's folder; with the errors of LoadRun.
func LoadCampaign(dir string) (*Campaign, error) {
	var c Campaign
	return &c, loadSchema(dir, FileCampaign, CampaignSchema, &c, &c.Schema)
}

func loadSchema(dir, name, want string, into any, have *string) error {
	err := LoadJSON(dir, name, into)
	if err == nil && *have != want {
		err = inFile(filepath.Join(dir, name), fmt.Errorf("schema %q: want %s", *have, want))
	}
	return err
}
