package measure

import (
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Evidence is everything recorded about a cell, and what was configured.
type Evidence struct {
	Kind string // the loaded kind; requests of other kinds are not the handler's

	Ops     []oplog.Record
	Ledger  []ledger.Entry
	Samples []history.Sample

	// Before and After are the watcher's metrics as the load began and after the
	// drain; nil for a watcher that has none of ours.
	Before, After history.Scrape
	// DrainEnd is when the drain was seen to be complete, or the cell was cut.
	DrainEnd int64
	Cut      bool
	// Restarts is how many watchers came after the first; Before and After are then of
	// the last one.
	Restarts int

	Plan    LoadPlan
	Storage StorageConfig
	Watcher WatcherConfig
	Rules   Rules

	BystanderKind string
	CPUs          int
	MachineBusy   *float64 // busy share of all CPUs from the load to the end of the drain
	Faults        map[string]int64
	WantFaults    []string
}

// StorageConfig is the mock as it was started.
type StorageConfig struct {
	Latency  string
	MeanMs   float64
	Capacity int // requests served at once; 0 is no limit
	Rate     int // requests served per second; 0 is no limit
}

// WatcherConfig is the watcher as it was started. Queues and Senders are those of
// the loaded kind; 0 where they cannot be known.
type WatcherConfig struct {
	Strategy              string
	Queues, Senders       int
	WriterCap, HandlerCap int
	Command               []string
	Version               string
	// FirstSync and FirstSyncCPU, in seconds, run from the start of the process until
	// it was ready; nil for a watcher that does not tell.
	FirstSync, FirstSyncCPU *float64
}

// Cell computes the figures of one cell. Identity, checks and verdict on
// expectations are the caller's.
func Cell(e Evidence) (result.Cell, error) {
	c := result.Cell{
		Checks: map[string]result.Check{}, Faults: e.Faults, Cut: e.Cut,
		Handler: result.Handler{
			Strategy: e.Watcher.Strategy, Queues: e.Watcher.Queues, Workers: e.Watcher.Senders, Capacity: e.Watcher.HandlerCap,
		},
		Writer:    result.Writer{Capacity: e.Watcher.WriterCap},
		Storage:   result.Storage{LatencySpec: e.Storage.Latency, LatencyMeanMs: round(e.Storage.MeanMs)},
		Bystander: result.Bystander{Kind: e.BystanderKind},
		Watcher: result.Watcher{
			Command: e.Watcher.Command, Version: e.Watcher.Version, CachedObjects: e.Before.Sum(metric.CacheKeys),
			FirstSync: rounded(e.Watcher.FirstSync), FirstSyncCPU: rounded(e.Watcher.FirstSyncCPU),
		},
	}
	load, window, err := LoadOf(e.Ops, e.Plan)
	if err != nil {
		return c, err
	}
	c.Load = load
	from, to := window.First, max(e.DrainEnd, window.Last)
	entries := during(e.Ledger, from, to)
	kind := ofKind(entries, e.Kind)

	busy := BusyOf(kind, e.Watcher.Senders, from)
	if err := storageFigures(&c, e, entries, kind, busy); err != nil {
		return c, err
	}
	fresh := FreshnessOf(e.Ops, NewAcks(entries))
	if c.Freshness, err = fresh.Load.Quantiles(Seconds); err != nil {
		return c, err
	}
	if c.Bystander.Freshness, err = fresh.Bystander.Quantiles(Seconds); err != nil {
		return c, err
	}
	drainFigures(&c, window, busy, fresh, e)

	queues := QueuesOf(e.Before, e.After, e.Kind, !e.Cut && e.Restarts == 0)
	c.Queues, c.Handler.Imbalance, c.Handler.LittleDiscrepancy = queues.Handled, queues.Imbalance, queues.Little
	c.Writer.FullSeconds = rounded(growth(e.Before, e.After, metric.WriterFull))
	c.Writer.MaxDepth = maxOf(e.Samples, from, to, func(s history.Sample) *float64 { return s.WriterDepth })
	c.Handler.MaxDepth = maxOf(e.Samples, from, to, func(s history.Sample) *float64 { return s.HandlerDepth })
	c.Events = EventsOf(e.After)
	c.Parties = parties(e.Samples, from, to)
	c.Series = curves(e.Samples, e.Ops, entries, from)
	end := to
	if busy.Last > 0 {
		end = max(busy.Last, window.Last)
	}
	watcherFigures(&c, e, from, end, int64(len(entries)))

	var cores *float64
	if busy.Last > busy.First {
		if cpu := cpuUse(e.Samples, history.PartyWatcher, busy.First, busy.Last); cpu != nil {
			cores = ptr(*cpu / (float64(busy.Last-busy.First) / 1e9))
		}
	}
	c.Bottleneck = bottleneck(limits{cell: &c, machineBusy: e.MachineBusy, cpus: e.CPUs, cpuCores: cores, lagLimitMs: e.Rules.LagMs})
	c.InvalidReasons = invalid(&c, e.Rules, queues.LittleQueue, e.Storage, e.WantFaults)
	c.Valid = len(c.InvalidReasons) == 0
	return c, nil
}

func storageFigures(c *result.Cell, e Evidence, all, kind []ledger.Entry, busy Busy) error {
	h, mean := Latencies(kind, 0)
	seen, err := h.Quantiles(Millis)
	if err != nil {
		return err
	}
	c.Storage.SeenMs, c.Storage.SeenMeanMs = seen, mean
	for _, x := range all {
		if x.Acked() {
			c.Storage.Requests++
		}
	}
	c.Storage.QPS, c.Storage.BacklogQPS = busy.QPS, busy.BacklogQPS
	if busy.BacklogQPS != nil {
		c.Storage.BacklogSeconds = ptr(busy.BacklogSeconds)
	}
	if e.Watcher.Senders > 0 {
		c.Storage.LimitQPS = Limit(e.Watcher.Senders, e.Storage.Capacity, e.Storage.MeanMs)
	}
	if c.Storage.LimitQPS != nil && busy.QPS != nil {
		c.Storage.Efficiency = ptr(*busy.QPS / *c.Storage.LimitQPS)
	}
	return nil
}

// drainFigures tells how long storage needed, or for a cut cell how long it would
// have needed at the rate it had.
func drainFigures(c *result.Cell, w LoadWindow, busy Busy, fresh Freshness, e Evidence) {
	if busy.Last == 0 || w.First == 0 {
		return
	}
	end := float64(busy.Last)
	if e.Cut {
		total := float64(fresh.Acked + fresh.Missing)
		if total > 0 {
			c.CutFraction = round(float64(fresh.Acked) / total)
		}
		if fresh.Acked == 0 || busy.Last == busy.First {
			return // nothing to project from
		}
		perNano := float64(fresh.Acked) / float64(busy.Last-busy.First)
		end += float64(fresh.Missing) / perNano
		c.Handler.DrainProjected = true
	}
	c.Handler.DrainSeconds = ptr((end - float64(w.First)) / 1e9)
	c.Handler.DrainAfterLoad = ptr(max(0, end-float64(w.Last)) / 1e9)
}

func watcherFigures(c *result.Cell, e Evidence, from, to, requests int64) {
	seconds := float64(to-from) / 1e9
	if seconds <= 0 {
		return
	}
	if cpu := cpuUse(e.Samples, history.PartyWatcher, from, to); cpu != nil {
		c.Watcher.CPUCores = ptr(*cpu / seconds)
		if requests > 0 {
			c.Watcher.CPUMicrosPerReq = ptr(*cpu * 1e6 / float64(requests))
		}
		if n := growth(e.Before, e.After, metric.EventsReceived); n != nil && *n > 0 {
			c.Watcher.CPUMicrosPerEvent = ptr(*cpu * 1e6 / *n)
		}
	}
	a, okA := useAt(e.Samples, history.PartyWatcher, from)
	b, okB := useAt(e.Samples, history.PartyWatcher, to)
	if !okA || !okB {
		return
	}
	mib := func(v float64) *float64 { return ptr(v / (1 << 20)) }
	ua, ub := a.Parties[history.PartyWatcher], b.Parties[history.PartyWatcher]
	c.Watcher.RSSStartMiB, c.Watcher.RSSEndMiB = mib(ua.RSSBytes), mib(ub.RSSBytes)
	c.Watcher.RSSPeakMiB = maxOf(e.Samples, from, to, func(s history.Sample) *float64 {
		if u, ok := s.Parties[history.PartyWatcher]; ok {
			return mib(u.RSSBytes)
		}
		return nil
	})
	if b.HeapBytes != nil {
		c.Watcher.HeapMiB = mib(*b.HeapBytes)
	}
	c.Watcher.Goroutines = maxOf(e.Samples, from, to, func(s history.Sample) *float64 { return s.Goroutines })
	dt := float64(b.Time-a.Time) / 1e9
	if dt <= 0 {
		return
	}
	c.Watcher.NetKiBps = netRate(&a, &b, dt)
	switch {
	case a.NetIn != nil && b.NetIn != nil && a.NetOut != nil && b.NetOut != nil:
		c.Watcher.NetInKiBps = ptr((*b.NetIn - *a.NetIn) / 1024 / dt)
		c.Watcher.NetOutKiBps = ptr((*b.NetOut - *a.NetOut) / 1024 / dt)
	case ua.Read >= 0 && ub.Read >= 0:
		c.Watcher.NetInKiBps = ptr((ub.Read - ua.Read) / 1024 / dt)
		c.Watcher.NetOutKiBps = ptr((ub.Written - ua.Written) / 1024 / dt)
	}
}

// EventsOf is the watcher's own account of its events, all kinds together and since
// its start; nil when it gives none.
func EventsOf(s history.Scrape) *result.Events {
	return eventsWhere(s, func(history.Point) bool { return true })
}

// EventsByKind is the same per kind.
func EventsByKind(s history.Scrape) map[string]result.Events {
	out := map[string]result.Events{}
	for kind := range s.By(metric.EventsReceived, "kind") {
		if e := eventsWhere(s, func(p history.Point) bool { return p.Labels["kind"] == kind }); e != nil {
			out[kind] = *e
		}
	}
	return out
}

func eventsWhere(s history.Scrape, keep func(history.Point) bool) *result.Events {
	if !s.Has(metric.EventsReceived) {
		return nil
	}
	n := func(name string) int64 {
		if v := s.SumFunc(name, keep); v != nil {
			return int64(*v)
		}
		return 0
	}
	return &result.Events{
		Received: n(metric.EventsReceived), Sent: n(metric.EventsSent), Coalesced: n(metric.EventsCoalesced),
		Filtered: n(metric.EventsFiltered), Parked: n(metric.EventsParked), Queued: n(metric.EventsQueued),
		Dropped: n(metric.EventsDropped), Retried: n(metric.EventsRetried),
	}
}

// during keeps the requests received from the start of the load until the end of
// the drain.
func during(entries []ledger.Entry, from, to int64) []ledger.Entry {
	var out []ledger.Entry
	for _, e := range entries {
		if e.Received >= from && e.Received <= to {
			out = append(out, e)
		}
	}
	return out
}

func ofKind(entries []ledger.Entry, kind string) []ledger.Entry {
	var out []ledger.Entry
	for _, e := range entries {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

func rounded(v *float64) *float64 {
	if v == nil {
		return nil
	}
	return ptr(*v)
}
