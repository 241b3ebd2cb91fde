package runner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/loadgen/replay"
	"github.com/watchbench/watchbench/loadgen/watchfault"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/party"
)

// prepare starts everything, up to the generator's ready line and the watcher's first complete lists.
func (c *cell) prepare(ctx context.Context) (err error) {
	if c.length, err = c.loadLength(); err != nil {
		return err
	}
	if c.pods != nil {
		if err := c.pods.WriteKubeconfig(); err != nil {
			return err
		}
	}
	setup := party.GeneratorSetup{
		Bins: c.r.opts.Binaries, Driver: c.s.Load.Driver, Logs: c.logs, Cell: c.dir,
		Plan: c.s.Load.Plan(c.Run(), c.record.Seed), Shards: c.s.Load.Shards, Kubeconfig: c.within(), Pods: c.pods,
	}
	if c.s.Simulated() { // it is the apiserver, too
		setup.Simulate, setup.Speed, setup.Trace = true, c.s.Speed(), c.s.Cluster.Replay.Trace
		if c.generator, err = party.StartGenerator(setup); err != nil {
			return err
		}
		if err := c.generator.Reached(ctx, party.PhasePrepare, party.PrepareLimit, nil); err != nil {
			return err
		}
	}
	if err := c.prepareSides(ctx); err != nil {
		return err
	}
	if c.generator == nil {
		if c.generator, err = party.StartGenerator(setup); err != nil {
			return err
		}
	}
	generatorReady := func(ctx context.Context) error {
		return c.generator.Reached(ctx, party.PhaseReady, c.patience(party.PrepareLimit), nil)
	}
	// With objects to begin with, the watcher's first lists are to have them all; so they are with a watcher that cannot
	// say when its lists are complete: what was written before it had them would count as lost. So they are in a cluster,
	// where it may start while the first objects are written, and merge states that wait for its record of kinds.
	if c.s.Load.Prefill > 0 || c.s.Load.Profile != "" || c.s.Traced() || c.s.Watcher.Command != "" || c.pods != nil {
		if err := generatorReady(ctx); err != nil {
			return err
		}
	}
	faults, watchers := func(ctx context.Context) error { return c.faults.Prepare(ctx, c) }, c.beginWatchers
	if c.s.Watcher.Divided() {
		watchers = c.beginDivided
	}
	if err := inTurn(ctx, faults, watchers, generatorReady, c.startWitness); err != nil {
		return err
	}
	first, err := c.settle(ctx, c.patience(party.SyncLimit))
	if err == nil && first.mute {
		err = &party.TimeoutError{What: "the watcher's first write to storage", After: party.SyncLimit, Log: c.watcher.Log}
	}
	if err != nil {
		return err
	}
	return c.readers.Connect(ctx) // once the watcher holds everything
}

// inTurn takes the steps one after another, until one fails.
func inTurn(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// beginWatchers starts one watcher and, once it is ready, others beside it.
func (c *cell) beginWatchers(ctx context.Context) error {
	if err := c.Begin(ctx, 0); err != nil {
		return err
	}
	c.firstSync(ctx)
	return inTurn(ctx, c.stored, c.startReplicas)
}

// beginDivided starts all replicas at once, so that none lists what others are to have.
func (c *cell) beginDivided(ctx context.Context) error {
	c.Mark(history.Mark{What: history.MarkStarted})
	for range c.s.Watcher.Replicas {
		if _, err := c.spawn(); err != nil {
			return err
		}
		c.SetWatchers(c.all[0], c.all[1:])
	}
	if err := c.Divided(ctx); err != nil {
		return err
	}
	c.Mark(history.Mark{What: history.MarkReady})
	c.firstSync(ctx)
	return nil
}

// stored waits until storage has what existed before the watcher, and notes when, and what the watcher had used.
func (c *cell) stored(ctx context.Context) error {
	if c.s.Load.Prefill == 0 || c.s.Fault != nil || c.s.Watcher.Replicas > 1 {
		return nil // of several watchers none has all, and faults may keep storage from it
	}
	d := drainWait{watcher: c.watcher, metrics: c.metrics, storage: c.storage}
	var all float64
	for deadline := time.Now().Add(c.patience(storedLimit)); time.Now().Before(deadline); {
		changes, busy, err := d.traffic(ctx)
		if err != nil {
			return err
		}
		if !busy && changes == all && changes >= float64(c.s.Load.Prefill) {
			c.record.Watcher.Stored = c.now().UnixNano()
			c.record.Watcher.StoredCPU = c.cpuSoFar(ctx)
			return nil
		}
		all = changes
		if err := lifecycle.Pause(ctx, drainPoll); err != nil {
			return err
		}
	}
	return nil
}

// storedLimit is patience with few objects; what is not in storage then is for settle to find.
const storedLimit = 30 * time.Second

// loadLength is how long the load takes at speed 1x. All of a trace is read for that, so not
// while anything is measured.
func (c *cell) loadLength() (time.Duration, error) {
	if !c.s.Traced() {
		return c.s.Load.Duration.Std(), nil
	}
	_, length, err := replay.Extent(c.s.Cluster.Replay.Trace)
	if err != nil {
		return 0, fmt.Errorf("read the trace: %w", err)
	}
	return length, nil
}

// settle waits until storage has what the apiserver holds: nothing of what was before
// is to be under way when the load begins.
func (c *cell) settle(ctx context.Context, limit time.Duration) (drained, error) {
	want, err := c.APIState(ctx)
	if err != nil {
		return drained{}, err
	}
	d := drainWait{watcher: c.watcher, metrics: c.metrics, storage: c.storage, want: want, rules: c.rules}
	return d.wait(ctx, time.Now().Add(limit))
}

// warmUp sends the warm-up and waits for its end in storage, before any figure begins.
func (c *cell) warmUp(ctx context.Context) error {
	if err := c.generator.Tell("go"); err != nil {
		return err
	}
	n := c.s.Load.Warmup.Operations
	if err := c.generator.Reached(ctx, party.PhaseWarmed, allowance(n)+loadSlack, nil); err != nil {
		return err
	}
	limit := allowance(n) + party.SyncLimit
	end, err := c.settle(ctx, limit)
	if err == nil && end.cut {
		err = fmt.Errorf("after %s the watcher still sends what the warm-up changed", limit)
	}
	return err
}

// allowance is how long so many writes may take: at ten a second a cluster is as good as down.
func allowance(n int64) time.Duration { return time.Duration(n) * time.Second / 10 }

// prepareSides starts storage and what stands before the apiserver, and finds out what is to be copied.
func (c *cell) prepareSides(ctx context.Context) (err error) {
	if err := c.faults.Arrange(c); err != nil {
		return err
	}
	c.storage, err = party.StartStorage(ctx, party.StorageSetup{
		Bin: c.r.opts.Binaries.Storage, Logs: c.logs, Cell: c.dir, Spec: c.s.Storage, Seed: c.record.Seed, TLS: c.setup.TLS,
		Pods: c.pods,
	})
	if err == nil {
		err = c.readClock(ctx)
	}
	if err != nil {
		return err
	}
	if err := c.startReaders(ctx); err != nil {
		return err
	}
	if len(c.s.Watch.Faults) > 0 {
		c.proxy, err = party.StartProxy(ctx, party.ProxySetup{
			Bench: c.bench(), Kubeconfig: c.apiserver(), ProxyConfig: watchfault.ProxyConfig{
				Faults: c.s.Watch.FaultText(), Hold: !c.s.Watch.AtStart, Seed: c.record.Seed, OwnRights: c.setup.OwnRights,
			},
		})
		if err != nil {
			return err
		}
	}
	if c.api, err = party.NewAPIServer(c.apiserver()); err != nil {
		return err
	}
	if err := c.followLeases(ctx); err != nil {
		return err
	}
	// What is there already belongs to others: the watcher leaves it alone. A simulated cluster has no others.
	if !c.s.Simulated() {
		if c.ignore, err = c.api.Namespaces(ctx, ""); err != nil {
			return err
		}
	}
	kinds := c.s.Kinds()
	if party.WatchesNodeLeases(kinds) {
		c.ignore = slices.DeleteFunc(c.ignore, func(ns string) bool { return ns == party.NodeLeases })
	}
	if !slices.Contains(kinds, "Namespace") {
		kinds = append(slices.Clone(kinds), "Namespace") // no list keeps it out (contract §2.6)
	}
	c.record.Kinds = kinds
	c.rules = check.Rules{Kinds: append(slices.Clone(kinds), c.setup.CustomKinds...), IgnoreNamespaces: c.ignore}
	if c.s.Extra.Canaries {
		c.rules.Masks = faults.CanaryMasks
	}
	return nil
}

// firstSync notes what the watcher has used up to its first complete lists.
func (c *cell) firstSync(ctx context.Context) {
	if !c.watcher.Own {
		return
	}
	if cpu := c.cpuSoFar(ctx); cpu != nil {
		w := &c.record.Watcher
		w.FirstSync, w.FirstSyncCPU = new(float64(w.Ready-w.Started)/1e9), cpu
	}
}

// cpuSoFar is the CPU time of the watchers that work, in seconds, nil if it cannot be read.
func (c *cell) cpuSoFar(ctx context.Context) *float64 {
	sum := 0.0
	for _, w := range *c.live.Load() {
		u, ok := w.Use(ctx)
		if !ok {
			return nil
		}
		sum += u.CPUSeconds
	}
	return &sum
}

// startReplicas starts the other replicas beside the first.
func (c *cell) startReplicas(ctx context.Context) error {
	for range c.s.Watcher.Replicas - 1 {
		w, err := c.Launch(ctx, 0)
		if err != nil {
			return err
		}
		c.SetWatchers(c.watcher, append(c.others, w))
		if err := w.AwaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

// load sends the load and follows it.
func (c *cell) load(ctx context.Context) error {
	idle, asked := c.cpuSoFar(ctx), c.asked.Load()
	if err := c.readMetrics(ctx, &c.before); err != nil {
		return err
	}
	if now := c.cpuSoFar(ctx); idle != nil && now != nil {
		c.record.Watcher.AskCPU = new((*now - *idle) / float64(max(1, c.asked.Load()-asked)))
	}
	c.sampler.sample(ctx)
	if err := c.readPods(ctx, func(p *history.Pod) *history.PodState { return &p.Begun }); err != nil {
		return err
	}
	c.cpuBefore, _ = procstat.ReadCPUTime() // unknown elsewhere than on Linux
	c.record.LoadStarted = c.now().UnixNano()
	c.record.FaultsSet = c.record.LoadStarted
	if err := inTurn(ctx, c.setFaults, c.readers.Go, c.generator.Go, c.follow, c.readers.Halt); err != nil {
		return err
	}
	c.record.Planned = c.planned()
	if c.record.LoadFinished = c.generator.Said(party.PhaseLoaded).Finished; c.record.LoadFinished == 0 {
		c.record.LoadFinished = c.now().UnixNano()
	}
	err := c.heal(ctx)
	c.sampler.sample(ctx)
	return err
}

// planned is the number of writes of the plan, 0 where time alone ends it.
func (c *cell) planned() int64 {
	if l := c.s.Load; l.Model == result.ModelClosed {
		if l.Duration > 0 {
			return 0 // whichever comes first; the generator knows
		}
		return l.Operations
	}
	return c.generator.Said(party.PhaseLoad).Planned
}

// loadSlack is added to the time a load should take before it is given up.
const loadSlack = time.Minute

// unlimitedLimit is how long a load may take that goes as fast as the watcher reads.
const unlimitedLimit = 10 * time.Minute

// follow waits for the end of the load and of the timeline, whichever is later. The
// failure of one ends the wait for the other.
func (c *cell) follow(ctx context.Context) error {
	limit := c.s.Speed().Length(c.length)
	if !c.s.Speed().Limited() {
		limit = unlimitedLimit
	}
	limit += allowance(c.s.Load.Operations)
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		return c.generator.Reached(ctx, party.PhaseLoaded, limit+loadSlack, func() {
			c.r.progress.share(c.generator.Said(party.PhaseLoad).Fraction)
		})
	})
	both.Go(func() error { return c.faults.Run(ctx, c, time.Unix(0, c.record.LoadStarted)) })
	return both.Wait()
}

// setFaults puts the faults of storage and watch in force.
func (c *cell) setFaults(ctx context.Context) error {
	c.r.progress.fault(c.faultText())
	if text := c.s.Storage.FaultText(); text != "" {
		if err := c.storage.SetFaults(ctx, text); err != nil {
			return err
		}
	}
	if c.proxy == nil || c.s.Watch.AtStart {
		return nil
	}
	return c.proxy.Begin(ctx)
}

// heal ends the faults and notes how often each fired.
func (c *cell) heal(ctx context.Context) error {
	defer c.r.progress.fault("")
	var err error
	if len(c.s.Storage.Faults) > 0 {
		if c.record.Fired, err = c.storage.Heal(ctx); err != nil {
			return err
		}
	}
	if c.proxy != nil {
		c.record.WatchFired, err = c.proxy.Heal(ctx)
	}
	return err
}

// drain waits until storage has what the apiserver holds, at most to the limit.
func (c *cell) drain(ctx context.Context) error {
	if err := c.hold(ctx); err != nil {
		return err
	}
	want, err := c.APIState(ctx)
	if err != nil {
		return err
	}
	d := drainWait{watcher: c.watcher, metrics: c.metrics, storage: c.storage, want: want, rules: c.rules,
		quiet: c.mending(), idle: c.sampler.sample}
	deadline := time.Now().Add(c.s.DrainTimeout.Std() - c.now().Sub(time.Unix(0, c.record.LoadFinished)))
	if c.drained, err = d.wait(ctx, deadline); err != nil {
		return err
	}
	c.record.DrainEnd, c.record.Cut = c.drained.at+c.skew.Load(), c.drained.cut
	c.sampler.sample(ctx)
	if cpu, err := procstat.ReadCPUTime(); err == nil && c.pods == nil {
		if d := cpu.Since(c.cpuBefore); d.Total > 0 {
			busy := d.Busy / d.Total
			c.record.MachineBusy = &busy
		}
	}
	if err := c.readPods(ctx, func(p *history.Pod) *history.PodState { return &p.Ended }); err != nil {
		return err
	}
	c.record.ScrapeStarted = c.now().UnixNano()
	if err := c.readMetrics(ctx, &c.after); err != nil {
		return err
	}
	c.record.ScrapeFinished = c.now().UnixNano()
	if c.s.Simulated() {
		lists, watches, err := c.api.Seen(ctx)
		if err != nil {
			return err
		}
		c.record.Watcher.Lists, c.record.Watcher.Watches = &lists, &watches
	}
	if err := c.awaitReturn(ctx); err != nil {
		return err
	}
	if len(c.s.Storage.Faults) > 0 {
		m, err := c.storage.Scrape(ctx)
		if err != nil {
			return c.storage.Lost(ctx, err)
		}
		c.record.StorageFaults = party.Whole(m.By(metric.MockFaults, "fault"))
	}
	if c.drained.cut {
		// What is still queued no longer matters; nothing may arrive while the record is read.
		c.watcher.Kill()
		c.Mark(history.Mark{What: history.MarkKilled})
		if c.drained.state, err = c.storage.State(ctx, c.rules); err != nil {
			return err
		}
	} else if err := c.explain(ctx, want, c.drained.state); err != nil {
		return err
	}
	return history.SaveState(c.dir, history.FileState, slices.Values(slices.Concat(want, c.drained.state)))
}

// returnWait is how long after the drain a comparison that is under way may hold goroutines.
const returnWait = 2 * time.Second

// awaitReturn takes the last samples. G7, judged in fault scenarios, judges the very last one.
func (c *cell) awaitReturn(ctx context.Context) error {
	most := matrix.BeforeLoad(c.sampler.taken(), c.record.LoadStarted).Goroutines + matrix.GoroutinesLeft(c.s.Ceilings)
	deadline := time.Now().Add(returnWait)
	for {
		last := c.sampler.read(ctx, true).Goroutines
		if c.s.Fault == nil || last == nil || *last <= most || time.Now().After(deadline) {
			return nil
		}
		if err := lifecycle.Pause(ctx, samplePeriod); err != nil {
			return err
		}
	}
}

// afterMove is how long the new holder of a shard may take until it has compared the rows.
const afterMove = 35 * time.Second

// mending is how long a difference may last: until the synchronizer's next round, or the next try of a watch.
func (c *cell) mending() time.Duration {
	wait := time.Duration(0)
	if _, moved := c.leases.latest(); moved && c.s.Watcher.Divided() {
		wait = afterMove
	}
	if c.s.Fault == nil {
		return wait
	}
	if sync := c.s.Watcher.Synchronizer; !sync.Disabled && sync.Period > 0 {
		wait = max(wait, 2*sync.Period.Std()+time.Second)
	}
	if check := c.s.Watcher.CacheCheck; check.Period > 0 {
		wait = max(wait, 2*check.Period.Std()+check.Grace.Std()+time.Second)
	}
	if c.proxy != nil {
		// A watch that could not be opened is tried again after a growing pause.
		wait = max(wait, c.s.Fault.Recovery.Std())
	}
	return wait
}
