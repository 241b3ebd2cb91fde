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
	record := &history.Cell{
		ID: c.id, Repetition: c.rep, Params: map[string]string{}, Scenario: c.s, CPUs: runtime.NumCPU(),
		Watcher: history.WatcherRun{Command: c.watcher.argv, Version: c.r.version, Own: c.watcher.own, Restarts: c.restarts},
		Planned: c.planned(), DrainEnd: c.drained.at, Cut: c.drained.cut, StorageFaults: c.faults,
	}
	for _, p := range c.cell.Params {
		record.Params[p.Name] = p.Value
	}
	if c.syncCPU != nil {
		took := c.ready.Sub(c.started).Seconds()
		record.Watcher.FirstSync, record.Watcher.FirstSyncCPU = &took, c.syncCPU
	}
	if d := c.cpuAfter.Since(c.cpuBefore); d.Total > 0 {
		busy := d.Busy / d.Total
		record.MachineBusy = &busy
	}
	if code := c.watcher.exitCode(); c.watcher.ended() {
		record.Watcher.ExitCode = &code
	}
	f := measure.New(record, c.before, c.after, c.sampler.taken())
	for i := range ops {
		f.Operation(&ops[i])
	}
	for i := range entries {
		f.Request(&entries[i])
	}
	changes := check.Changes(ops, entries)
	cell, err := f.Cell(changes)
	if err != nil {
		return cell, err
	}
	c.evidence = evidence{ops, entries, changes}
	if err := c.bound(&cell); err != nil {
		return cell, err
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
