package assess

import (
	"context"
	"iter"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// podKind is the kind that the load writes.
const podKind = "Pod"

// injectedRules are those of the faults that were carried out.
func injectedRules(*matrix.Case) ([]matrix.Rule, error) { return nil, nil }

// judge reads the logs: figures, facts and checks in one pass.
func (c *recorded) judge(ctx context.Context) (result.Cell, error) {
	ops, err := gather(c.history.Ops)
	if err != nil {
		return result.Cell{}, err
	}
	entries, err := gather(c.history.Ledger)
	if err != nil {
		return result.Cell{}, err
	}
	bounds := matrix.NewBounds(&c.Case, c.rules)
	for i := range ops {
		bounds.Operation(&ops[i])
		for _, r := range c.rules {
			if r.Operation != nil {
				r.Operation(&ops[i])
			}
		}
	}
	for i := range entries {
		for _, r := range c.rules {
			if r.Request != nil {
				r.Request(&entries[i])
			}
		}
	}
	cell := refusedCell(c.Cell)
	if c.Cell.Refusal == nil {
		if cell, err = measure.Cell(c.evidence(ops, entries)); err != nil {
			return cell, err
		}
	}
	c.identify(&cell)
	c.seen = matrix.Seen{Changes: changes(ops, entries), Figures: &cell}
	if c.Cell.Scenario.Fault != nil && c.Cell.Refusal == nil {
		c.history.Ceilings, c.history.Isolation = bounds.Ceilings(), bounds.Isolation(c.seen)
	}
	v, err := check.Judge(ctx, c.history)
	if err != nil {
		return cell, err
	}
	cell.Checks = v.Checks
	if cell.Events == nil && (v.Lost != nil || v.Reordered != nil) {
		cell.Events = &result.Events{} // a watcher without an account of its own still has its losses
	}
	if cell.Events != nil {
		cell.Events.Lost, cell.Events.Reordered = v.Lost, v.Reordered
	}
	return cell, nil
}

// refusedCell has no figures: the watcher sent nothing.
func refusedCell(c *history.Cell) result.Cell {
	return result.Cell{
		Parties: map[string]result.Party{}, Load: result.Load{Model: c.Scenario.Load.Model}, Handler: result.Handler{Strategy: c.Scenario.Watcher.Strategy},
		Storage: result.Storage{LatencySpec: c.Scenario.Storage.Latency}, Valid: true,
	}
}

func (c *recorded) evidence(ops []oplog.Record, entries []ledger.Entry) measure.Evidence {
	s, w := &c.Cell.Scenario, c.Cell.Scenario.Largest()
	e := measure.Evidence{
		Kind: podKind, Ops: ops, Ledger: entries, Samples: c.Samples,
		Before: c.Before, After: c.After, DrainEnd: c.Cell.DrainEnd, Cut: c.Cell.Cut, Restarts: c.Cell.Watcher.Restarts,
		Plan: measure.LoadPlan{Model: s.Load.Model, Threads: s.Load.Threads, Rate: s.Load.Rate, Planned: c.Cell.Planned},
		Storage: measure.StorageConfig{
			Latency: s.Storage.Latency, MeanMs: float64(s.Storage.MeanLatency(podKind)) / 1e6, Capacity: s.Storage.Capacity.Inflight, Rate: s.Storage.Capacity.Rate,
		},
		Watcher: measure.WatcherConfig{
			Strategy: w.Strategy, Queues: 1, Senders: w.Concurrency(), WriterCap: w.WriterQueueLen, HandlerCap: w.HandlerQueueLen,
			Command: c.Cell.Watcher.Command, Version: c.Cell.Watcher.Version, FirstSync: c.Cell.Watcher.FirstSync, FirstSyncCPU: c.Cell.Watcher.FirstSyncCPU,
		},
		Rules: measure.Rules{
			LagMs: float64(s.Limits.Lag.Std()) / 1e6, MinEvents: float64(s.Limits.MinEvents), MinOffered: float64(s.Limits.MinOffered),
		},
		CPUs: c.Cell.CPUs, Faults: c.Cell.StorageFaults, WantFaults: s.Storage.FaultNames(), MachineBusy: c.Cell.MachineBusy,
	}
	if w.Strategy == "partitioned" {
		e.Watcher.Queues = w.PodQueueNum
	}
	if !c.Cell.Watcher.Own {
		// Its inner queues and senders are its own affair.
		e.Watcher = measure.WatcherConfig{Strategy: "external", Command: c.Cell.Watcher.Command}
	}
	if b := s.Load.Bystander; b != nil {
		e.BystanderKind = b.Kind
	}
	if w.Profile == "legacy" {
		e.Watcher.Strategy = "legacy"
	}
	return e
}

// changes matches operations with requests.
func changes(ops []oplog.Record, entries []ledger.Entry) iter.Seq[history.Change] {
	stored := measure.NewAcks(entries)
	stored.Learn(ops)
	received := slices.Clone(entries)
	type key struct{ kind, namespace, name string }
	hit := map[key]bool{}
	for i, e := range received {
		if e.Acked() {
			received[i].Responded = e.Received
		}
		if e.Fault != "" {
			hit[key{e.Kind, e.Namespace, e.Name}] = true
		}
	}
	arrived := measure.NewAcks(received)
	arrived.Learn(ops)
	return func(yield func(history.Change) bool) {
		for _, op := range ops {
			if op.Phase != oplog.PhaseLoad || op.Type == oplog.TypeHeartbeat || !op.OK() {
				continue
			}
			c := history.Change{
				Kind: op.Kind, Bystander: op.Bystander, Deletion: op.Type == oplog.TypeDelete,
				Intended: op.Intended, Started: op.Started, Finished: op.Finished,
				Gone: stored.Gone(op.UID), Hit: hit[key{op.Kind, op.Namespace, op.Name}],
			}
			c.Stored, _ = stored.Of(op)
			c.Arrived, _ = arrived.Of(op)
			if !yield(c) {
				return
			}
		}
	}
}

// gather reads a sequence to its end.
func gather[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var out []T
	if seq == nil {
		return nil, nil
	}
	for v, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}
