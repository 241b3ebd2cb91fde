package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
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

// cell is one cell under way: the phases over its site.
type cell struct {
	*site
	length time.Duration // of the load at speed 1x

	generator *party.Generator
	witness   *party.Witness // with cluster.controllers
	readers   *party.Readers

	after     []byte           // the watcher's metrics after the drain, as text
	cpuBefore procstat.CPUTime // of the machine as the load began
	drained   drained
	ended     bool
}

func (r *Runner) newCell(j job) *cell {
	c := &cell{site: &site{
		r: r, dir: history.CellDir(r.dir, j.id), logs: r.cellLogs(j.id), s: &j.cell.Scenario, pods: r.podsOf(j.id),
		faults: faults.New(r.opts.Failpoints...),
		record: history.Cell{
			Schema: history.CellSchema, ID: j.id, Repetition: j.rep, Resumed: len(r.results.Run.Resumed),
			Params: map[string]string{}, Scenario: j.cell.Scenario,
			Seed: seedOf(&j), CPUs: runtime.NumCPU(),
			Watcher: history.WatcherRun{Version: r.version, Own: j.cell.Scenario.Watcher.Command == ""},
		},
	}}
	for _, p := range j.cell.Params {
		c.record.Params[p.Name] = p.Value
	}
	return c
}

// seedOf gives all cells of a repetition the same plan and latencies; where the scenario decides, all cells.
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
			stopSampling = c.startSampling(ctx)
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
			return c.lost(ctx, fmt.Errorf("%s: %w", p.name, err))
		}
	}
	// The op log is complete once the generator has ended, and so is the record.
	err = c.tearDown(ctx)
	if err == nil {
		c.record.Generators, err = c.generator.Merge()
	}
	if err != nil || c.lostPod() != "" {
		return c.lost(ctx, err)
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
	further := assess.Options{Baseline: c.r.opts.Baseline, Further: c.faults.Further(), Found: new([]history.Finding)}
	if out, err = assess.Cell(ctx, c.dir, further); err != nil {
		return out, fmt.Errorf("%s: %w", PhaseCheck, err)
	}
	if len(*further.Found) == 0 {
		return out, nil
	}
	return out, history.SaveLines(c.dir, history.FileFindings, *further.Found)
}

func (c *cell) phase(name string) { c.r.progress.phase(name) }

// startSampling samples in the background until the returned function is called,
// which waits for the end of it and may be called again.
func (c *cell) startSampling(ctx context.Context) func() {
	c.sampler = newSampler(func() []metered { return *c.live.Load() }, c.storage)
	c.sampler.work(history.PartyRunner, local(os.Getpid()))
	c.sampler.cluster(c.r.cluster.PIDs)
	for _, p := range c.processes() {
		if p.party != history.PartyWatcher {
			c.sampler.work(p.party, &life{of: p.Process, use: p.Use})
		}
	}
	c.sampler.now, c.sampler.metrics = c.now, c.metrics
	if c.pods != nil {
		c.sampler.period, c.sampler.away = podPeriod, true
	}
	c.sampler.asked = func() float64 { return float64(c.asked.Load()) }
	// A page that shows the watcher, and bounds that a fault puts it to, need what only it knows.
	c.sampler.asks = c.r.opts.Observer != nil || c.s.Fault != nil
	c.sampler.show = c.r.progress.sample
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { c.sampler.run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// tearDown ends what is still running, once; the generator removes its objects, also when ctx was cancelled.
func (c *cell) tearDown(ctx context.Context) error {
	if c.ended {
		return nil
	}
	c.ended = true
	c.phase(PhaseTeardown)
	defer context.AfterFunc(lifecycle.Hurry(ctx), c.abandon)()
	all := c.processes()
	stop := func(name string, grace time.Duration) {
		for _, p := range all {
			if p.party == name {
				p.Stop(grace)
			}
		}
	}
	stop(history.PartyReaders, party.StorageGrace) // before the watcher, which would wait for them
	grace := party.WatcherGrace + c.s.Watcher.DrainTimeout.Std()
	for _, w := range append(slices.Clone(c.others), c.watcher) {
		if w != nil {
			w.Stop(grace)
		}
	}
	c.leases.close()
	stop(history.PartyProxy, party.StorageGrace)
	err := c.release()
	remove, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	err = errors.Join(err, c.faults.Remove(remove, c))
	if c.generator != nil {
		err = errors.Join(err, c.generator.End(ctx))
	}
	stop(history.PartyStorage, party.StorageGrace)
	return err
}

// process is one of a cell.
type process struct {
	party string
	*party.Process
}

// processes are those that the cell has started.
func (c *cell) processes() (all []process) {
	for _, w := range c.all {
		all = append(all, process{history.PartyWatcher, w.Process})
	}
	if c.storage != nil {
		all = append(all, process{history.PartyStorage, c.storage.Process})
	}
	if c.generator != nil {
		for i, p := range c.generator.Parts {
			all = append(all, process{history.PartyGenerator, p})
			if i > 0 {
				all[len(all)-1].party += fmt.Sprint("-", i+1)
			}
		}
	}
	if c.proxy != nil {
		all = append(all, process{history.PartyProxy, c.proxy.Process})
	}
	if c.witness != nil {
		all = append(all, process{history.PartyWitness, c.witness.Process})
	}
	if c.readers != nil {
		all = append(all, process{history.PartyReaders, c.readers.Process})
	}
	return all
}

// abandon kills what has nothing to clean up; the generator has, unless its objects go away with the cluster.
func (c *cell) abandon() {
	for _, p := range c.processes() {
		if !p.Ended() && (c.r.cluster.Ends() || !strings.HasPrefix(p.party, history.PartyGenerator)) {
			p.Kill()
		}
	}
}

// removeLimit bounds the removal of what the faults left behind.
const removeLimit = time.Minute
