package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/loadgen/watchfault"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// defaultSyncPeriod is the watcher's own, where a scenario names none.
const defaultSyncPeriod = 5 * time.Minute

// collect saves the rest of the record while the parties still run; cell.json follows when they have ended.
func (c *cell) collect(ctx context.Context) error {
	finish := func(ctx context.Context) error { return c.faults.Finish(ctx, c) }
	err := inTurn(ctx, finish, c.readers.End, c.saveLedger, c.saveFormer, c.saveMetrics, c.saveMeta, c.capture)
	if err != nil {
		return err
	}
	deeds, err := c.faults.Deeds()
	if err != nil {
		return err
	}
	return errors.Join(
		history.SaveLines(c.dir, history.FileDeeds, deeds),
		history.SaveLines(c.dir, history.FileMarks, c.marks), c.saveLeases(),
		history.SaveLines(c.dir, history.FileSamples, c.sampler.taken()))
}

// saveFormer saves what storage held in between; of a cell that was cut G1, which needs it, is not judged.
func (c *cell) saveFormer(ctx context.Context) error {
	if c.record.Cut {
		return nil
	}
	former, err := party.Former(ctx, c.storage, c.api, c.record.Kinds, c.rules)
	if err != nil {
		return err
	}
	return history.SaveState(c.dir, history.FileFormer, slices.Values(former))
}

// saveMetrics saves the watcher's metrics; another watcher may have none.
func (c *cell) saveMetrics(context.Context) (err error) {
	for name, text := range map[string][]byte{history.FileBefore: c.before, history.FileAfter: c.after} {
		if text != nil {
			err = errors.Join(err, history.Save(c.dir, name, text))
		}
	}
	return err
}

func (c *cell) saveLedger(ctx context.Context) error {
	path := filepath.Join(c.dir, history.FileLedger)
	if err := c.storage.SaveLedger(ctx, path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("save the ledger: %w", err)
	}
	c.record.LedgerBytes = info.Size()
	return nil
}

// saveMeta saves the judge's input beside the logs.
func (c *cell) saveMeta(context.Context) error {
	meta := check.Meta{
		Cell: c.record.ID, Strategy: c.s.Watcher.Strategy, Mode: c.s.Storage.Mode, QueueFull: c.s.Watcher.QueueFull,
		Cut: c.record.Cut, Rules: c.rules, WatcherReady: c.record.Watcher.Ready,
		LoadStarted: c.record.LoadStarted, LoadFinished: c.record.LoadFinished, Until: c.record.ScrapeFinished,
		StorageTimeout: int64(c.s.Watcher.StorageTimeout), Canaries: c.canaries, Withheld: c.withheld(),
	}
	if c.s.Watcher.LeaderElection {
		meta.Shards, meta.ShardBy = max(1, c.s.Watcher.Shards), kubeapi.By(c.s.Watcher.ShardBy)
	}
	if sync := c.s.Watcher.Synchronizer; !sync.Disabled {
		meta.SyncPeriod = int64(cmp.Or(sync.Period.Std(), defaultSyncPeriod))
	}
	if !c.watcher.Own {
		meta.Strategy, meta.QueueFull = spec.External, ""
	}
	if c.s.Watcher.Divided() {
		_, c.record.Watcher.Joined = c.leases.latest()
	}
	if c.record.Watcher.Joined {
		meta.QueueFull = ""
	} else {
		after, err := history.LoadScrape(c.dir, history.FileAfter)
		if err != nil {
			return err
		}
		meta.Counters = party.Counters(after, c.record.ScrapeStarted, c.record.ScrapeFinished)
	}
	return history.SaveJSON(c.dir, history.FileMeta, meta)
}

// withheld counts the events of each kind that a fault swallowed.
func (c *cell) withheld() map[string]int64 {
	lost := map[string]int64{}
	for _, s := range c.s.Watch.FaultSpecs() {
		for _, x := range c.record.WatchFired {
			if s.Effect != watchfault.Lost || x.Name != s.Name {
				continue
			}
			for _, kind := range c.record.Kinds {
				if s.Hits(kind) {
					lost[kind] += x.Fired
				}
			}
		}
	}
	return lost
}

// capture keeps what is searched for canaries: logs, the watcher's metrics, everything storage holds.
func (c *cell) capture(ctx context.Context) error {
	if len(c.canaries) == 0 {
		return nil
	}
	in := func(name string) string { return filepath.Join(c.dir, history.DirCaptured, name) }
	if err := os.MkdirAll(in(""), 0o755); err != nil {
		return fmt.Errorf("keep what was captured: %w", err)
	}
	if !c.watcher.Ended() { // a cut cell's watcher has no more to say
		if err := c.watcher.SaveMetrics(ctx, in("metrics.txt"), in("readyz.txt")); err != nil && c.watcher.Own {
			return err
		}
	}
	if err := c.storage.SaveState(ctx, in("state.ndjson")); err != nil {
		return err
	}
	if err := os.CopyFS(in(""), os.DirFS(c.logs)); err != nil {
		return fmt.Errorf("keep what was captured: %w", err)
	}
	return nil
}
