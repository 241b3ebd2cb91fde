package measure

import (
	"iter"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// podKind is the kind that the load writes; requests of other kinds are not the
// handler's.
const podKind = "Pod"

// Figures computes the figures of one cell: it sees the record once, as an observer,
// and holds 16 bytes for each request for Pods, nothing else that grows with the logs.
type Figures struct {
	cell          *history.Cell
	watcher       spec.Watcher // with the largest queues of the cell
	before, after history.Scrape
	samples       []history.Sample

	load     load
	flights  flights // requests for Pods
	took     *Histogram
	tookSum  float64
	requests int64 // of all kinds, within the window
	acked    int64
	answers  rate
}

var _ history.Observer = (*Figures)(nil)

// New begins with what was not logged. The scrapes are nil for a watcher that has no
// metrics of ours.
func New(cell *history.Cell, before, after history.Scrape, samples []history.Sample) *Figures {
	return &Figures{cell: cell, watcher: cell.Scenario.Largest(), before: before, after: after, samples: samples, load: newLoad(), took: NewHistogram()}
}

// Operation takes a record of the op log.
func (f *Figures) Operation(r *oplog.Record) { f.load.add(r) }

// Request takes an entry of the ledger, after all operations. Requests received before
// the load or after the drain do not count.
func (f *Figures) Request(e *ledger.Entry) {
	from, to := f.window()
	if e.Received < from || e.Received > to {
		return
	}
	f.requests++
	if e.Kind == podKind {
		f.flights.add(e, f.load.records)
	}
	if !e.Acked() {
		return
	}
	f.acked++
	f.answers.add(e.Responded - from)
	if e.Kind == podKind {
		f.took.Add(e.Responded - e.Received)
		f.tookSum += float64(e.Responded - e.Received)
	}
}

// window is from the dispatch of the load's first write to the end of the drain.
func (f *Figures) window() (from, to int64) {
	return f.load.window.First, max(f.cell.DrainEnd, f.load.window.Last)
}

// Cell computes the cell's entry of results.json once the record has been read, apart
// from its checks.
func (f *Figures) Cell(changes iter.Seq[history.Change]) (result.Cell, error) {
	c := f.described()
	from, to := f.window()
	var err error
	if c.Load, err = f.load.figures(&f.cell.Scenario.Load, f.cell.Planned); err != nil {
		return c, err
	}
	busy := f.flights.served(f.senders())
	if err := f.storageFigures(&c, busy); err != nil {
		return c, err
	}
	var pace pace
	if f.cell.Calibrates {
		changes = pace.watch(changes, to)
	}
	fresh := freshnessOf(changes, from, to)
	if c.Freshness, err = fresh.load.Quantiles(Seconds); err != nil {
		return c, err
	}
	if c.Bystander.Freshness, err = fresh.bystander.Quantiles(Seconds); err != nil {
		return c, err
	}
	drainFigures(&c, f.load.window, busy, fresh)

	queues := QueuesOf(f.before, f.after, podKind, !c.Cut && f.cell.Watcher.Restarts == 0)
	c.Queues, c.Handler.Imbalance, c.Handler.LittleDiscrepancy = queues.Handled, queues.Imbalance, queues.Little
	c.Writer.FullSeconds = rounded(growth(f.before, f.after, metric.WriterFull))
	c.Writer.MaxDepth = maxOf(f.samples, from, to, func(s *history.Sample) *float64 { return s.WriterDepth })
	c.Handler.MaxDepth = maxOf(f.samples, from, to, func(s *history.Sample) *float64 { return s.HandlerDepth })
	c.Events = eventsBetween(f.before, f.after)
	c.Parties = parties(f.samples, from, to)
	c.Series = f.curves(from, &fresh.writes)
	end := to
	if busy.Last > 0 {
		end = max(busy.Last, f.load.window.Last)
	}
	f.watcherFigures(&c, from, end)

	var cores *float64
	if busy.Last > busy.First {
		if cpu := cpuUse(f.samples, history.PartyWatcher, busy.First, busy.Last); cpu != nil {
			cores = ptr(*cpu / (float64(busy.Last-busy.First) / 1e9))
		}
	}
	s := &f.cell.Scenario
	c.Bottleneck = bottleneck(limits{cell: &c, machineBusy: f.cell.MachineBusy, cpus: f.cell.CPUs, watcherCPUs: f.cell.WatcherCPUs, cpuCores: cores, lagLimitMs: millis(s.Limits.Lag)})
	c.InvalidReasons, c.LateReasons = invalid(&c, s.Limits, queues.LittleQueue, s.Storage.Capacity, s.Storage.FaultNames())
	c.Capacity = f.cell.Capacity
	if f.cell.Calibrates {
		if c.Capacity = pace.capacity(c.ID, f.load.window, f.senders()); c.Capacity == nil {
			c.InvalidReasons = append(c.InvalidReasons, tooFew)
		}
	}
	c.Valid = len(c.InvalidReasons) == 0
	return c, nil
}

// described is what is known of the cell without its record.
func (f *Figures) described() result.Cell {
	s, w := &f.cell.Scenario, &f.cell.Watcher
	c := result.Cell{
		ID: f.cell.ID, Repetition: f.cell.Repetition, Params: map[string]string{},
		Checks: map[string]result.Check{}, Faults: f.cell.StorageFaults, Cut: f.cell.Cut,
		Handler: result.Handler{Strategy: strategyExternal},
		Storage: result.Storage{LatencySpec: s.Storage.Latency, LatencyMeanMs: round(f.latencyMs())},
		Watcher: result.Watcher{Command: w.Command, Restarts: w.Restarts},
	}
	for name, value := range f.cell.Params {
		c.Params[name] = value
	}
	if w.Own {
		c.Handler = result.Handler{Strategy: f.watcher.Strategy, Queues: 1, Workers: f.senders(), Capacity: f.watcher.HandlerQueueLen}
		if f.watcher.Strategy == strategyPartitioned {
			c.Handler.Queues = f.watcher.PodQueueNum
		}
		c.Writer.Capacity = f.watcher.WriterQueueLen
		c.Watcher.Version, c.Watcher.CachedObjects = w.Version, f.before.Sum(metric.CacheKeys)
		c.Watcher.FirstSync, c.Watcher.FirstSyncCPU = rounded(w.FirstSync), rounded(w.FirstSyncCPU)
	}
	if f.watcher.Profile == strategyLegacy {
		c.Handler.Strategy = strategyLegacy
	}
	if b := s.Load.Bystander; b != nil {
		c.Bystander.Kind = b.Kind
	}
	if w.ExitCode != nil && !c.Cut {
		c.Watcher.ExitCode = w.ExitCode
	}
	return c
}

// Strategies that are not the scenario's word: another watcher has queues of its own,
// and the legacy profile follows the original's rules.
const (
	strategyExternal    = spec.External
	strategyLegacy      = "legacy"
	strategyPartitioned = "partitioned"
)

// senders is the number of requests for Pods that the watcher can have in flight; 0
// where it cannot be known.
func (f *Figures) senders() int {
	if !f.cell.Watcher.Own {
		return 0
	}
	return f.watcher.Concurrency()
}

// latencyMs is the configured mean latency of storage.
func (f *Figures) latencyMs() float64 {
	return float64(f.cell.Scenario.Storage.MeanLatency(podKind)) / 1e6
}

func millis(d spec.Duration) float64 { return float64(d.Std()) / 1e6 }

func (f *Figures) storageFigures(c *result.Cell, busy served) (err error) {
	if c.Storage.SeenMs, err = f.took.Quantiles(Millis); err != nil {
		return err
	}
	if busy.Requests > 0 {
		c.Storage.SeenMeanMs = ptr(f.tookSum / float64(busy.Requests) / 1e6)
		c.Storage.SeenMeanErrMs = ptr(f.took.standardError() / Millis)
	}
	c.Storage.Requests = f.acked
	c.Storage.QPS, c.Storage.BacklogQPS = busy.QPS, busy.BacklogQPS
	if busy.BacklogQPS != nil {
		c.Storage.BacklogSeconds = ptr(busy.BacklogSeconds)
	}
	if n := f.senders(); n > 0 {
		c.Storage.LimitQPS = Limit(n, f.cell.Scenario.Storage.Capacity.Inflight, f.latencyMs())
	}
	if c.Storage.LimitQPS != nil && busy.QPS != nil {
		c.Storage.Efficiency = ptr(*busy.QPS / *c.Storage.LimitQPS)
	}
	return nil
}

// drainFigures reports how long storage needed, or for a cut cell how long it would
// have needed at the rate it had.
func drainFigures(c *result.Cell, w LoadWindow, busy served, fresh freshness) {
	if busy.Last == 0 || w.First == 0 {
		return
	}
	end := float64(busy.Last)
	if c.Cut {
		total := float64(fresh.acked + fresh.missing)
		if total > 0 {
			c.CutFraction = round(float64(fresh.acked) / total)
		}
		if fresh.acked == 0 || busy.Last == busy.First {
			return // nothing to project from
		}
		perNano := float64(fresh.acked) / float64(busy.Last-busy.First)
		end += float64(fresh.missing) / perNano
		c.Handler.DrainProjected = true
	}
	c.Handler.DrainSeconds = ptr((end - float64(w.First)) / 1e9)
	c.Handler.DrainAfterLoad = ptr(max(0, end-float64(w.Last)) / 1e9)
}
