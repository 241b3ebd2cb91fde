// Package campaign runs the scenarios of the fault matrix one after the other and keeps
// matrix-run.json, matrix.json and matrix.md up to date as it goes.
//
// Promises:
//
//  1. The undisturbed row F0 comes first where it was chosen, and the others are
//     compared with its last try.
//  2. A scenario with an invalid cell is run once more, which is counted; one in which
//     anything failed but figures of time never is.
//  3. What was run so far is in the files when a later scenario fails or the context
//     ends.
package campaign

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
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Scenario is one to run.
type Scenario struct {
	Name string // as shipped
	File *spec.File
}

// Options configure a campaign.
type Options struct {
	Scenarios []Scenario
	Rows      []string // of the table; none: all
	Profile   string   // of the watcher
	Dir       string   // of the matrix; must exist. What a campaign left in it is kept, and gone on with
	// Run runs a scenario below Dir and returns the run's folder and results, as far as
	// there are any. baseline is the undisturbed cell; nil if there is none yet.
	Run func(ctx context.Context, s Scenario, baseline *result.Cell) (dir string, res *result.Results, err error)
	// Fatal reports whether an error would meet every further scenario too.
	Fatal func(error) bool
	// Crashed reports whether an error is a watcher that ended by itself.
	Crashed func(error) bool
	// Report takes progress, a line at a time.
	Report func(line string)
}

// Run runs the scenarios and returns the matrix, complete also after an error. An error
// of one scenario is an entry of the matrix; only what ends the campaign is returned.
func Run(ctx context.Context, o Options) (*result.Matrix, error) {
	c := &campaign{o: o, began: time.Now(), results: map[string]*result.Results{}}
	c.record = history.Campaign{Schema: history.CampaignSchema, Profile: o.Profile, Asked: o.Rows}
	if err := c.goOn(); err != nil {
		return nil, err
	}
	err := c.all(ctx)
	err = errors.Join(err, c.save())
	return c.matrix(), err
}

type campaign struct {
	o       Options
	began   time.Time
	record  history.Campaign
	results map[string]*result.Results // by the run's folder
	base    *result.Cell
}

// goOn takes over what a former campaign left in the folder.
func (c *campaign) goOn() error {
	former, err := history.LoadCampaign(c.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	c.began = c.began.Add(-time.Duration(former.Seconds * float64(time.Second)))
	if len(former.Asked) == 0 || len(c.o.Rows) == 0 {
		former.Asked = nil
	} else {
		former.Asked = append(former.Asked, c.o.Rows...)
	}
	c.record = *former
	for _, r := range former.Runs {
		if r.Dir == "" {
			continue
		}
		res, err := result.LoadFile(filepath.Join(c.o.Dir, r.Dir, result.FileName))
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

func (c *campaign) all(ctx context.Context) error {
	for i, s := range c.o.Scenarios {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.o.Report(fmt.Sprintf("[%d/%d] %s", i+1, len(c.o.Scenarios), s.Name))
		if err := c.scenario(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// scenario runs one, a second time if that is worth it.
func (c *campaign) scenario(ctx context.Context, s Scenario) error {
	r, err := c.try(ctx, s, 1)
	if why := matrix.Again(matrix.Entries(r, c.results[r.Dir])); len(why) > 0 && ctx.Err() == nil {
		c.o.Report("running it again: " + strings.Join(slices.Sorted(maps.Values(why)), "; "))
		r, err = c.try(ctx, s, 2)
	}
	if res := c.results[r.Dir]; res != nil && len(res.Cells) > 0 && r.Row == matrix.BaseRow && c.base == nil {
		c.base = &res.Cells[0]
	}
	if serr := c.save(); serr != nil {
		return serr
	}
	if err != nil && (ctx.Err() != nil || c.o.Fatal(err)) {
		return err
	}
	return nil
}

func (c *campaign) try(ctx context.Context, s Scenario, n int) (history.CampaignRun, error) {
	began := time.Now()
	dir, res, err := c.o.Run(ctx, s, c.base)
	f := s.File.Base().Fault
	r := history.CampaignRun{
		Scenario: strings.TrimPrefix(strings.TrimPrefix(s.Name, "faults/"), "regression/"), Row: f.Row, Title: f.Title,
		Cells: len(s.File.Cells()), Seconds: time.Since(began).Seconds(), Try: n,
	}
	if dir != "" {
		r.Dir = filepath.Base(dir)
		c.results[r.Dir] = res
	}
	if err != nil {
		r.Error = strings.ReplaceAll(err.Error(), "\n", "; ")
		r.Crashed = c.o.Crashed(err)
	}
	c.record.Runs = append(c.record.Runs, r)
	return r, err
}

func (c *campaign) matrix() *result.Matrix {
	return matrix.Compose(&c.record, func(r history.CampaignRun) *result.Results { return c.results[r.Dir] })
}

func (c *campaign) save() error {
	c.record.Seconds = time.Since(c.began).Seconds()
	if err := history.SaveJSON(c.o.Dir, history.FileCampaign, &c.record); err != nil {
		return err
	}
	return render.WriteMatrix(c.o.Dir, c.matrix())
}
