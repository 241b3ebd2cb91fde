package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/history"
)

// LoadSource reads from a run's folder what its scenario was parsed from.
func LoadSource(dir string) (name string, data []byte, sets []string, err error) {
	r, err := history.LoadRun(dir)
	if err == nil {
		data, err = os.ReadFile(filepath.Join(dir, history.FileScenario))
	}
	switch {
	case err == nil:
		return r.Source, data, r.Sets, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", nil, nil, badinput.New("the folder must be as the run left it", "--resume %s: %v", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, history.FileCampaign)); err == nil {
		return "", nil, nil, badinput.New("run watchbench matrix with the rows that are missing", "--resume %s: a fault matrix cannot be resumed", dir)
	}
	return "", nil, nil, badinput.New("name the folder of a run, such as out/smoke-20260102-150405",
		"--resume %s: no %s and %s of this version", dir, history.FileRun, history.FileScenario)
}

// Resume takes up the run of a folder: valid cells stay as they are, and so does an invalid
// one that violates a guarantee, because no second try takes that back. All others are to be
// run. The scenario must be the one that was run, on the same version of watchbench.
func Resume(ctx context.Context, opts Options, dir string) (*Runner, error) {
	started := time.Now()
	prior, err := history.LoadRun(dir)
	if err != nil {
		return nil, badinput.New("the folder must be as the run left it", "--resume %s: %v", dir, err)
	}
	r := newRunner(opts, started)
	r.id = prior.Run.ID
	if r.dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find the run's folder: %w", err)
	}
	fresh, err := r.header(opts.Scenario.Base(), started)
	if err != nil {
		return nil, err
	}
	if err := sameRun(dir, prior, fresh); err != nil {
		return nil, err
	}
	if err := r.lock(); err != nil {
		return nil, err
	}
	r.results = &result.Results{Schema: result.Schema, Run: prior.Run, Environment: prior.Environment, Scenario: prior.Scenario}
	r.results.Run.Interrupted, r.results.Run.Finished = false, time.Time{}
	r.results.Run.Resumed = append(r.results.Run.Resumed, result.Resumption{Started: started, Command: opts.Command, Environment: fresh.Environment, Cells: []result.Rerun{}})
	r.why = map[string]string{}
	for _, j := range r.jobs {
		why := "missing"
		if slices.Contains(prior.Cells, j.id) {
			cell, err := assess.Cell(ctx, history.CellDir(dir, j.id), assess.Options{})
			switch {
			case ctx.Err() != nil:
				r.Discard()
				return nil, context.Cause(ctx)
			case err != nil:
				why = "its record cannot be used: " + err.Error()
			default:
				r.results.Cells = append(r.results.Cells, cell)
				why = Repeatable(&cell)
			}
		}
		if why != "" {
			r.why[j.id] = why
		}
	}
	return r, nil
}

// Repeatable says why a cell may be run once more: the reasons for which it is invalid.
// Empty for one that is valid or violates a guarantee.
func Repeatable(c *result.Cell) string {
	if c.Valid || violates(c) {
		return ""
	}
	return "invalid: " + strings.Join(c.InvalidReasons, "; ")
}

func violates(c *result.Cell) bool {
	for g, check := range c.Checks {
		if check.Verdict == result.Fail && c.Counts(g) {
			return true
		}
	}
	return false
}

// Resumable reports whether a run has cells that Resume would run.
func Resumable(r *result.Results) bool {
	return len(r.Missing()) > 0 || slices.ContainsFunc(r.Cells, func(c result.Cell) bool { return Repeatable(&c) != "" })
}

// sameRun refuses to mix what cannot be compared.
func sameRun(dir string, prior *history.Run, now *result.Results) error {
	if prior.Baseline != nil {
		return badinput.New("run watchbench matrix with its row", "--resume %s: a run of a fault matrix, which is compared with another", dir)
	}
	type part struct {
		Scenario map[string]any `json:"scenario"`
		Order    []string       `json:"order"`
		Provider string         `json:"provider"`
		Commit   string         `json:"commit"`
		Dirty    bool           `json:"dirty"`
	}
	of := func(scenario map[string]any, run result.Run, e result.Environment) part {
		return part{scenario, run.Order, e.Provider, e.Commit, e.Dirty}
	}
	found, err := assess.Differences("the run has", "this command", of(prior.Scenario, prior.Run, prior.Environment), of(now.Scenario, now.Run, now.Environment))
	if err != nil || len(found) == 0 {
		return err
	}
	return badinput.New("drop what contradicts the run, or start a new one", "--resume %s: another run: %s", dir, strings.Join(found, "; "))
}

// drop takes a cell that is to be run anew out of the results and its folder away.
func (r *Runner) drop(id string) error {
	r.results.Cells = slices.DeleteFunc(r.results.Cells, func(c result.Cell) bool { return c.ID == id })
	if err := r.save(); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(history.CellDir(r.dir, id)), os.RemoveAll(r.cellLogs(id)))
}

// resumption is the one under way; nil in a run that goes from its beginning.
func (r *Runner) resumption() *result.Resumption {
	if r.why == nil {
		return nil
	}
	return &r.results.Run.Resumed[len(r.results.Run.Resumed)-1]
}

// environment is that of the cells that are run now.
func (r *Runner) environment() *result.Environment {
	if s := r.resumption(); s != nil {
		return &s.Environment
	}
	return &r.results.Environment
}

func newRunner(opts Options, started time.Time) *Runner {
	base := opts.Scenario.Base()
	r := &Runner{
		opts: opts, progress: opts.Progress, version: version.Version,
		id:    base.Metadata.Name + "-" + started.Format("20060102-150405"),
		short: strconv.FormatInt(started.Unix()%(36*36*36*36*36), 36),
		jobs:  jobsOf(opts.Scenario),
	}
	r.cpu, _ = procstat.ReadCPUTime() // unknown elsewhere than on Linux
	return r
}
