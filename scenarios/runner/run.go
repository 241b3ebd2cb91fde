package runner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/internal/version"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Options are what a run is given.
type Options struct {
	Scenario *spec.File
	Name     string // the scenario's, as found
	Binaries Binaries
	// NewProvider makes the provider of the cluster, which may write its parties' logs
	// to a folder.
	NewProvider func(logs string) (cluster.Provider, error)
	// ProviderName is for the record.
	ProviderName string
	OutDir       string // runs are made below it
	Progress     *Progress
	Command      []string // for the record
	// Baseline is an undisturbed cell, with which G8 compares; nil if there is none.
	Baseline *result.Cell
	// Started is called when the run's folder is there; may be nil.
	Started func(dir string)
}

// Outcome is a finished run.
type Outcome struct {
	Dir     string
	Results *result.Results
}

// run is a run under way.
type run struct {
	opts     Options
	id       string
	short    string // part of the names of objects in the cluster
	dir      string
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
}

// Run executes a scenario. After an error or an interruption the Outcome holds the
// cells that were finished; Dir is empty if not even the folder could be made.
func Run(ctx context.Context, opts Options) (Outcome, error) {
	started := time.Now()
	base := opts.Scenario.Base()
	r := &run{
		opts: opts, progress: opts.Progress, version: version.Version,
		id:    base.Metadata.Name + "-" + started.Format("20060102-150405"),
		short: strconv.FormatInt(started.Unix()%(36*36*36*36*36), 36),
	}
	r.cpu, _ = procstat.ReadCPUTime() // unknown elsewhere than on Linux
	var err error
	if r.dir, r.id, err = makeDir(opts.OutDir, r.id); err != nil {
		return Outcome{}, err
	}
	jobs := order(opts.Scenario.Cells(), base.Repeat, base.Seed)
	if r.results, err = r.open(base, jobs, started); err != nil {
		return Outcome{}, err
	}
	if opts.Started != nil {
		opts.Started(r.dir)
	}
	out := Outcome{Dir: r.dir, Results: r.results}
	err = r.all(ctx, jobs)
	r.results.Run.Finished = time.Now()
	r.results.Run.Interrupted = ctx.Err() != nil
	r.closeEnvironment()
	if len(r.results.Cells) == 0 {
		_ = os.Remove(r.dir) // goes only if nothing was started that left a log
		return out, err
	}
	return out, errors.Join(err, r.save())
}

// makeDir makes the run's folder. Two runs of one second get different ones.
func makeDir(out, id string) (dir, unique string, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", "", &InputError{What: fmt.Sprintf("--out %s: %v", out, err), Remedy: "name a folder that can be written"}
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
			return "", "", &InputError{What: fmt.Sprintf("--out %s: %v", out, err), Remedy: "name a folder that can be written"}
		}
	}
}

// order lists the cells of all repetitions, shuffled within each by the seed, so
// that a drift of the machine does not always hit the same strategy.
func order(cells []spec.Cell, repeat int, seed uint64) []job {
	var jobs []job
	for rep := 1; rep <= repeat; rep++ {
		rng := rand.New(rand.NewPCG(seed, uint64(rep)))
		for _, i := range rng.Perm(len(cells)) {
			j := job{cell: cells[i], id: cells[i].ID, rep: rep}
			if repeat > 1 {
				j.id += "-r" + strconv.Itoa(rep)
			}
			jobs = append(jobs, j)
		}
	}
	return jobs
}

func (r *run) open(base spec.Scenario, jobs []job, started time.Time) (*result.Results, error) {
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
	for _, j := range jobs {
		res.Run.Order = append(res.Run.Order, j.id)
	}
	res.Environment.Provider = r.opts.ProviderName
	return res, nil
}

// all brings the cluster up and runs the cells in order.
func (r *run) all(ctx context.Context, jobs []job) (err error) {
	r.progress.begin(jobs)
	defer r.progress.end()
	provider, err := r.opts.NewProvider(filepath.Join(r.dir, "logs"))
	if err != nil {
		return err
	}
	r.cluster, err = provider.Up(ctx, r.progress.line)
	if err != nil {
		return fmt.Errorf("bring the cluster up: %w", err)
	}
	defer func() {
		down, cancel := context.WithTimeout(context.WithoutCancel(ctx), clusterDownLimit)
		defer cancel()
		if derr := r.cluster.Down(down); derr != nil {
			err = errors.Join(err, fmt.Errorf("end the cluster: %w", derr))
		}
	}()
	env := &r.results.Environment
	env.Kubernetes, env.Etcd = r.cluster.Version, r.cluster.EtcdVersion
	env.Flags = r.cluster.Flags["kube-apiserver"]
	for i, j := range jobs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.progress.cell(i)
		c := &cellRun{
			r: r, cell: j.cell, id: j.id, rep: j.rep, s: j.cell.Scenario,
			dir: filepath.Join(r.dir, "cells", j.id), logs: filepath.Join(r.dir, "logs", j.id),
		}
		cell, err := c.run(ctx)
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

// clusterDownLimit bounds the end of the cluster, after an interruption too.
const clusterDownLimit = 3 * time.Minute

// save writes what there is.
func (r *run) save() error {
	return result.Save(filepath.Join(r.dir, result.FileName), r.results)
}

// cellRunID names a cell within the cluster, in at most 32 characters.
func (r *run) cellRunID(cell string) string {
	for i, id := range r.results.Run.Order {
		if id == cell {
			return r.short + "-" + strconv.Itoa(i+1)
		}
	}
	return r.short
}
