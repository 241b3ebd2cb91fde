package measure

import (
	"iter"
	"slices"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// podKind is the kind that the load writes; requests of other kinds are not the handler's.
const podKind = "Pod"

// Figures computes the figures of one cell: it sees the record once, as an observer. It holds counts per bin of the
// cell's time, and nothing for each record.
type Figures struct {
	cell          *history.Cell
	watcher       spec.Watcher // with the largest queues of the cell
	before, after history.Scrape
	samples       []history.Sample

	clock    history.Clock
	load     load
	pods     served
	requests int64 // of all kinds, within the window
	acked    int64
	answers  rate
	stored   int64 // the last acknowledgement of what existed before the load
	// told counts the load's writes by kind, including the bystander's.
	told map[string]int64
}

var _ history.Observer = (*Figures)(nil)

// New begins with what was not logged; the samples are in the order of time. The scrapes are nil for a watcher that has
// no metrics of ours.
func New(cell *history.Cell, before, after history.Scrape, samples []history.Sample) *Figures {
	return &Figures{cell: cell, watcher: cell.Scenario.Largest(), before: before, after: after, samples: samples,
		load: newLoad(), clock: history.Clock{Apart: cell.Apart()}, told: map[string]int64{},
		pods: served{took: NewHistogram()}}
}

// Operation takes a record of the op log.
func (f *Figures) Operation(r *oplog.Record) {
	f.clock.Operation(r)
	f.load.add(r)
	if r.Phase == oplog.PhaseLoad && r.Type != oplog.TypeHeartbeat && r.OK() {
		f.told[r.Kind]++
	}
}

// Request takes an entry of the ledger, after all operations. Requests received before the load or after the drain do
// not count.
func (f *Figures) Request(e *ledger.Entry) {
	f.clock.Request(e)
	if e.Acked() && e.Responded <= f.cell.Watcher.Stored {
		f.stored = max(f.stored, e.Responded)
	}
	from, to := f.window()
	if e.Received < from || e.Received > to {
		return
	}
	f.requests++
	if e.Kind == podKind {
		if f.pods.requests == 0 {
			f.pods.acks = newBins(from, to)
		}
		f.pods.add(e)
	}
	if e.Acked() {
		f.acked++
		f.answers.count(e.Responded - from)
	}
}

// ClockReason is history.Clock's, once Cell has seen the changes.
func (f *Figures) ClockReason() string { return f.clock.Reason() }

// window is from the dispatch of the load's first write to the end of the drain.
func (f *Figures) window() (from, to int64) {
	return f.load.window.First, max(f.cell.DrainEnd, f.load.window.Last)
}

// Cell computes the cell's entry of results.json once the record has been read, apart from its checks.
func (f *Figures) Cell(changes iter.Seq[history.Change]) (result.Cell, error) {
	c := f.described()
	from, to := f.window()
	var err error
	f.load.speed, f.load.traced = f.cell.Scenario.Speed(), f.cell.Scenario.Traced()
	if c.Load, err = f.load.figures(&f.cell.Scenario.Load, f.cell.Planned); err != nil {
		return c, err
	}
	for i := range f.cell.Generators {
		c.Load.Generators = append(c.Load.Generators, f.load.byShard[i+1])
	}
	var pace pace
	if f.paced() {
		changes = pace.watch(changes, to)
	}
	ch := changesOf(changes, from, to, &f.clock)
	if err := f.storageFigures(&c, &ch); err != nil {
		return c, err
	}
	if c.Freshness, err = ch.load.Quantiles(Seconds); err != nil {
		return c, err
	}
	if c.Bystander.Freshness, err = ch.bystander.Quantiles(Seconds); err != nil {
		return c, err
	}
	if c.FreshnessUnknown = f.cell.ClocksApart(); c.FreshnessUnknown != "" {
		c.Freshness, c.Bystander.Freshness = nil, nil
	}
	f.drainFigures(&c, &ch)
	c.Handler.GapSeconds = ch.own()

	drained := !c.Cut && f.cell.Watcher.Restarts == 0
	queues := QueuesOf(f.before, f.after, podKind, drained)
	c.Queues, c.Handler.Imbalance, c.Handler.LittleDiscrepancy = queues.Handled, queues.Imbalance, queues.Little
	c.Writer.FullSeconds = rounded(growth(f.before, f.after, metric.WriterFull))
	c.Events = eventsBetween(f.before, f.after)
	c.Series = f.curves(from, &ch.writes, &ch.events)
	if depth := c.Series[result.SeriesQueueDepth].V; len(depth) > 0 {
		c.Handler.MaxDepth = ptr(slices.Max(depth))
	}
	end := f.busyEnd()
	use := between(f.samples, from, end)
	c.Parties = use.parties()
	f.watcherFigures(&c, use)

	g := groundsOf(f, queues.LittleQueue)
	c.Bottleneck = bottleneck(&c, g, g.chanceMs(&c))
	var disturbed []string // first: of what else is wrong it may be the cause
	for i := range f.cell.Pods {
		if why := f.cell.Pods[i].Disturbed(); why != "" {
			disturbed = append(disturbed, why)
		}
	}
	c.InvalidReasons, c.LateReasons = invalid(&c, g)
	c.InvalidReasons = append(disturbed, c.InvalidReasons...)
	if why := f.clock.Reason(); why != "" {
		c.InvalidReasons = append(c.InvalidReasons, why)
	}
	if f.paced() {
		c.Pace = pace.kept(f.load.window, f.leastLoad(), f.pods.acked, ch.settled)
	}
	c.Valid = len(c.InvalidReasons) == 0
	return c, nil
}

// busyEnd is the last acknowledgement, or the end of the load if that was later.
func (f *Figures) busyEnd() int64 {
	if f.pods.last == 0 {
		_, to := f.window()
		return to
	}
	return max(f.pods.last, f.load.window.Last)
}

// busyCores is the watcher's CPU use while storage was busy, in cores.
func (f *Figures) busyCores() *float64 {
	if f.pods.last == f.pods.first {
		return nil
	}
	return between(f.samples, f.pods.first, f.pods.last).cores(history.PartyWatcher)
}

// described holds what is known about the cell without its record.
func (f *Figures) described() result.Cell {
	s, w := &f.cell.Scenario, &f.cell.Watcher
	configured := s.Storage.LatencyFigures(podKind)
	c := result.Cell{
		ID: f.cell.ID, Repetition: f.cell.Repetition, Params: map[string]string{},
		Checks: map[string]result.Check{}, Faults: f.cell.StorageFaults, Cut: f.cell.Cut,
		Handler: result.Handler{Strategy: strategyExternal},
		Storage: result.Storage{
			LatencySpec: s.Storage.Latency, LatencyMeanMs: round(f.latencyMs()),
			LatencyP50Ms: round(configured.P50.Seconds() * 1e3), LatencyP99Ms: round(configured.P99.Seconds() * 1e3),
		},
		Watcher: result.Watcher{Name: s.Watcher.Label(), Command: w.Command, Restarts: w.Restarts},
	}
	for name, value := range f.cell.Params {
		c.Params[name] = value
	}
	if w.Own {
		c.Handler = result.Handler{Strategy: f.watcher.Strategy, Queues: 1, Workers: f.senders(),
			Capacity: f.watcher.HandlerQueueLen}
		if f.watcher.Strategy == strategyPartitioned {
			c.Handler.Queues = f.watcher.PodQueueNum
		}
		c.Writer.Capacity = f.watcher.WriterQueueLen
		c.Watcher.Version = w.Version
		c.Watcher.FirstSync, c.Watcher.FirstSyncCPU = rounded(w.FirstSync), rounded(w.FirstSyncCPU)
	}
	if f.stored > 0 && w.Restarts == 0 {
		c.Watcher.Stored, c.Watcher.StoredCPU = ptr(float64(f.stored-w.Started)/1e9), rounded(w.StoredCPU)
	}
	if w.Own && f.watcher.Profile == strategyLegacy {
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

// Strategies that are not the scenario's word: another watcher has queues of its own, and the legacy profile follows
// the original's rules.
const (
	strategyExternal    = spec.External
	strategyLegacy      = "legacy"
	strategyPartitioned = "partitioned"
	strategyAdaptive    = "adaptive"
)

// senders is the number of requests for Pods that the watcher can have in flight; 0 where it cannot be known, as with
// another watcher, or one that finds the number itself.
func (f *Figures) senders() int {
	if !f.cell.Watcher.Own || f.watcher.Strategy == strategyAdaptive {
		return 0
	}
	return f.watcher.Concurrency()
}

// latencyMs is the configured mean latency of storage.
func (f *Figures) latencyMs() float64 {
	return float64(f.cell.Scenario.Storage.MeanLatency(podKind)) / 1e6
}

// servedMs is the mean latency that bounds the rate: as served, since the draws alone move it by 4 % in a short load;
// as configured where requests may wait for storage's capacity, which is not the senders' time.
func (f *Figures) servedMs(seen *float64) float64 {
	if c := f.cell.Scenario.Storage.Capacity; seen == nil || c.Rate > 0 || c.Inflight > 0 && c.Inflight <= f.senders() {
		return f.latencyMs()
	}
	return *seen
}

func millis(d spec.Duration) float64 { return float64(d.Std()) / 1e6 }

// inFlight is the number of requests for Pods that can be in flight: as many as the watcher sends, or as storage takes
// at once. 0 is unknown.
func (f *Figures) inFlight() int {
	n := f.senders()
	if most := f.cell.Scenario.Storage.Capacity.Inflight; most > 0 {
		n = min(n, most)
	}
	return n
}

// leastBacklog is how many mean latencies a backlog must last before a rate is taken of it: in the first of them
// nothing can come back yet.
const leastBacklog = 10

func (f *Figures) storageFigures(c *result.Cell, ch *changes) (err error) {
	s := &c.Storage
	if s.SeenMs, err = f.pods.took.Quantiles(Millis); err != nil {
		return err
	}
	if f.pods.acked > 0 {
		s.SeenMeanMs = ptr(f.pods.tookSum / float64(f.pods.acked) / 1e6)
	}
	s.WatcherMeanMs = f.watcherLatencyMs()
	s.Requests, s.QPS, s.LimitQPS = f.acked, f.pods.qps(), limit(f.inFlight(), f.servedMs(s.SeenMeanMs))
	if f.cell.Watcher.Restarts == 0 { // the counters belong to the last process
		s.ConnectionsOpened = growth(f.before, f.after, metric.StorageConns)
	}
	if n := f.events(podKind); n != nil {
		s.RequestsPerEvent, s.BytesPerEvent = ptr(float64(f.pods.requests) / *n), ptr(float64(f.pods.bytes) / *n)
	}
	if s.LimitQPS == nil {
		return nil
	}
	if s.QPS != nil {
		s.Efficiency = ptr(*s.QPS / *s.LimitQPS)
	}
	seconds, acked := ch.backlog.over(f.inFlight(), &f.pods.acks)
	s.BacklogSeconds = ptr(seconds)
	if seconds > 0 && seconds*1000 >= leastBacklog*f.latencyMs() {
		s.EfficiencyBacklog = ptr(float64(acked) / seconds / *s.LimitQPS)
	}
	return nil
}

// watcherLatencyMs is the mean time that storage took to acknowledge a request for a Pod, by the watcher's own clock;
// pauses of the client within a call are in it.
func (f *Figures) watcherLatencyMs() *float64 {
	labels := []string{"resource_type", podKind, "status", "success"}
	var sum, n float64
	for _, method := range []string{"PUT", "DELETE"} {
		with := append(labels, "method", method)
		s, k := growth(f.before, f.after, metric.StorageLatency+"_sum", with...),
			growth(f.before, f.after, metric.StorageLatency+"_count", with...)
		if s == nil || k == nil {
			return nil
		}
		sum, n = sum+*s, n+*k
	}
	return ptr(sum / n * 1000)
}

// drainFigures reports how long storage needed for what it was owed, without what is written again although storage had
// it. A cut cell is projected: the events still owed, at the mean rate so far; where none is, the drain was seen.
func (f *Figures) drainFigures(c *result.Cell, ch *changes) {
	w := f.load.window
	if ch.last == 0 || w.First == 0 {
		return
	}
	end := float64(ch.last - w.First) // nanoseconds since the epoch would lose digits
	if c.Cut {
		c.CutFraction = round(float64(ch.settled) / float64(ch.settled+ch.owed))
		c.Handler.Owed = &ch.owed
	}
	if c.Cut && ch.owed > 0 {
		if f.pods.last == f.pods.first {
			c.Handler.Owed = nil
			return // no rate to project with
		}
		perNano := float64(ch.settled) / float64(f.pods.last-f.pods.first)
		_, cut := f.window()
		end = float64(cut-w.First) + float64(ch.owed)/perNano
		c.Handler.DrainProjected = true
	}
	c.Handler.DrainSeconds = ptr(end / 1e9)
	c.Handler.DrainAfterLoad = ptr(max(0, end-float64(w.Last-w.First)) / 1e9)
}
