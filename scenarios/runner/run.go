package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/affinity"
	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Options are what a run is given.
type Options struct {
	Scenario *spec.File
	Binaries party.Binaries
	Provider string // of the cluster, for the record
	OutDir   string // runs are made below it
	Progress *Progress
	Command  []string // for the record
	// Pinned are the CPUs of the parties; watchbench itself is on those of the tools,
	// and what it starts inherits them.
	Pinned affinity.Groups
	// Baseline is an undisturbed cell, with which G8 compares; nil if there is none.
	Baseline *result.Cell
}

// Outcome is a finished run.
type Outcome struct {
	Dir     string
	Results *result.Results
}

// Runner is one run of a scenario.
type Runner struct {
	opts     Options
	id       string
	short    string // part of the names of objects in the cluster
	dir      string
	jobs     []job
	cluster  *cluster.Cluster
	progress *Progress
	version  string
	results  *result.Results
	cpu      procstat.CPUTime // of the machine when the run began
}

// job is one cell to run.
type job struct {
	cell spec.Cell
	id   string
	rep  int
	// calibration is the id of the cell that measures the capacity for this one.
	calibration string
}

// Run makes a run's folder and executes the scenario on a cluster, which it leaves up.
func Run(ctx context.Context, opts Options, c *cluster.Cluster) (Outcome, error) {
	r, err := New(opts)
	if err != nil {
		return Outcome{}, err
	}
	return r.Run(ctx, c)
}

// New makes the run's folder.
func New(opts Options) (*Runner, error) {
	started := time.Now()
	base := opts.Scenario.Base()
	r := &Runner{
		opts: opts, progress: opts.Progress, version: version.Version,
		id:    base.Metadata.Name + "-" + started.Format("20060102-150405"),
		short: strconv.FormatInt(started.Unix()%(36*36*36*36*36), 36),
		jobs:  calibrationsFirst(order(opts.Scenario.Cells(), base.Repeat, base.Seed)),
	}
	r.cpu, _ = procstat.ReadCPUTime() // unknown elsewhere than on Linux
	var err error
	if r.dir, r.id, err = makeDir(opts.OutDir, r.id); err != nil {
		return nil, err
	}
	r.results, err = r.header(base, started)
	return r, err
}

// Dir is the run's folder, Logs the one below it for the logs of its processes.
func (r *Runner) Dir() string { return r.dir }

// Logs is the folder for the logs of the run's processes; it is made when needed.
func (r *Runner) Logs() string { return filepath.Join(r.dir, "logs") }

func (r *Runner) cellLogs(id string) string { return filepath.Join(r.Logs(), id) }

// Run executes the scenario on a cluster, which it leaves up. After an error or an
// interruption the Outcome holds the cells that were finished.
func (r *Runner) Run(ctx context.Context, c *cluster.Cluster) (Outcome, error) {
	r.cluster = c
	env := &r.results.Environment
	env.Kubernetes, env.Etcd, env.Flags, env.EtcdFlags = c.Version, c.EtcdVersion, c.Flags["kube-apiserver"], c.Flags["etcd"]
	err := r.all(ctx)
	return Outcome{Dir: r.dir, Results: r.results}, errors.Join(err, r.close(ctx))
}

// Discard ends a run that never got a cluster. The folder goes if nothing was logged
// there.
func (r *Runner) Discard() { _ = os.Remove(r.dir) }

// close completes the record of the run.
func (r *Runner) close(ctx context.Context) error {
	r.results.Run.Finished = time.Now()
	r.results.Run.Interrupted = ctx.Err() != nil
	r.closeEnvironment()
	if len(r.results.Cells) == 0 {
		r.Discard()
		return nil
	}
	return r.save()
}

// makeDir makes the run's folder. Two runs of one second get different ones.
func makeDir(out, id string) (dir, unique string, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", "", &badinput.Error{What: fmt.Sprintf("--out %s: %v", out, err), Remedy: "name a folder that can be written"}
	}
	for n := 1; ; n++ {
		unique = id
		if n > 1 {
			unique += "-" + strconv.Itoa(n)
		}
		dir, err = filepath.Abs(filepath.Join(out, unique))
		if err != nil {
			return "", "", fmt.Errorf("find the run's folder: %w", err)
		}
		switch err := os.Mkdir(dir, 0o755); {
		case err == nil:
			return dir, unique, nil
		case !errors.Is(err, os.ErrExist) || n > 100:
			return "", "", &badinput.Error{What: fmt.Sprintf("--out %s: %v", out, err), Remedy: "name a folder that can be written"}
		}
	}
}

// order lists the cells of all repetitions. The first is shuffled by the seed, the second
// is the first in reverse, the third is shuffled anew, and so on: a drift of the machine
// does not always hit the same strategy, and none is always before another. What is not to
// be repeated is in the first.
func order(cells []spec.Cell, repeat int, seed uint64) []job {
	var jobs []job
	var round []int
	for rep := 1; rep <= repeat; rep++ {
		if rep%2 == 0 {
			slices.Reverse(round)
		} else {
			round = rand.New(rand.NewPCG(seed, uint64(rep))).Perm(len(cells))
		}
		for _, i := range round {
			if rep > 1 && cells[i].Once {
				continue
			}
			j := job{cell: cells[i], id: cells[i].ID, rep: rep}
			if repeat > 1 {
				j.id += "-r" + strconv.Itoa(rep)
			}
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// header is everything of results.json that is known before the first cell.
func (r *Runner) header(base spec.Scenario, started time.Time) (*result.Results, error) {
	record, err := r.opts.Scenario.Record()
	if err != nil {
		return nil, err
	}
	res := &result.Results{
		Schema: result.Schema,
		Run: result.Run{
			ID: r.id, Scenario: base.Metadata.Name, Description: base.Metadata.Description,
			Started: started, Seed: base.Seed, Command: r.opts.Command,
		},
		Environment: environment(),
		Scenario:    record,
	}
	for _, j := range r.jobs {
		res.Run.Order = append(res.Run.Order, j.id)
	}
	res.Environment.Provider = r.opts.Provider
	res.Environment.Pinned = pinned(r.opts.Pinned)
	return res, nil
}

// all runs the cells in order.
func (r *Runner) all(ctx context.Context) error {
	r.progress.begin(r.jobs)
	defer r.progress.end()
	for i, j := range r.jobs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.progress.cell(i)
		cell, err := r.newCell(j).run(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fmt.Errorf("cell %s: %w", j.id, err)
		}
		r.results.Cells = append(r.results.Cells, cell)
		r.progress.finished(cell)
		if err := r.save(); err != nil {
			return err
		}
	}
	return nil
}

// save writes results.json, and run.json with all of it that is not computed from the
// cells.
func (r *Runner) save() error {
	if err := r.results.JudgeThresholds(); err != nil {
		return err
	}
	record := &history.Run{
		Schema: history.RunSchema, Run: r.results.Run, Environment: r.results.Environment, Scenario: r.results.Scenario,
		Baseline: history.BaselineOf(r.opts.Baseline),
	}
	for _, c := range r.results.Cells {
		record.Cells = append(record.Cells, c.ID)
	}
	return errors.Join(history.SaveJSON(r.dir, history.FileRun, record), result.Save(filepath.Join(r.dir, result.FileName), r.results))
}

// cellRunID names a cell within the cluster, in at most 32 characters.
func (r *Runner) cellRunID(cell string) string {
	for i, j := range r.jobs {
		if j.id == cell {
			return r.short + "-" + strconv.Itoa(i+1)
		}
	}
	return r.short
}
