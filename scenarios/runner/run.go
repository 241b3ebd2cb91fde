package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Options configure a run.
type Options struct {
	Scenario *spec.File
	Binaries party.Binaries
	Provider string // of the cluster, for the record
	OutDir   string // runs are made below it
	Progress *Progress
	Observer Observer // may be nil
	Command  []string // for the record
	// Baseline is an undisturbed cell, with which G8 compares; nil if there is none.
	Baseline *result.Cell
	OneTry   bool // no invalid cell is run once more
	// InCluster has the parties be Pods; nil: processes of this machine.
	InCluster *InCluster
	// Failpoints adds those of a Go test to the product's.
	Failpoints []func() faults.Family
}

// Outcome is a finished run.
type Outcome struct {
	Dir     string
	Results *result.Results
	// Nothing says that there was nothing to resume: the folder is as it was.
	Nothing bool
}

// Runner is one run of a scenario.
type Runner struct {
	opts  Options
	id    string
	short string // part of the names of objects in the cluster
	dir   string
	jobs  []job
	// why says of the jobs of a resumed run that are to be run, why; nil in other runs.
	why      map[string]string
	unlock   func()
	cluster  *cluster.Cluster
	progress *Progress
	version  string
	home     *home // with Options.InCluster, while it runs
	results  *result.Results
	cpu      procstat.CPUTime // of the machine when the run began
}

// job is one cell to run.
type job struct {
	cell spec.Cell
	id   string
	rep  int
}

// Run makes a run's folder and executes the scenario on a cluster, which it leaves up.
func Run(ctx context.Context, opts Options, c *cluster.Cluster) (Outcome, error) {
	r, err := New(opts)
	if err != nil {
		return Outcome{}, err
	}
	return r.Run(ctx, c)
}

// bytesPerObject is about what all parties take for an object of a simulated cluster; see docs/load.md.
const bytesPerObject = 9 << 10

// fits refuses more simulated objects than this machine has memory for.
func fits(f *spec.File) error {
	have, err := procstat.MemoryAvailable()
	if err != nil {
		return nil // unknown elsewhere than on Linux
	}
	for _, c := range f.Cells() {
		if need := bytesPerObject * float64(c.Scenario.Load.Prefill); c.Scenario.Simulated() && need > have {
			return badinput.New("choose smaller points with --set matrix.…=",
				"%s: load.prefill %d needs about %.1f GiB of memory, %.1f GiB are available", c.ID, c.Scenario.Load.Prefill,
				need/(1<<30), have/(1<<30))
		}
	}
	return nil
}

// New makes the run's folder.
func New(opts Options) (*Runner, error) {
	started := time.Now()
	if err := fits(opts.Scenario); err != nil {
		return nil, err
	}
	r := newRunner(opts, started)
	var err error
	if r.dir, r.id, err = MakeDir(opts.OutDir, r.id); err != nil {
		return nil, err
	}
	if err := r.lock(); err != nil {
		return nil, err
	}
	r.results, err = r.header(opts.Scenario.Base(), started)
	return r, err
}

// lock keeps a run that is under way from being resumed.
func (r *Runner) lock() (err error) {
	if r.unlock, err = lifecycle.LockDir(r.dir); errors.Is(err, lifecycle.ErrLockHeld) {
		return badinput.New("wait for its end", "the run of %s is under way", r.dir)
	}
	return err
}

// Step is a cell that is to be run.
type Step struct {
	ID         string
	Repetition int
	Expected   time.Duration // a guess, as for the progress
	Why        string        // it is run in a resumed run
}

// Steps are the cells of a scenario in the order in which they would be run.
func Steps(f *spec.File) []Step { return steps(jobsOf(f), nil) }

// startOverhead is the time until a cluster is up.
const startOverhead = 10 * time.Second

// Expected is how long it takes to run the steps, by the guesses and with a cluster's start.
func Expected(all []Step) time.Duration {
	total := startOverhead
	for _, s := range all {
		total += s.Expected
	}
	return total
}

func steps(jobs []job, why map[string]string) []Step {
	var all []Step
	for _, j := range jobs {
		all = append(all, Step{ID: j.id, Repetition: j.rep, Expected: expect(j.cell.Scenario), Why: why[j.id]})
	}
	return all
}

// Steps are the cells that Run is to run, in order.
func (r *Runner) Steps() []Step { return steps(r.todo(), r.why) }

func (r *Runner) todo() []job {
	if r.why == nil {
		return r.jobs
	}
	return slices.DeleteFunc(slices.Clone(r.jobs), func(j job) bool { return r.why[j.id] == "" })
}

// Dir is the run's folder, Logs the one below it for the logs of its processes.
func (r *Runner) Dir() string { return r.dir }

// Logs is the folder for the logs of the run's processes; it is made when needed.
func (r *Runner) Logs() string { return filepath.Join(r.dir, "logs") }

func (r *Runner) cellLogs(id string) string { return filepath.Join(r.Logs(), id) }

// Run executes the scenario on a cluster, which it leaves up; the Outcome holds what was finished, also after an error.
func (r *Runner) Run(ctx context.Context, c *cluster.Cluster) (Outcome, error) {
	defer r.unlock()
	r.cluster = c
	if r.resumption() == nil {
		r.results.Run.Started = time.Now() // a cluster may have been built first
	}
	env := r.environment()
	env.Kubernetes, env.Etcd, env.Flags, env.EtcdFlags = c.Version, c.EtcdVersion, c.Flags["kube-apiserver"],
		c.Flags["etcd"]
	if first := r.results.Environment.Kubernetes; first != c.Version {
		return r.Outcome(), badinput.New("use a cluster of that version",
			"the run began on Kubernetes %s, this cluster has %s", first, c.Version)
	}
	err := r.moveIn(ctx)
	if err == nil {
		err = errors.Join(r.all(ctx), r.moveOut(ctx))
	}
	return r.Outcome(), errors.Join(err, r.close(ctx))
}

// Outcome is the run's result so far.
func (r *Runner) Outcome() Outcome {
	return Outcome{Dir: r.dir, Results: r.results, Nothing: r.why != nil && len(r.why) == 0}
}

// Discard ends a run that never got a cluster. The folder goes if nothing was written there.
func (r *Runner) Discard() {
	r.unlock()
	_ = os.Remove(r.dir)
}

// close completes the record of the run.
func (r *Runner) close(ctx context.Context) error {
	now := time.Now()
	r.results.Run.Finished = now
	r.results.Run.Interrupted = ctx.Err() != nil
	if s := r.resumption(); s != nil {
		s.Finished = now
	}
	r.closeEnvironment()
	return r.save()
}

// MakeDir makes a run's folder below out. Two runs of one second get different ones.
func MakeDir(out, id string) (dir, unique string, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", "", &badinput.Error{What: fmt.Sprintf("make a folder for the run in %s: %v", out, err),
			Remedy: "name a folder that can be written"}
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
			return "", "", &badinput.Error{What: fmt.Sprintf("make a folder for the run in %s: %v", out, err),
				Remedy: "name a folder that can be written"}
		}
	}
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
	res.Environment.Provider, res.Environment.Pods = r.opts.Provider, r.opts.InCluster.environment()
	if res.Environment.Programs, err = programDigests(r.opts.Binaries, r.opts.Scenario.Cells()); err != nil {
		return nil, err
	}
	return res, nil
}

// all runs the cells in order.
func (r *Runner) all(ctx context.Context) error {
	todo := r.todo()
	base := r.opts.Scenario.Base()
	r.progress.begin(todo, base.Decide.Budget.Std())
	defer r.progress.end()
	if err := r.saveRecord(); err != nil {
		return err
	}
	if base.Decide.On() && r.why == nil && !base.Simulated() {
		if err := r.warm(ctx, todo); err != nil {
			return err
		}
	}
	looks := newLooks(base, r.opts.OneTry)
	for i, j := range todo {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if end := looks.before(j.rep, r.results); end != "" {
			r.decided(j.rep-1, end)
			return nil
		}
		r.progress.cell(i)
		if r.why != nil {
			if err := r.drop(ctx, j.id); err != nil {
				return err
			}
		}
		cell, err := r.newCell(j).run(ctx)
		if why := Repeatable(&cell); err == nil && why != "" && looks.oncemore(j.cell) {
			r.progress.Line(j.id + ": " + why + "; running it again")
			r.results.Run.Again = append(r.results.Run.Again, result.Rerun{ID: j.id, Why: why})
			if err = r.drop(ctx, j.id); err == nil {
				cell, err = r.newCell(j).run(ctx)
			}
		}
		if ended := r.cluster.Ended(); ended != nil && ctx.Err() == nil {
			return fmt.Errorf("cell %s: the control plane is lost: %w", j.id, ended)
		}
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if party.WatcherEnded(err) {
				r.results.Run.Crashed = append(r.results.Run.Crashed, result.Crash{ID: j.id,
					Why: strings.ReplaceAll(err.Error(), "\n", "; ")})
			}
			return fmt.Errorf("cell %s: %w", j.id, err)
		}
		r.results.Cells = append(r.results.Cells, cell)
		if s := r.resumption(); s != nil {
			s.Cells = append(s.Cells, result.Rerun{ID: j.id, Why: r.why[j.id]})
			slices.SortFunc(r.results.Cells, r.byOrder)
		}
		r.progress.finished(cell)
		if err := r.save(); err != nil {
			return err
		}
	}
	if base.Decide.On() {
		end := result.EndBlocks
		if looks.known(r.results) {
			end = result.EndDecided
		}
		r.decided(r.jobs[len(r.jobs)-1].rep, end)
	}
	return nil
}

// save writes results.json and the record.
func (r *Runner) save() error {
	if err := assess.Complete(r.results); err != nil {
		return err
	}
	return errors.Join(r.saveRecord(), result.Save(filepath.Join(r.dir, result.FileName), r.results))
}

// saveRecord writes run.json, and the scenario that a resumed run needs.
func (r *Runner) saveRecord() error {
	source, data, sets := r.opts.Scenario.Source()
	record := &history.Run{
		Schema: history.RunSchema, Run: r.results.Run, Environment: r.results.Environment, Scenario: r.results.Scenario,
		Source: source, Sets: sets, Baseline: history.BaselineOf(r.opts.Baseline),
	}
	for _, c := range r.results.Cells {
		record.Cells = append(record.Cells, c.ID)
	}
	return errors.Join(history.SaveJSON(r.dir, history.FileRun, record), history.Save(r.dir, history.FileScenario, data))
}

// cellRunID names a cell in at most 32 characters. Each digit is there twice, so that it cancels itself in the
// original's hash modulo four: with four queues all cells of a plan have the same partitions.
func (r *Runner) cellRunID(cell string) string {
	for i, j := range r.jobs {
		if j.id == cell {
			name := r.short + "-"
			for _, digit := range fmt.Sprintf("%03d", i+1) {
				name += strings.Repeat(string(digit), 2)
			}
			return name
		}
	}
	return r.short
}

// IsInput reports whether a different argument would avoid the error.
func IsInput(err error) bool {
	var file *spec.Error
	return badinput.Is(err) || errors.As(err, &file)
}
