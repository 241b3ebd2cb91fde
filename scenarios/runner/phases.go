package runner

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/internal/procstat"
	"github.com/watchbench/watchbench/scenarios/history"
)

// load sends the load and follows it.
func (c *cellRun) load(ctx context.Context) error {
	c.r.progress.phase(PhaseLoad)
	var err error
	if c.before, err = c.scrapeWatcher(ctx); err != nil {
		return err
	}
	c.cpuBefore, _ = procstat.ReadCPUTime() // unknown elsewhere than on Linux
	c.loadStarted = time.Now().UnixNano()
	c.faultsSet = c.loadStarted
	if err := c.misbehave(ctx); err != nil {
		return err
	}
	if err := c.generator.tell("go"); err != nil {
		return err
	}
	c.timeline = c.newTimeline()
	if err := c.follow(ctx); err != nil {
		return err
	}
	if c.loadFinished = c.generator.said(phaseLoaded).Finished; c.loadFinished == 0 {
		c.loadFinished = time.Now().UnixNano()
	}
	return c.heal(ctx)
}

// follow waits for the end of the load and of the timeline, whichever is later. The
// failure of one ends the wait for the other.
func (c *cellRun) follow(ctx context.Context) error {
	limit := c.s.Load.Duration.Std()
	if n := c.s.Load.Operations + c.s.Load.Warmup.Operations; n > 0 {
		limit += time.Duration(n) * time.Second / 10 // ten writes a second: the cluster is as good as down
	}
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error {
		return c.generator.reached(ctx, phaseLoaded, limit+loadSlack, func(l churnLine) {
			if l.Phase == phaseLoad {
				c.r.progress.share(l.Fraction)
			}
		})
	})
	both.Go(func() error { return c.timeline.run(ctx, time.Unix(0, c.loadStarted)) })
	return both.Wait()
}

// misbehave puts the faults in force.
func (c *cellRun) misbehave(ctx context.Context) error {
	if faults := c.s.Storage.FaultText(); faults != "" {
		if err := c.mock.setFaults(ctx, faults); err != nil {
			return err
		}
	}
	if c.proxy == nil || c.s.Watch.AtStart {
		return nil
	}
	return c.proxy.begin(ctx)
}

// heal ends the faults and notes how often each fired.
func (c *cellRun) heal(ctx context.Context) error {
	if len(c.s.Storage.Faults) > 0 {
		fired, err := faultsOf(ctx, c.mock.http, c.mock.admin)
		if err != nil {
			return err
		}
		c.fired = append(c.fired, fired...)
		if err := c.mock.setFaults(ctx, ""); err != nil {
			return err
		}
	}
	if c.proxy != nil {
		fired, err := c.proxy.heal(ctx)
		if err != nil {
			return err
		}
		c.fired = append(c.fired, fired...)
		if c.account != nil {
			c.account.endedAfter = c.watchesEnded(fired) - c.account.ended
		}
	}
	return nil
}

// watchesEnded is how many watches the proxy has ended.
func (c *cellRun) watchesEnded(fired []firing) (n int64) {
	for _, s := range c.s.Watch.FaultSpecs() {
		for _, f := range fired {
			if f.Name == s.Name && s.EndsWatches() {
				n += f.Fired
			}
		}
	}
	return n
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
	d := drainWait{watcher: c.watcher, mock: c.mock, want: want, rules: c.rules, quiet: c.mending(), step: func(queued *float64) {
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
	if err := c.awaitReturn(ctx); err != nil {
		return err
	}
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
		c.mark(history.MarkKilled)
		if c.drained.state, err = c.mock.state(ctx, c.rules); err != nil {
			return err
		}
	}
	return writeState(c.dir, want, c.drained.state)
}

// returnWait is how long after the drain the goroutines may take to return to the
// baseline: a comparison with storage that happens to be under way has some of its own.
const returnWait = 2 * time.Second

// awaitReturn takes the last samples. G7 judges the very last one.
func (c *cellRun) awaitReturn(ctx context.Context) error {
	deadline := time.Now().Add(returnWait)
	for {
		c.sampler.sample(ctx)
		before, last := c.baseline().goroutines, c.sampler.latest()
		if last == nil || *last <= before+c.goroutinesLeft() || time.Now().After(deadline) {
			return nil
		}
		if err := pause(ctx, samplePeriod); err != nil {
			return err
		}
	}
}

// mending is how long a difference may last although nothing happens: until the
// synchronizer's next round, where a scenario asks for it, or the next try of a watch.
func (c *cellRun) mending() time.Duration {
	if c.s.Fault == nil {
		return 0
	}
	wait := time.Duration(0)
	if sync := c.s.Watcher.Synchronizer; !sync.Disabled && sync.Period > 0 {
		wait = 2*sync.Period.Std() + time.Second
	}
	if c.proxy != nil {
		// A watch that could not be opened is tried again after a growing pause.
		wait = max(wait, c.s.Fault.Recovery.Std())
	}
	return wait
}
