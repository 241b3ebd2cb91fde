package runner

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
)

// collect saves the rest of the evidence.
func (c *cellRun) collect(ctx context.Context) error {
	if c.account != nil {
		if err := c.account.examine(ctx); err != nil {
			return err
		}
	}
	if err := c.mock.saveLedger(ctx, filepath.Join(c.dir, history.FileLedger)); err != nil {
		return err
	}
	meta := check.Meta{
		Cell: c.id, Strategy: c.s.Watcher.Strategy, Mode: c.s.Storage.Mode, QueueFull: c.s.Watcher.QueueFull,
		Cut: c.drained.cut, Rules: c.rules, WatcherReady: c.ready.UnixNano(),
		LoadStarted: c.loadStarted, LoadFinished: c.loadFinished, Until: c.scraped[1].UnixNano(),
		Counters:       counters(c.after, c.scraped[0], c.scraped[1]),
		StorageTimeout: int64(c.s.Watcher.StorageTimeout), Canaries: c.canaries,
	}
	if sync := c.s.Watcher.Synchronizer; !sync.Disabled {
		meta.SyncPeriod = int64(cmp.Or(sync.Period.Std(), defaultSyncPeriod))
	}
	if !c.watcher.own {
		meta.QueueFull = ""
	}
	if c.joined {
		// The requests of two watchers cannot be told apart by the account of one.
		meta.Counters, meta.QueueFull = nil, ""
	}
	c.meta = meta
	if err := check.SaveMeta(c.dir, meta); err != nil {
		return err
	}
	if err := c.capture(ctx); err != nil {
		return err
	}
	if err := history.SaveMarks(c.dir, c.marks); err != nil {
		return err
	}
	return history.SaveSamples(c.dir, c.sampler.taken())
}

// defaultSyncPeriod is the watcher's own, where a scenario names none.
const defaultSyncPeriod = 5 * time.Minute

// profileLegacy is the profile by the original's rules.
const profileLegacy = "legacy"

// figures computes the cell's entry of results.json from what was saved.
func (c *cellRun) figures() (result.Cell, error) {
	h, err := check.Load(c.dir)
	if err != nil {
		return result.Cell{}, err
	}
	ops, err := gather(h.Ops)
	if err != nil {
		return result.Cell{}, err
	}
	entries, err := gather(h.Ledger)
	if err != nil {
		return result.Cell{}, err
	}
	w := c.s.Largest()
	e := measure.Evidence{
		Kind: podKind, Ops: ops, Ledger: entries, Samples: c.sampler.taken(),
		Before: c.before, After: c.after, DrainEnd: c.drained.at, Cut: c.drained.cut, Restarts: c.restarts,
		Plan: measure.LoadPlan{Model: c.s.Load.Model, Threads: c.s.Load.Threads, Rate: c.s.Load.Rate, Planned: c.planned()},
		Storage: measure.StorageConfig{
			Latency: c.s.Storage.Latency, MeanMs: float64(c.s.Storage.MeanLatency(podKind)) / 1e6, Capacity: c.s.Storage.Capacity.Inflight, Rate: c.s.Storage.Capacity.Rate,
		},
		Watcher: measure.WatcherConfig{
			Strategy: w.Strategy, Queues: 1, Senders: w.Concurrency(), WriterCap: w.WriterQueueLen, HandlerCap: w.HandlerQueueLen,
			Command: c.watcher.argv, Version: c.r.version,
		},
		Rules: measure.Rules{
			LagMs: float64(c.s.Limits.Lag.Std()) / 1e6, MinEvents: float64(c.s.Limits.MinEvents), MinOffered: float64(c.s.Limits.MinOffered),
		},
		CPUs:   runtime.NumCPU(),
		Faults: c.faults, WantFaults: c.s.Storage.FaultNames(),
	}
	if c.syncCPU != nil {
		took := c.ready.Sub(c.started).Seconds()
		e.Watcher.FirstSync, e.Watcher.FirstSyncCPU = &took, c.syncCPU
	}
	if w.Strategy == "partitioned" {
		e.Watcher.Queues = w.PodQueueNum
	}
	if !c.watcher.own {
		// Its inner queues and senders are its own affair.
		e.Watcher = measure.WatcherConfig{Strategy: "external", Command: c.watcher.argv}
	}
	if b := c.s.Load.Bystander; b != nil {
		e.BystanderKind = b.Kind
	}
	if d := c.cpuAfter.Since(c.cpuBefore); d.Total > 0 {
		busy := d.Busy / d.Total
		e.MachineBusy = &busy
	}
	if w.Profile == profileLegacy {
		e.Watcher.Strategy = profileLegacy
	}
	cell, err := measure.Cell(e)
	if err != nil {
		return cell, err
	}
	cell.Watcher.Restarts = c.restarts
	if err := c.bound(ops, entries, &cell); err != nil {
		return cell, err
	}
	cell.ID, cell.Repetition, cell.Params = c.id, c.rep, map[string]string{}
	for _, p := range c.cell.Params {
		cell.Params[p.Name] = p.Value
	}
	if code := c.watcher.exitCode(); c.watcher.ended() && !c.drained.cut {
		cell.Watcher.ExitCode = &code
	}
	return cell, nil
}

// planned is the number of writes of the plan, 0 where time alone ends it.
func (c *cellRun) planned() int64 {
	if c.s.Load.Model == result.ModelClosed {
		if c.s.Load.Duration > 0 {
			return 0 // whichever comes first; the generator knows
		}
		return c.s.Load.Operations
	}
	return c.generator.said(phaseLoad).Planned
}
