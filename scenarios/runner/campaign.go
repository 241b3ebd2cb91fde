package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/render"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Scenario is one to run.
type Scenario struct {
	Name string // as shipped
	File *spec.File
}

// Campaign runs the scenarios of the fault matrix, and keeps its files up to date. F0 comes first, for the others to be
// compared with. A scenario with an invalid cell is run once more; one in which more than figures of time failed never
// is.
type Campaign struct {
	Scenarios []Scenario
	Rows      []string // of the table; none: all
	Profile   string   // of the watcher
	Dir       string   // of the matrix; must exist. What a campaign left in it is kept, and gone on with
	// Single runs one scenario below Dir. baseline is the undisturbed cell; nil if there is none yet.
	Single func(ctx context.Context, s Scenario, baseline *result.Cell) (Outcome, error)
	// Report takes progress, a line at a time.
	Report func(line string)

	began   time.Time
	record  history.Campaign
	results map[string]*result.Results // by the run's folder
	base    *result.Cell
}

// Run returns the matrix, complete also after an error; one scenario's error is an entry of it.
func (c *Campaign) Run(ctx context.Context) (*result.Matrix, error) {
	c.began, c.results = time.Now(), map[string]*result.Results{}
	c.record = history.Campaign{Schema: history.CampaignSchema, Profile: c.Profile, Asked: c.Rows}
	if err := c.goOn(); err != nil {
		return nil, err
	}
	err := c.all(ctx)
	err = errors.Join(err, c.save())
	return c.matrix(), err
}

// goOn takes over what a former campaign left in the folder.
func (c *Campaign) goOn() error {
	former, err := history.LoadCampaign(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	c.began = c.began.Add(-time.Duration(former.Seconds * float64(time.Second)))
	if len(former.Asked) == 0 || len(c.Rows) == 0 {
		former.Asked = nil
	} else {
		former.Asked = append(former.Asked, c.Rows...)
	}
	c.record = *former
	for _, r := range former.Runs {
		if r.Dir == "" {
			continue
		}
		res, err := result.LoadFile(filepath.Join(c.Dir, r.Dir, result.FileName))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		c.results[r.Dir] = res
		if len(res.Cells) > 0 && r.Row == matrix.BaseRow {
			c.base = &res.Cells[0]
		}
	}
	return nil
}

func (c *Campaign) all(ctx context.Context) error {
	for i, s := range c.Scenarios {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.Report(fmt.Sprintf("[%d/%d] %s", i+1, len(c.Scenarios), s.Name))
		if err := c.scenario(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// scenario runs one, a second time if that is worth it.
func (c *Campaign) scenario(ctx context.Context, s Scenario) error {
	r, err := c.try(ctx, s, 1)
	if why := matrix.Again(matrix.Entries(r, c.results[r.Dir])); len(why) > 0 && ctx.Err() == nil {
		c.Report("running it again: " + strings.Join(slices.Sorted(maps.Values(why)), "; "))
		r, err = c.try(ctx, s, 2)
	}
	if res := c.results[r.Dir]; res != nil && len(res.Cells) > 0 && r.Row == matrix.BaseRow && c.base == nil {
		c.base = &res.Cells[0]
	}
	if serr := c.save(); serr != nil {
		return serr
	}
	if err != nil && (ctx.Err() != nil || IsInput(err)) {
		return err
	}
	return nil
}

func (c *Campaign) try(ctx context.Context, s Scenario, n int) (history.CampaignRun, error) {
	began := time.Now()
	out, err := c.Single(ctx, s, c.base)
	f := s.File.Base().Fault
	r := history.CampaignRun{
		Scenario: strings.TrimPrefix(strings.TrimPrefix(s.Name, "faults/"), "regression/"), Row: f.Row, Title: f.Title,
		Cells: len(s.File.Cells()), Seconds: time.Since(began).Seconds(), Try: n,
	}
	if out.Dir != "" {
		r.Dir = filepath.Base(out.Dir)
		c.results[r.Dir] = out.Results
	}
	if err != nil {
		r.Error = strings.ReplaceAll(err.Error(), "\n", "; ")
		r.Crashed = party.WatcherEnded(err)
	}
	c.record.Runs = append(c.record.Runs, r)
	return r, err
}

func (c *Campaign) matrix() *result.Matrix {
	return matrix.Compose(&c.record, func(r history.CampaignRun) *result.Results { return c.results[r.Dir] })
}

func (c *Campaign) save() error {
	c.record.Seconds = time.Since(c.began).Seconds()
	if err := history.SaveJSON(c.Dir, history.FileCampaign, &c.record); err != nil {
		return err
	}
	return render.WriteMatrix(c.Dir, c.matrix())
}
