package assess

import (
	"context"
	"errors"
	"iter"

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

// judge reads the logs once, for figures, facts and checks.
func (c *recorded) judge(ctx context.Context) (cell result.Cell, err error) {
	logs := &logs{}
	c.history.State = c.states(c.history.State)
	c.history.Bounds = func(m check.Measured) (*check.Ceilings, *check.Isolation) {
		c.seen = matrix.Seen{Measured: m, Figures: &cell}
		cell = refusedCell(c.Cell)
		if c.Cell.Refusal == nil {
			cell, err = measure.Cell(c.evidence(logs.ops, logs.entries))
		}
		if c.Cell.Scenario.Fault == nil || c.Cell.Refusal != nil || err != nil {
			return nil, nil
		}
		return matrix.Ceilings(&c.Case, c.rules, c.seen), matrix.Isolation(&c.Case, c.seen)
	}
	v, jerr := check.Judge(ctx, c.history, logs, observers(c.rules))
	if err = errors.Join(jerr, err); err != nil {
		return cell, err
	}
	cell.Checks = v.Checks
	if cell.Events == nil && (v.Lost != nil || v.Reordered != nil) {
		cell.Events = &result.Events{} // a watcher without an account of its own still has its losses
	}
	if cell.Events != nil {
		cell.Events.Lost, cell.Events.Reordered = v.Lost, v.Reordered
	}
	c.identify(&cell)
	return cell, nil
}

// observers are the rules of a cell, as one observer.
type observers []matrix.Rule

func (all observers) Operation(op *oplog.Record) {
	for _, r := range all {
		if r.Operation != nil {
			r.Operation(op)
		}
	}
}

func (all observers) Request(e *ledger.Entry) {
	for _, r := range all {
		if r.Request != nil {
			r.Request(e)
		}
	}
}

// states shows the final states to the rules on their way to the judge.
func (c *recorded) states(all iter.Seq2[history.StateRecord, error]) iter.Seq2[history.StateRecord, error] {
	if all == nil {
		return nil
	}
	return func(yield func(history.StateRecord, error) bool) {
		for s, err := range all {
			for _, r := range c.rules {
				if r.State != nil && err == nil {
					r.State(&s)
				}
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// logs keeps the record for the figures.
type logs struct {
	ops     []oplog.Record
	entries []ledger.Entry
}

func (l *logs) Operation(op *oplog.Record) { l.ops = append(l.ops, *op) }
func (l *logs) Request(e *ledger.Entry)    { l.entries = append(l.entries, *e) }

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
