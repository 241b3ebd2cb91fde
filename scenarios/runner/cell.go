package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
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
	watcherGrace = 2 * time.Second // beyond its own drain limit
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
	before, after history.Scrape
	scraped       [2]time.Time // start and end of the last scrape
	loadStarted   int64
	loadFinished  int64
	cpuBefore     procstat.CPUTime
	cpuAfter      procstat.CPUTime
	drained       drained
	faults        map[string]int64 // how often each fired
	marks         []history.Mark
	ended         bool

	// What is done to the parties beside the load.
	proxy        *proxy
	certs        *certs
	account      *account // of the watcher, where its token is replaced
	setbacks     []setback
	live         atomic.Pointer[watcher] // c.watcher, for the sampler
	others       []*watcher              // replicas, and a second watcher
	joined       bool                    // a second one worked beside the first
	launched     int
	restarts     int
	extra        []string // namespaces, to be deleted
	canaries     []string
	customs      *customs // nil where no event concerns custom resources
	recreated    []recreated
	terminations []termination
	takeOvers    []takeOver
	catchUps     []time.Duration
	resizes      []int64 // when they were asked for
	timeline     *timeline
	refusal      string // last words of a watcher that refused storage
	faultsSet    int64
	lastEvent    int64
	meta         check.Meta
	evidence     evidence
	fired        []firing // of faults in storage and on the watch
}

// run goes through all phases and returns the cell's figures and verdicts. Whatever
// it started has ended when it returns.
func (c *cellRun) run(ctx context.Context) (cell result.Cell, err error) {
	for _, dir := range []string{c.dir, c.logs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return cell, fmt.Errorf("make the cell's folder: %w", err)
		}
	}
	if f := c.s.Fault; f != nil && f.Refused {
		defer func() { err = errors.Join(err, c.tearDown(ctx)) }()
		return c.runRefused(ctx)
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
	c.robustness(&cell)
	return cell, nil
}

// prepare starts everything: the mock, the generator up to its ready line, and
// the watcher up to its first complete lists. The last two need not wait for each
// other.
func (c *cellRun) prepare(ctx context.Context) error {
	var err error
	if err := c.prepareSides(ctx); err != nil {
		return err
	}
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
	if err := c.createExtra(ctx); err != nil {
		return err
	}
	if c.s.HasEvent(spec.EventRotateToken) {
		if err := c.createAccount(ctx); err != nil {
			return err
		}
	}
	if err := c.begin(ctx, 0); err != nil {
		return err
	}
	c.firstSync()
	if err := c.startReplicas(ctx); err != nil {
		return err
	}
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

// prepareSides starts storage and what stands before the apiserver, and finds out
// what is to be copied.
func (c *cellRun) prepareSides(ctx context.Context) (err error) {
	if kind := c.s.Storage.TLS; kind != "" {
		if c.certs, err = makeCerts(c.dir, kind); err != nil {
			return err
		}
	}
	c.mock, err = startMock(ctx, mockSetup{
		bin: c.r.opts.Binaries.Storage, logs: c.logs, cell: c.dir, spec: c.s.Storage, seed: c.seed(), certs: c.certs,
		life: 1, listen: "127.0.0.1:0", admin: "127.0.0.1:0",
	})
	if err != nil {
		return err
	}
	if len(c.s.Watch.Faults) > 0 {
		c.proxy, err = startProxy(ctx, proxySetup{
			bin: c.r.opts.Binaries.Proxy, logs: c.logs, cell: c.dir, kubeconfig: c.r.cluster.Kubeconfig, spec: c.s.Watch, seed: c.seed(),
			ownRights: c.s.HasEvent(spec.EventRotateToken),
		})
		if err != nil {
			return err
		}
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
	if c.s.HasCustoms() {
		c.customs = newCustoms(c.api, c.r.cellRunID(c.id), c.extraNamespace(0))
		c.rules.Kinds = append(slices.Clone(c.kinds), customKinds(c.s.Definitions())...)
	}
	if c.s.Extra.Canaries {
		c.rules.Masks = canaryMasks
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
	c.markNote(what, "")
}

func (c *cellRun) markNote(what, note string) {
	c.marks = append(c.marks, history.Mark{Time: time.Now().UnixNano(), What: what, Note: note})
}

// startSampling samples in the background until the returned function is called,
// which waits for the end of it and may be called again.
func (c *cellRun) startSampling(ctx context.Context) func() {
	c.sampler = newSampler(pidsOf(c.r.cluster.PIDs, c.watcher, c.mock, c.generator), c.live.Load, c.mock)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { c.sampler.run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

func (c *cellRun) scrapeWatcher(ctx context.Context) (history.Scrape, error) {
	c.scraped[0] = time.Now()
	s, err := c.watcher.scrape(ctx)
	c.scraped[1] = time.Now()
	if err != nil && c.watcher.own {
		return nil, lost(ctx, c.watcher.process, err)
	}
	return s, nil
}

// apiState reads the apiserver's side in the namespaces of the run.
func (c *cellRun) apiState(ctx context.Context) ([]history.StateRecord, error) {
	namespaces, err := c.api.namespaces(ctx, runLabel+"="+c.r.cellRunID(c.id))
	if err != nil {
		return nil, err
	}
	state, err := c.api.state(ctx, c.kinds, namespaces, c.rules)
	if err != nil || c.customs == nil {
		return state, err
	}
	customs, err := c.customs.state(ctx, c.rules)
	return append(state, customs...), err
}

func writeState(dir string, sides ...[]history.StateRecord) error {
	w, err := history.CreateState(dir)
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
	grace := watcherGrace + c.s.Watcher.DrainTimeout.Std()
	for _, w := range append(slices.Clone(c.others), c.watcher) {
		if w != nil && !w.ended() {
			w.stop(grace)
		}
	}
	if c.proxy != nil && !c.proxy.ended() {
		c.proxy.stop(mockGrace)
	}
	err := c.removeExtra(ctx)
	if c.generator != nil {
		if ctx.Err() != nil {
			c.generator.stop(teardownLimit)
		} else {
			err = errors.Join(err, c.generator.end(ctx))
		}
	}
	if c.mock != nil && !c.mock.ended() {
		c.mock.stop(mockGrace)
	}
	return err
}
