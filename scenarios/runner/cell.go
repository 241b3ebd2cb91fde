package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Phases of a cell, as progress shows them.
const (
	PhasePrepare  = "prepare"
	PhaseWarmup   = "warm-up"
	PhaseLoad     = "load"
	PhaseDrain    = "drain"
	PhaseCheck    = "check"
	PhaseTeardown = "tear down"
)

// cell is one cell under way.
type cell struct {
	r      *Runner
	dir    string // cells/<id>
	logs   string // logs/<id>
	s      *spec.Scenario
	record history.Cell // cell.json
	rules  check.Rules
	ignore []string // namespaces that were there before
	setup  faults.Setup
	faults *faults.Set
	length time.Duration // of the load at speed 1x

	api       *party.APIServer
	storage   *party.Storage
	proxy     *party.Proxy
	generator *party.Generators
	witness   *party.Witness // with cluster.controllers
	readers   *party.Readers
	serving   *party.Serving // of the watcher that is judged
	watcher   *party.Watcher
	others    []*party.Watcher              // replicas, or a second watcher
	all       []*party.Watcher              // that were started
	live      atomic.Pointer[party.Watcher] // watcher, for the sampler
	launched  int
	asked     atomic.Int64 // requests to watchers
	refusals  int          // watchers that were to refuse their configuration

	sampler   *sampler
	profiles  *profiler        // nil without --profile
	before    []byte           // the watcher's metrics as the load began, as text
	after     []byte           // and after the drain
	cpuBefore procstat.CPUTime // of the machine as the load began
	drained   drained
	marks     []history.Mark
	canaries  []string
	ended     bool
}

var _ faults.Cell = (*cell)(nil)

func (r *Runner) newCell(j job) *cell {
	c := &cell{
		r: r, dir: history.CellDir(r.dir, j.id), logs: r.cellLogs(j.id), s: &j.cell.Scenario, faults: faults.New(),
		record: history.Cell{
			Schema: history.CellSchema, ID: j.id, Repetition: j.rep, Resumed: len(r.results.Run.Resumed), Params: map[string]string{}, Scenario: j.cell.Scenario,
			Seed: seedOf(&j), CPUs: runtime.NumCPU(), WatcherCPUs: len(r.opts.Pinned.Watcher),
			Watcher: history.WatcherRun{Version: r.version, Own: j.cell.Scenario.Watcher.Command == ""},
		},
	}
	for _, p := range j.cell.Params {
		c.record.Params[p.Name] = p.Value
	}
	return c
}

// seedOf is the same for all cells of one repetition, so that they get the same plan and latencies; where the scenario
// decides, for all: then only the machine differs between two of them.
func seedOf(j *job) uint64 {
	if j.cell.Scenario.Decide.On() {
		return j.cell.Scenario.Seed
	}
	return j.cell.Scenario.Seed + uint64(j.rep-1)
}

// run goes through all phases and returns the cell's figures and verdicts. Whatever
// it started has ended when it returns.
func (c *cell) run(ctx context.Context) (out result.Cell, err error) {
	for _, dir := range []string{c.dir, c.logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return out, fmt.Errorf("make the cell's folder: %w", err)
		}
	}
	stopSampling := func() {}
	defer func() {
		stopSampling()
		c.profiles.abandon()
		err = errors.Join(err, c.tearDown(ctx))
	}()
	type phase struct {
		name string
		do   func(context.Context) error
	}
	phases := []phase{
		{PhasePrepare, c.prepare},
		{PhaseWarmup, c.warmUp},
		{PhaseLoad, func(ctx context.Context) error {
			stopSampling, c.profiles = c.startSampling(ctx), c.startProfiling(ctx)
			return c.load(ctx)
		}},
		{PhaseDrain, c.drain},
		{"collect", func(ctx context.Context) error { stopSampling(); return c.collect(ctx) }},
	}
	if f := c.s.Fault; f != nil && f.Refused {
		phases = []phase{{PhasePrepare, c.prepareRefusal}, {PhaseLoad, c.awaitRefusal}, {"collect", c.collectRefusal}}
	}
	for _, p := range phases {
		if p.name == PhaseWarmup && c.s.Load.Warmup.Operations == 0 {
			continue
		}
		if p.name != "collect" {
			c.phase(p.name)
		}
		if err := p.do(ctx); err != nil {
			return out, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	// The op log is complete once the generator has ended, and so is the record.
	if err := c.tearDown(ctx); err != nil {
		return out, err
	}
	if c.watcher != nil && c.watcher.Ended() && !c.record.Cut {
		code := c.watcher.ExitCode()
		c.record.Watcher.ExitCode = &code
	}
	for _, w := range c.all {
		end, err := w.Exit()
		if err != nil {
			return out, err
		}
		c.record.Watcher.Exits = append(c.record.Watcher.Exits, end)
	}
	if err := history.SaveJSON(c.dir, history.FileCell, &c.record); err != nil {
		return out, err
	}
	c.phase(PhaseCheck)
	if out, err = assess.Cell(ctx, c.dir, assess.Options{Baseline: c.r.opts.Baseline}); err != nil {
		return out, fmt.Errorf("%s: %w", PhaseCheck, err)
	}
	return out, nil
}

func (c *cell) phase(name string) {
	c.r.progress.phase(name)
	c.r.observed.phase(name)
}

// startSampling samples in the background until the returned function is called,
// which waits for the end of it and may be called again.
func (c *cell) startSampling(ctx context.Context) func() {
	pids := pidsOf(c.r.cluster.PIDs, c.watcher, c.storage, c.generator, c.proxy)
	if c.witness != nil {
		pids[history.PartyWitness] = []int{c.witness.PID()}
	}
	if c.readers != nil {
		pids[history.PartyReaders] = []int{c.readers.PID()}
	}
	c.sampler = newSampler(pids, func() metered { return c.live.Load() }, c.storage)
	c.sampler.asked = func() float64 { return float64(c.asked.Load()) }
	// A page that shows the watcher, and bounds that a fault puts it to, need what only it knows.
	c.sampler.asks = c.r.observed.to != nil || c.s.Fault != nil
	c.sampler.show, c.sampler.rates = c.r.observed.sample, c.r.progress.sampled
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { c.sampler.run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// tearDown ends what is still running. The generator removes the objects it made,
// also when ctx was cancelled. Calling it again has no effect.
func (c *cell) tearDown(ctx context.Context) error {
	if c.ended {
		return nil
	}
	c.ended = true
	c.phase(PhaseTeardown)
	defer context.AfterFunc(lifecycle.Hurry(ctx), c.abandon)()
	if c.readers != nil && !c.readers.Ended() { // before the watcher, which would wait for them
		c.readers.Stop(party.StorageGrace)
	}
	grace := party.WatcherGrace + c.s.Watcher.DrainTimeout.Std()
	for _, w := range append(slices.Clone(c.others), c.watcher) {
		if w != nil && !w.Ended() {
			w.Stop(grace)
		}
	}
	if c.proxy != nil && !c.proxy.Ended() {
		c.proxy.Stop(party.StorageGrace)
	}
	err := c.release()
	remove, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	err = errors.Join(err, c.faults.Remove(remove, c))
	if c.generator != nil {
		if ctx.Err() != nil {
			c.generator.Stop(party.TeardownLimit)
		} else {
			err = errors.Join(err, c.generator.End(ctx))
		}
	}
	if c.storage != nil && !c.storage.Ended() {
		c.storage.Stop(party.StorageGrace)
	}
	return err
}

// abandon kills what has nothing to clean up; the generator has, unless its objects go
// away with the cluster.
func (c *cell) abandon() {
	var all []*party.Process
	for _, w := range c.all {
		all = append(all, w.Process)
	}
	if c.proxy != nil {
		all = append(all, c.proxy.Process)
	}
	if c.storage != nil {
		all = append(all, c.storage.Process)
	}
	if c.readers != nil {
		all = append(all, c.readers.Process)
	}
	if c.witness != nil {
		all = append(all, c.witness.Process)
	}
	if c.generator != nil && c.r.cluster.Ends() {
		all = append(all, c.generator.Processes()...)
	}
	for _, p := range all {
		if !p.Ended() {
			p.Kill()
		}
	}
}

// removeLimit bounds the removal of what the faults left behind.
const removeLimit = time.Minute

// What injectors see of the cell; see faults.Cell.

func (c *cell) Scenario() *spec.Scenario { return c.s }
func (c *cell) Run() string              { return c.r.cellRunID(c.record.ID) }
func (c *cell) Seed() uint64             { return c.record.Seed }
func (c *cell) Dir() string              { return c.dir }
func (c *cell) Setup() *faults.Setup     { return &c.setup }
func (c *cell) API() *party.APIServer    { return c.api }
func (c *cell) Storage() *party.Storage  { return c.storage }
func (c *cell) Proxy() *party.Proxy      { return c.proxy }
func (c *cell) Watcher() *party.Watcher  { return c.watcher }
func (c *cell) Rules() check.Rules       { return c.rules }
func (c *cell) AddCanary(secret string)  { c.canaries = append(c.canaries, secret) }

// Note shows what is done to the parties.
func (c *cell) Note(text string) {
	c.r.progress.note(text)
	c.r.observed.note(text)
}

func (c *cell) Others() []*party.Watcher { return slices.Clone(c.others) }

// SetWatchers makes main the watcher whose counters are read.
func (c *cell) SetWatchers(main *party.Watcher, others []*party.Watcher) {
	if former := c.watcher; former != nil && former != main && former.Ended() && c.sampler != nil {
		c.sampler.ended(former, former.CPU())
	}
	c.watcher, c.others = main, others
	c.live.Store(main)
	c.record.Watcher.Command = main.Argv
	// The requests of two watchers cannot be told apart by the account of one.
	c.record.Watcher.Joined = c.record.Watcher.Joined || len(others) > 0 && !c.s.Watcher.LeaderElection
}

// Mark notes when something was done; the start and readiness of a watcher are its own,
// and every start after the first is a restart.
func (c *cell) Mark(m history.Mark) {
	if m.Time == 0 {
		m.Time = time.Now().UnixNano()
	}
	switch m.What {
	case history.MarkStarted:
		if c.record.Watcher.Started != 0 {
			c.record.Watcher.Restarts++
		}
		c.record.Watcher.Started = m.Time
	case history.MarkReady:
		c.record.Watcher.Ready = m.Time
	}
	c.marks = append(c.marks, m)
}

// Launch starts a watcher without waiting for its first lists.
func (c *cell) Launch(ctx context.Context, queues int) (*party.Watcher, error) {
	w, err := party.StartWatcher(ctx, c.watcherSetup(queues))
	if err == nil {
		c.all = append(c.all, w)
	}
	return w, err
}

// watcherSetup is what the next watcher is started with.
func (c *cell) watcherSetup(queues int) party.WatcherSetup {
	w := c.s.Watcher
	if queues > 0 {
		w.PodQueueNum = queues
	}
	c.launched++
	name := party.WatcherName
	if c.launched > 1 {
		name += "-" + strconv.Itoa(c.launched)
	}
	setup := party.WatcherSetup{
		Bin: c.r.opts.Binaries.Watcher, Name: name, Cell: c.dir, Logs: c.logs, Kubeconfig: c.kubeconfig(),
		Endpoints: c.storage.Endpoints, Ignore: c.ignore, Spec: w, Kinds: c.s.Kinds(), Customs: c.setup.Customs, Listed: c.setup.Listed, Masks: c.rules.Masks,
		Conditional: c.s.Storage.Mode == check.ModeConditional, CAFile: c.setup.CAFile, Patience: c.patience(0), Profiled: c.r.opts.Profile, CPUs: c.r.opts.Pinned.Watcher,
		Asked: &c.asked,
	}
	if c.launched == 1 {
		setup.Serving = c.serving
	}
	if n := c.s.Load.Shards; n > 0 {
		setup.Selectors = map[string]string{"Pod": fmt.Sprintf("%s=%d", party.ShardLabel, (c.launched-1)%n)}
	}
	if w.LeaderElection {
		setup.Lease = faults.Lease(c.Run())
		// Each replica has an instance of storage of its own, so that the ledger tells
		// who wrote.
		i := (c.launched - 1) % len(c.storage.Endpoints)
		setup.Endpoints, setup.Instance = c.storage.Endpoints[i:i+1], i
	}
	return setup
}

// kubeconfig is the watcher's way to the apiserver.
func (c *cell) kubeconfig() string {
	switch {
	case c.setup.Kubeconfig != "":
		return c.setup.Kubeconfig
	case c.proxy != nil && (c.launched == 1 || !c.s.Watch.Leader):
		return c.proxy.Kubeconfig
	}
	return c.apiserver()
}

// apiserver is the way to the apiserver itself.
func (c *cell) apiserver() string {
	if c.s.Simulated() {
		return party.SimulatedKubeconfig(c.dir)
	}
	return c.r.cluster.Kubeconfig
}

// Begin starts the watcher that is judged and waits for its first lists.
func (c *cell) Begin(ctx context.Context, queues int) error {
	c.Mark(history.Mark{What: history.MarkStarted})
	w, err := c.Launch(ctx, queues)
	if err != nil {
		return err
	}
	c.SetWatchers(w, c.others)
	if err := w.AwaitReady(ctx); err != nil {
		return err
	}
	c.Mark(history.Mark{What: history.MarkReady})
	return nil
}

// Spawn starts the watcher that is judged, in the place of one that has ended, and waits
// for nothing.
func (c *cell) Spawn(_ context.Context) error {
	c.Mark(history.Mark{What: history.MarkStarted})
	w, err := party.SpawnWatcher(c.watcherSetup(0))
	if err != nil {
		return err
	}
	c.all = append(c.all, w)
	c.SetWatchers(w, c.others)
	return nil
}

// Resumed reads the counters of a watcher that took the place of the first as those from
// which the figures begin.
func (c *cell) Resumed(ctx context.Context) error {
	return c.readMetrics(ctx, &c.before)
}

// readMetrics keeps the watcher's metrics; another watcher may have none.
func (c *cell) readMetrics(ctx context.Context, into *[]byte) error {
	text, _, err := c.watcher.Metrics(ctx)
	if err == nil {
		*into = text
	} else if c.watcher.Own {
		return c.watcher.Lost(ctx, err)
	}
	return nil
}
