package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
		return "", nil, nil, badinput.New("run watchbench matrix with the rows that are missing",
			"--resume %s: a fault matrix cannot be resumed", dir)
	}
	return "", nil, nil, badinput.New("name the folder of a run, such as out/smoke-20260102-150405",
		"--resume %s: no %s and %s of this version", dir, history.FileRun, history.FileScenario)
}

// Resume takes up the run of a folder. Valid cells stay, as do violations, which no second try takes back; the others
// are run, but for those in which the watcher crashed. Scenario, programs and machine must be the same.
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
	// Now that nobody writes to it any more.
	if prior, err = history.LoadRun(dir); err == nil {
		err = r.takeUp(ctx, dir, prior)
	}
	if err != nil {
		r.Discard()
		return nil, err
	}
	if len(r.why) == 0 {
		return r, nil
	}
	run := &r.results.Run
	run.Interrupted, run.Finished = false, time.Time{}
	if d := run.Decision; d != nil && d.End == result.EndInvalid {
		run.Decision = nil
	}
	run.Resumed = append(run.Resumed, result.Resumption{Started: started, Command: opts.Command,
		Environment: fresh.Environment, Cells: []result.Rerun{}})
	return r, nil
}

// takeUp says of the cells that do not stand why they are to be run. The results hold the run's cells so far.
func (r *Runner) takeUp(ctx context.Context, dir string, prior *history.Run) error {
	if prior.Run.Decision != nil {
		r.jobs = r.jobs[:len(prior.Run.Order)]
	}
	r.results = &result.Results{Schema: result.Schema, Run: prior.Run, Environment: prior.Environment,
		Scenario: prior.Scenario}
	said, err := result.LoadFile(dir)
	if errors.Is(err, fs.ErrNotExist) { // killed before its first cell was done
		said = &result.Results{}
	} else if err != nil {
		return badinput.New("remove it if watchbench check can do without, else start a new run", "--resume %s: %v", dir,
			err)
	}
	r.why = map[string]string{}
	for _, j := range r.jobs {
		i := slices.IndexFunc(said.Cells, func(c result.Cell) bool { return c.ID == j.id })
		crashed := slices.ContainsFunc(prior.Run.Crashed, func(c result.Crash) bool { return c.ID == j.id })
		var cell result.Cell
		switch {
		case i >= 0:
			cell = said.Cells[i]
		case !slices.Contains(prior.Cells, j.id):
			if !crashed {
				r.why[j.id] = "missing"
			}
			continue
		default: // killed before it was published
			if cell, err = assess.Cell(ctx, history.CellDir(dir, j.id), assess.Options{}); ctx.Err() != nil {
				return context.Cause(ctx)
			} else if err != nil {
				return badinput.New("start a new run", "--resume %s: whether %s violates a guarantee is not known: %v", dir, j.id,
					err)
			}
		}
		r.results.Cells = append(r.results.Cells, cell)
		if why := Repeatable(&cell); why != "" {
			r.why[j.id] = why
		}
	}
	if err := assess.Complete(r.results); err != nil {
		return badinput.New("the folder must be as the run left it", "--resume %s: %v", dir, err)
	}
	return nil
}

// Repeatable says why a cell may be run once more; empty for one that is valid or violates a guarantee.
func Repeatable(c *result.Cell) string {
	if c.Valid || violates(c) {
		return ""
	}
	return "invalid: " + strings.Join(c.InvalidReasons, "; ")
}

func violates(c *result.Cell) bool { return len(violated(c)) > 0 }

// violated are the guarantees that a cell violates.
func violated(c *result.Cell) (all []string) {
	for _, g := range slices.Sorted(maps.Keys(c.Checks)) {
		if c.Checks[g].Verdict == result.Fail && c.Counts(g) {
			all = append(all, g)
		}
	}
	return all
}

// Resumable reports whether a run has cells that Resume would run.
func Resumable(r *result.Results) bool {
	return len(r.Missing()) > len(r.Run.Crashed) || slices.ContainsFunc(r.Cells,
		func(c result.Cell) bool { return Repeatable(&c) != "" })
}

// sameRun refuses to mix what cannot be compared.
func sameRun(dir string, prior *history.Run, now *result.Results) error {
	if prior.Baseline != nil {
		return badinput.New("run watchbench matrix with its row",
			"--resume %s: a run of a fault matrix, which is compared with another", dir)
	}
	if n := len(prior.Run.Order); prior.Run.Decision != nil && n < len(now.Run.Order) {
		now.Run.Order = now.Run.Order[:n]
	}
	type part struct {
		Scenario    map[string]any     `json:"scenario"`
		Order       []string           `json:"order"`
		Environment result.Environment `json:"environment"`
	}
	// What makes figures of one machine and one program comparable; a kernel's own part of the memory varies.
	of := func(scenario map[string]any, run result.Run, e result.Environment) part {
		e.MemoryMiB = (e.MemoryMiB + 512) / 1024 * 1024
		e.Kubernetes, e.Etcd, e.Flags, e.EtcdFlags = "", "", nil, nil
		if e.Pods != nil { // what is known once Pods ran
			p := *e.Pods
			p.Nodes, p.Images, e.Pods = nil, nil, &p
		}
		e.LoadBefore, e.LoadAfter, e.StealPct = nil, nil, 0
		return part{scenario, run.Order, e}
	}
	found, err := result.Differences("the run has", "this command", of(prior.Scenario, prior.Run, prior.Environment),
		of(now.Scenario, now.Run, now.Environment))
	if err != nil || len(found) == 0 {
		return err
	}
	return badinput.New("drop what contradicts the run, or start a new one", "--resume %s: another run: %s", dir,
		strings.Join(found, "; "))
}

// OtherCommit says that another commit than this program's recorded a run; empty if not, or not known.
func OtherCommit(recorded *result.Environment) string {
	name := func(e *result.Environment) string {
		s := cmp.Or(e.Commit, "unknown")
		if e.Dirty {
			s += ", with changes"
		}
		return s
	}
	now := environment()
	if recorded.Commit == "" || name(recorded) == name(&now) {
		return ""
	}
	return fmt.Sprintf("recorded by commit %s; this program is of commit %s, which may judge otherwise", name(recorded),
		name(&now))
}

// drop takes a cell that is to be run anew out of the results and its folder away.
func (r *Runner) drop(ctx context.Context, id string) error {
	r.results.Cells = slices.DeleteFunc(r.results.Cells, func(c result.Cell) bool { return c.ID == id })
	if err := r.save(); err != nil {
		return err
	}
	err := errors.Join(os.RemoveAll(history.CellDir(r.dir, id)), os.RemoveAll(r.cellLogs(id)))
	if err == nil && r.home != nil { // Jobs of several Pods stay a while, and would be taken for those of the next try
		err = r.home.clean(ctx)
	}
	return err
}

// resumption is the one under way; nil in a run that goes from its beginning, or has nothing to go on with.
func (r *Runner) resumption() *result.Resumption {
	if len(r.why) == 0 {
		return nil
	}
	return &r.results.Run.Resumed[len(r.results.Run.Resumed)-1]
}

// environment describes where the remaining cells run.
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
	if r.progress == nil {
		r.progress = NewProgress(nil)
	}
	if opts.InCluster != nil {
		r.opts.Binaries.Watcher, r.opts.Binaries.Storage = "", "" // the images have them
	}
	r.progress.observer = opts.Observer
	r.cpu, _ = procstat.ReadCPUTime() // unknown elsewhere than on Linux
	return r
}
