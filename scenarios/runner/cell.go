package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Phases of a cell, as progress shows them.
const (
	PhasePrepare  = "prepare"
	PhaseLoad     = "load"
	PhaseDrain    = "drain"
	PhaseCheck    = "check"
	PhaseTeardown = "tear down"
)

// Graces for ending the children of a cell.
const (
	watcherGrace = 3 * time.Second // its own drain limit is 1 s
	mockGrace    = 3 * time.Second
	syncLimit    = 2 * time.Minute // until the watcher has its first lists
)

// cellRun is one cell under way.
type cellRun struct {
	r    *run
	cell spec.Cell
	id   string // of the cell, with its repetition
	rep  int
	s    spec.Scenario
	dir  string // cells/<id>
	logs string // logs/<id>

	api       *apiserver
	mock      *mock
	watcher   *watcher
	generator *generator
	sampler   *sampler

	kinds         []string // what the watcher copies
	rules         check.Rules
	ignore        []string
	started       time.Time // of the watcher
	ready         time.Time
	syncCPU       *float64 // seconds until it was ready
	before, after measure.Scrape
	scraped       [2]time.Time // start and end of the last scrape
	loadStarted   int64
	loadFinished  int64
	cpuBefore     procstat.CPUTime
	cpuAfter      procstat.CPUTime
	drained       drained
	faults        map[string]int64 // how often each fired
	marks         []check.Mark
	ended         bool
}

// run goes through all phases and returns the cell's figures and verdicts. Whatever
// it started has ended when it returns.
func (c *cellRun) run(ctx context.Context) (cell result.Cell, err error) {
	for _, dir := range []string{c.dir, c.logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return cell, fmt.Errorf("make the cell's folder: %w", err)
		}
	}
	stopSampling := func() {}
	defer func() {
		stopSampling()
		err = errors.Join(err, c.tearDown(ctx))
	}()
	c.r.progress.phase(PhasePrepare)
	if err := c.prepare(ctx); err != nil {
		return cell, fmt.Errorf("%s: %w", PhasePrepare, err)
	}
	stopSampling = c.startSampling(ctx)
	if err := c.load(ctx); err != nil {
		return cell, fmt.Errorf("%s: %w", PhaseLoad, err)
	}
	if err := c.drain(ctx); err != nil {
		return cell, fmt.Errorf("%s: %w", PhaseDrain, err)
	}
	stopSampling()
	if err := c.collect(ctx); err != nil {
		return cell, fmt.Errorf("collect: %w", err)
	}
	// The op log is complete, and small enough to read, once the generator ended.
	if err := c.tearDown(ctx); err != nil {
		return cell, err
	}
	c.r.progress.phase(PhaseCheck)
	if cell, err = c.figures(); err != nil {
		return cell, fmt.Errorf("measure: %w", err)
	}
	if err := judgeCell(ctx, c.dir, c.s.Expect, cell.Handler.Strategy, &cell); err != nil {
		return cell, fmt.Errorf("%s: %w", PhaseCheck, err)
	}
	return cell, nil
}

// prepare starts everything: the mock, the generator up to its ready line, and
// the watcher up to its first complete lists. The last two need not wait for each
// other.
func (c *cellRun) prepare(ctx context.Context) error {
	var err error
	if c.mock, err = startMock(ctx, c.r.opts.Binaries.Storage, c.logs, c.s.Storage, c.seed()); err != nil {
		return err
	}
	if c.api, err = newAPIServer(c.r.cluster.Kubeconfig); err != nil {
		return err
	}
	// What is there already belongs to others: the watcher leaves it alone.
	if c.ignore, err = c.api.namespaces(ctx, ""); err != nil {
		return err
	}
	c.kinds = c.s.Kinds()
	if !slices.Contains(c.kinds, "Namespace") {
		c.kinds = append(slices.Clone(c.kinds), "Namespace") // no list keeps it out (contract §2.6)
	}
	c.rules = check.Rules{Kinds: c.kinds, IgnoreNamespaces: c.ignore}
	cfg := c.s.Load.Plan(c.r.cellRunID(c.id), c.seed())
	c.generator, err = startChurn(c.r.opts.Binaries.Churn, c.logs, c.dir, c.r.cluster.Kubeconfig, cfg)
	if err != nil {
		return err
	}
	// With objects to begin with, the watcher's first lists are to have them all.
	if c.s.Load.Prefill > 0 {
		if err := c.generator.reached(ctx, phaseReady, prepareLimit, nil); err != nil {
			return err
		}
	}
	c.mark(check.MarkStarted)
	c.started = time.Now()
	c.watcher, err = startWatcher(ctx, watcherSetup{
		bin: c.r.opts.Binaries.Watcher, cell: c.dir, logs: c.logs, kubeconfig: c.r.cluster.Kubeconfig,
		endpoints: c.mock.endpoints, ignore: c.ignore, spec: c.s.Watcher, kinds: c.s.Kinds(),
	})
	if err != nil {
		return err
	}
	if c.watcher.own {
		if err := c.watcher.await(ctx, "the watcher's readiness", 20*time.Millisecond, syncLimit, c.watcher.ready); err != nil {
			return err
		}
	}
	c.ready = time.Now()
	c.firstSync()
	c.mark(check.MarkReady)
	if err := c.generator.reached(ctx, phaseReady, prepareLimit, nil); err != nil {
		return err
	}
	// What the preparation made is to be in storage before the load begins.
	want, err := c.apiState(ctx)
	if err != nil {
		return err
	}
	d := drainWait{watcher: c.watcher, mock: c.mock, want: want, rules: c.rules}
	if _, err := d.wait(ctx, time.Now().Add(syncLimit)); err != nil {
		return err
	}
	return nil
}

// seed is the same for all cells of one repetition, so that they get the same plan.
func (c *cellRun) seed() uint64 { return c.s.Seed + uint64(c.rep-1) }

// firstSync notes what the watcher has used up to its first complete lists.
func (c *cellRun) firstSync() {
	p, err := procstat.Open(c.watcher.pid())
	if err != nil || !c.watcher.own {
		return
	}
	if u, err := p.Usage(); err == nil {
		cpu := u.CPU.Seconds()
		c.syncCPU = &cpu
	}
}

func (c *cellRun) mark(what string) {
	c.marks = append(c.marks, check.Mark{Time: time.Now().UnixNano(), What: what})
}

// startSampling samples in the background until the returned function is called,
// which waits for the end of it and may be called again.
func (c *cellRun) startSampling(ctx context.Context) func() {
	c.sampler = newSampler(pidsOf(c.r.cluster.PIDs, c.watcher, c.mock, c.generator), c.watcher, c.mock)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { c.sampler.run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// load sends the load and follows it.
func (c *cellRun) load(ctx context.Context) error {
	c.r.progress.phase(PhaseLoad)
	var err error
	if c.before, err = c.scrapeWatcher(ctx); err != nil {
		return err
	}
	c.cpuBefore, _ = procstat.ReadCPUTime() // unknown elsewhere than on Linux
	faults := c.s.Storage.FaultText()
	if faults != "" {
		if err := c.mock.setFaults(ctx, faults); err != nil {
			return err
		}
	}
	c.loadStarted = time.Now().UnixNano()
	if err := c.generator.tell("go"); err != nil {
		return err
	}
	limit := c.s.Load.Duration.Std()
	if n := c.s.Load.Operations + c.s.Load.Warmup.Operations; n > 0 {
		limit += time.Duration(n) * time.Second / 10 // ten writes a second: the cluster is as good as down
	}
	err = c.generator.reached(ctx, phaseLoaded, limit+loadSlack, func(l churnLine) {
		if l.Phase == phaseLoad {
			c.r.progress.share(l.Fraction)
		}
	})
	if err != nil {
		return err
	}
	if c.loadFinished = c.generator.said(phaseLoaded).Finished; c.loadFinished == 0 {
		c.loadFinished = time.Now().UnixNano()
	}
	if faults == "" {
		return nil
	}
	return c.mock.setFaults(ctx, "") // heal
}

// loadSlack is added to the time a load should take before it is given up.
const loadSlack = time.Minute

// drain waits until storage has what the apiserver holds, at most to the limit.
func (c *cellRun) drain(ctx context.Context) error {
	c.r.progress.phase(PhaseDrain)
	want, err := c.apiState(ctx)
	if err != nil {
		return err
	}
	most := 0.0
	d := drainWait{watcher: c.watcher, mock: c.mock, want: want, rules: c.rules, step: func(queued *float64) {
		if most = max(most, *queued); most > 0 {
			c.r.progress.share(1 - *queued/most)
		}
	}}
	deadline := time.Unix(0, c.loadFinished).Add(c.s.DrainTimeout.Std())
	if c.drained, err = d.wait(ctx, deadline); err != nil {
		return err
	}
	c.cpuAfter, _ = procstat.ReadCPUTime()
	if c.after, err = c.scrapeWatcher(ctx); err != nil {
		return err
	}
	c.sampler.sample(ctx)
	if len(c.s.Storage.Faults) > 0 {
		m, err := c.mock.scrape(ctx)
		if err != nil {
			return lost(ctx, c.mock.process, err)
		}
		c.faults = whole(m.By(metric.MockFaults, "fault"))
	}
	if c.drained.cut {
		// What waits in the queues is of no more use; nothing may arrive while the
		// record is read.
		c.watcher.kill()
		c.mark(check.MarkKilled)
		if c.drained.state, err = c.mock.state(ctx, c.rules); err != nil {
			return err
		}
	}
	return writeState(c.dir, want, c.drained.state)
}

func (c *cellRun) scrapeWatcher(ctx context.Context) (measure.Scrape, error) {
	c.scraped[0] = time.Now()
	s, err := c.watcher.scrape(ctx)
	c.scraped[1] = time.Now()
	if err != nil && c.watcher.own {
		return nil, lost(ctx, c.watcher.process, err)
	}
	return s, nil
}

// apiState reads the apiserver's side in the namespaces of the run.
func (c *cellRun) apiState(ctx context.Context) ([]check.StateRecord, error) {
	namespaces, err := c.api.namespaces(ctx, runLabel+"="+c.r.cellRunID(c.id))
	if err != nil {
		return nil, err
	}
	return c.api.state(ctx, c.kinds, namespaces, c.rules)
}

func writeState(dir string, sides ...[]check.StateRecord) error {
	w, err := check.CreateState(dir)
	if err != nil {
		return fmt.Errorf("save the final states: %w", err)
	}
	for _, side := range sides {
		for _, rec := range side {
			if err := w.Write(rec); err != nil {
				return errors.Join(fmt.Errorf("save the final states: %w", err), w.Close())
			}
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("save the final states: %w", err)
	}
	return nil
}

// tearDown ends what is still running. The generator removes the objects it made,
// also when ctx was cancelled. Calling it again has no effect.
func (c *cellRun) tearDown(ctx context.Context) error {
	if c.ended {
		return nil
	}
	c.ended = true
	c.r.progress.phase(PhaseTeardown)
	if c.watcher != nil && !c.watcher.ended() {
		c.watcher.stop(watcherGrace)
	}
	var err error
	if c.generator != nil {
		if ctx.Err() != nil {
			c.generator.stop(teardownLimit)
		} else {
			err = c.generator.end(ctx)
		}
	}
	if c.mock != nil && !c.mock.ended() {
		c.mock.stop(mockGrace)
	}
	return err
}
