package measure

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// evidence is the record of a cell, in memory.
type evidence struct {
	cell    history.Cell
	ops     []oplog.Record
	entries []ledger.Entry
	samples []history.Sample
}

// figures goes through it as the judge does.
func (e *evidence) figures(t *testing.T) result.Cell {
	t.Helper()
	return e.with(t, nil, nil)
}

// backlog is a cell in which ten writes/s for 10 s meet one sender of 200 ms: five requests/s, so that 20 s are needed.
func backlog(cutAt float64) *evidence {
	e := &evidence{cell: history.Cell{Planned: 100, DrainEnd: at(25_000), CPUs: 2, Watcher: history.WatcherRun{Own: true}, Scenario: spec.Scenario{
		Load:    spec.Load{Load: plan.Load{Model: result.ModelClosed, Threads: 1}},
		Storage: spec.Storage{Latency: "200ms"},
		Watcher: spec.Watcher{Strategy: "single"},
		Limits:  testLimits,
	}}}
	for i := range 100 {
		t := float64(i) * 100
		e.ops = append(e.ops, op(oplog.TypeCreate, fmt.Sprint(i), "u", uint64(i+1), t, t, t+5))
		r := 5 + float64(i)*200
		if cutAt == 0 || r+200 <= cutAt {
			e.entries = append(e.entries, put(fmt.Sprint(i), "u", uint64(i+1), r, r+200))
		}
	}
	if cutAt > 0 {
		e.cell.Cut, e.cell.DrainEnd = true, at(cutAt)
	}
	for ms := -1000.; ms <= 26_000; ms += 250 {
		cpu := max(0, ms) / 1000 * 0.1 // a tenth of a core from the load on
		depth := 7.0
		e.samples = append(e.samples, history.Sample{
			Time: at(ms), HandlerDepth: &depth,
			Parties: map[string]history.Use{history.PartyWatcher: {CPUSeconds: cpu, RSSBytes: 50 << 20, Read: ms * 1024, Written: 0}},
		})
	}
	return e
}

var testLimits = spec.Limits{Lag: spec.Duration(250e6), MinEvents: 0.8, MinOffered: 0.99}

func approx(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > tolerance {
		t.Errorf("%s is %v, want %v", what, value(got), want)
	}
}

func TestCell(t *testing.T) {
	c := backlog(0).figures(t)
	if !c.Valid || c.Cut {
		t.Fatalf("valid %v %v, cut %v", c.Valid, c.InvalidReasons, c.Cut)
	}
	approx(t, "drainSeconds", c.Handler.DrainSeconds, 20.005, 0.01)
	approx(t, "drainAfterLoadSeconds", c.Handler.DrainAfterLoad, 20.005-9.905, 0.01)
	approx(t, "storage.qps", c.Storage.QPS, 5, 0.01)
	approx(t, "storage.backlogSeconds", c.Storage.BacklogSeconds, 20, 0.01)
	approx(t, "storage.efficiencyBacklog", c.Storage.EfficiencyBacklog, 0.99, 0.005) // nothing can come back in the first 200 ms
	approx(t, "storage.limitQPS", c.Storage.LimitQPS, 5, 0.001)
	approx(t, "storage.efficiency", c.Storage.Efficiency, 1, 0.01)
	approx(t, "watcher.cpuCores", c.Watcher.CPUCores, 0.1, 0.005)
	approx(t, "cpuMicrosPerRequest", c.Watcher.CPUMicrosPerReq, 20_250, 1) // read at 0 and at 20.25 s
	approx(t, "rssPeak", c.Watcher.RSSPeakMiB, 50, 0)
	approx(t, "net", c.Watcher.NetKiBps, 1000, 1)
	if c.Handler.Imbalance != nil || c.Writer.FullSeconds != nil || c.Events != nil {
		t.Error("a watcher without metrics has queue figures")
	}
	if f := c.Freshness; f.Count != 100 || math.Abs(f.Max-10.105) > 0.01 {
		t.Errorf("freshness %+v: the last write waited 10.105 s", f)
	}
	if c.Bottleneck.Stage != StageHandlers {
		t.Errorf("bottleneck %+v", c.Bottleneck)
	}
	total := 0.0
	for _, v := range c.Series[result.SeriesStorageQPS].V {
		total += v * 0.5
	}
	if total != 100 {
		t.Errorf("the curve of storage's rate holds %v requests, want 100", total)
	}
}

// TestDescribed: what is known of a cell's queues depends on whose watcher it is.
func TestDescribed(t *testing.T) {
	queues := spec.Watcher{PodQueueNum: 30, HandlerQueueLen: 7, WriterQueueLen: 9}
	for _, tc := range []struct {
		name              string
		strategy, profile string
		own               bool
		want              result.Handler
		writer            int
	}{
		{"one queue", "single", "default", true, result.Handler{Strategy: "single", Queues: 1, Workers: 1, Capacity: 7}, 9},
		{"many senders on one queue", "keyed", "default", true, result.Handler{Strategy: "keyed", Queues: 1, Workers: 30, Capacity: 7}, 9},
		{"a queue per sender", "partitioned", "default", true, result.Handler{Strategy: "partitioned", Queues: 30, Workers: 30, Capacity: 7}, 9},
		{"as many senders as it finds best", "adaptive", "default", true, result.Handler{Strategy: "adaptive", Queues: 1, Capacity: 7}, 9},
		{"the original's rules", "partitioned", "legacy", true, result.Handler{Strategy: "legacy", Queues: 30, Workers: 30, Capacity: 7}, 9},
		{"another watcher's queues are its own", "keyed", "default", false, result.Handler{Strategy: "external"}, 0},
	} {
		e := backlog(0)
		e.cell.ID, e.cell.Repetition, e.cell.Params = "a=1", 2, map[string]string{"a": "1"}
		e.cell.Scenario.Watcher = queues
		e.cell.Scenario.Watcher.Strategy, e.cell.Scenario.Watcher.Profile = tc.strategy, tc.profile
		e.cell.Scenario.Load.Bystander = &plan.Bystander{Kind: "ConfigMap"}
		e.cell.Watcher = history.WatcherRun{Own: tc.own, Command: []string{"w"}, Version: "v1", Restarts: 3, ExitCode: new(1), FirstSync: new(0.5)}
		c := e.figures(t)
		got := result.Handler{Strategy: c.Handler.Strategy, Queues: c.Handler.Queues, Workers: c.Handler.Workers, Capacity: c.Handler.Capacity}
		if got != tc.want || c.Writer.Capacity != tc.writer || (c.Storage.LimitQPS != nil) != (tc.want.Workers > 0) || (c.Watcher.FirstSync != nil) != tc.own {
			t.Errorf("%s: %+v, writer %d, limit %v", tc.name, got, c.Writer.Capacity, value(c.Storage.LimitQPS))
		}
		if c.ID != "a=1" || c.Repetition != 2 || c.Params["a"] != "1" || c.Bystander.Kind != "ConfigMap" || c.Watcher.Restarts != 3 || *c.Watcher.ExitCode != 1 || c.Watcher.Command[0] != "w" {
			t.Errorf("%s: %+v", tc.name, c)
		}
	}
}

// TestStallIsNoChance: the latency is fixed, so nothing is drawn; a machine that stood still for some of the requests
// is no heavy tail.
func TestStallIsNoChance(t *testing.T) {
	e := backlog(0)
	e.ops, e.entries = nil, nil
	for i := range 100 {
		at := float64(i) * 100
		took := 87.0
		if i%10 == 0 {
			took = 2000
		}
		e.ops = append(e.ops, op(oplog.TypeCreate, fmt.Sprint(i), "u", uint64(i+1), at, at, at+5))
		e.entries = append(e.entries, put(fmt.Sprint(i), "u", uint64(i+1), at+6, at+6+took))
	}
	e.cell.Planned = 100
	e.cell.DrainEnd = at(14000)
	e.cell.Scenario.Storage = spec.Storage{Latency: "87ms"}
	c := e.figures(t)
	t.Logf("seen %v of %v ms", *c.Storage.SeenMeanMs, c.Storage.LatencyMeanMs)
	if c.Valid {
		t.Errorf("storage took %.0f ms instead of 87 ms, and the cell is valid", *c.Storage.SeenMeanMs)
	}
}

// TestLatencyHasItsQuantiles: p50 and p99 are what people have, so both stand beside the mean, as configured and as
// served.
func TestLatencyHasItsQuantiles(t *testing.T) {
	e := backlog(0)
	e.cell.Scenario.Storage.Latency = "lognormal(p50=60ms,p99=400ms)"
	s := e.figures(t).Storage
	approx(t, "configured p50", &s.LatencyP50Ms, 60, 0.01)
	approx(t, "configured mean", &s.LatencyMeanMs, 83.7, 0.1)
	approx(t, "configured p99", &s.LatencyP99Ms, 400, 0.1)
	if s.SeenMs == nil || s.SeenMs.P50 < 199 || s.SeenMs.P50 > 201 || s.SeenMs.P99 < s.SeenMs.P50 {
		t.Errorf("served %+v, all of them in 200 ms", s.SeenMs)
	}
}

// waiting is a cell of one Pod with so many states that were all written before the first answer; between an answer and
// the next request lie so many ms. Late states are written only after the answer before.
func waiting(states, late int, gap float64) *evidence {
	e := crowd(1, 10)
	answered := 110.
	for i := range states + late {
		rv, written, received := uint64(i+2), 6., answered+gap
		if i%3 != 2 {
			received += 50 // waits for a core
		}
		if i >= states {
			written, received = answered+1, answered+2
		}
		e.ops = append(e.ops, op(oplog.TypePatch, "0", "u", rv, written, written, written))
		e.entries = append(e.entries, put("0", "u", rv, received, received+100))
		answered = received + 100
	}
	for i := range 10 { // of other Pods, which have one request each
		name := fmt.Sprint("other", i)
		e.ops = append(e.ops, op(oplog.TypePatch, name, "u"+name, uint64(1000+i), 6, 6, 6))
		e.entries = append(e.entries, put(name, "u"+name, uint64(1000+i), 300+0.01*float64(i), 400))
	}
	e.ops = append(e.ops, op(oplog.TypeDelete, "0", "u", 0, 6, 6, 6))
	gone := put("0", "u", 0, answered, answered+100) // after a terminating state that no operation stands for
	gone.Method, gone.Effect = "DELETE", "deleted"
	e.entries = append(e.entries, gone)
	e.cell.DrainEnd = at(answered + 200)
	return e
}

// TestGapIsTheWatchersOwn: what counts is the time from an answer to a request that was due by then.
func TestGapIsTheWatchersOwn(t *testing.T) {
	for _, tc := range []struct {
		name         string
		states, late int
		gap          float64
		want         float64 // ms; 0 is not known
	}{
		{"quick", 30, 0, 0.4, 0.4},
		{"2 ms more for each request", 30, 0, 2.4, 2.4},
		{"what was written after the answer says nothing", 30, 30, 2.4, 2.4},
		{"too few", 19, 30, 0.4, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := waiting(tc.states, tc.late, tc.gap).figures(t).Handler.GapSeconds
			if tc.want == 0 {
				if got != nil {
					t.Errorf("%v s of %d gaps", *got, tc.states)
				}
				return
			}
			approx(t, "gap", got, tc.want/1e3, 1e-6)
		})
	}
}

// TestRetriesAreNoLag: lag is how late an operation was dispatched, not how late it was tried again.
func TestRetriesAreNoLag(t *testing.T) {
	e := backlog(0)
	e.ops, e.entries = nil, nil
	for i := range 50 {
		t0 := float64(i) * 100
		o := op(oplog.TypeCreate, fmt.Sprint(i), "u", uint64(i+1), t0, t0, t0+5)
		o.ID = int64(i + 1)
		if i == 7 {
			bad := o
			bad.ResourceVersion, bad.Status, bad.Error = 0, 500, "etcd: leader changed"
			bad.Finished = at(t0 + 400)
			e.ops = append(e.ops, bad)
			o.Attempt, o.Started, o.Finished = 1, at(t0+450), at(t0+455)
		}
		e.ops = append(e.ops, o)
		e.entries = append(e.entries, put(fmt.Sprint(i), "u", uint64(i+1), t0+500, t0+600))
	}
	e.cell.DrainEnd = at(6000)
	c := e.figures(t)
	if c.Load.LagMs.Max > 1 {
		t.Errorf("every operation was dispatched at its time; the lag is %.0f ms of %d dispatches", c.Load.LagMs.Max, c.Load.LagMs.Count)
	}
}

// TestBurstsKeepOneThreadBusy: ten requests at once are no ten times as busy a thread.
func TestBurstsKeepOneThreadBusy(t *testing.T) {
	l := newLoad()
	for i := range 10 {
		r := op(oplog.TypePatch, "hot", "u", uint64(i+1), 0, 0, 100+float64(i))
		l.add(&r)
	}
	last := op(oplog.TypeCreate, "a", "v", 99, 990, 990, 1000)
	l.add(&last)
	approx(t, "busy", l.busy(1), 0.119, 1e-3)
}

// TestBackoffIsNoRequest: an acknowledged retry starts in the log where the first attempt did, but nothing is under way
// between the two.
func TestBackoffIsNoRequest(t *testing.T) {
	l := newLoad()
	lost := op(oplog.TypeCreate, "a", "", 0, 0, 0, 10)
	lost.Status, lost.Error = 0, "connection reset"
	again := op(oplog.TypeCreate, "a", "v", 1, 0, 0, 900)
	again.Attempt = 1
	last := op(oplog.TypeCreate, "b", "w", 2, 900, 900, 1000)
	for _, r := range []oplog.Record{lost, again, last} {
		l.add(&r)
	}
	approx(t, "busy", l.busy(1), 0.11, 1e-3)
}

// watcherMetrics are those of a watcher that has handled so many events.
func watcherMetrics(events float64) string {
	var b strings.Builder
	counter := func(name, labels string, v float64) {
		fmt.Fprintf(&b, "# TYPE %s counter\n%s%s %v\n", name, name, labels, v)
	}
	for _, name := range []string{metric.EventsReceived, metric.EventsSent} {
		counter(name, `{kind="Pod"}`, events)
	}
	for _, name := range []string{metric.EventsCoalesced, metric.EventsRetried, metric.EventsFiltered, metric.EventsDropped} {
		counter(name, `{kind="Pod"}`, events/10)
	}
	counter(metric.WriterFull, "", events/100)
	for _, name := range []string{metric.QueueHandled, metric.QueueDepthTime, metric.QueueWaitSeconds} {
		counter(name, `{queue="Pod_0"}`, events)
	}
	return b.String()
}

// TestWarmupIsInNoFigure: a cell that was warmed up before its counters were read has the same figures as one that was
// not.
func TestWarmupIsInNoFigure(t *testing.T) {
	const warm = 40
	figures := func(warmed bool) result.Cell {
		e := backlog(0)
		start := 0.0
		if warmed {
			start = warm
			for i := range warm {
				name, ms := fmt.Sprint("warm-", i), -9000+100*float64(i)
				o := op(oplog.TypeCreate, name, "w", uint64(1000+i), ms, ms, ms+5)
				o.Phase = oplog.PhaseWarmup
				e.ops = append([]oplog.Record{o}, e.ops...)
				e.entries = append(e.entries, put(name, "w", uint64(1000+i), ms+5, ms+95))
			}
		}
		return e.scraped(t, watcherMetrics(start), watcherMetrics(start+100))
	}
	cold, warmed := figures(false), figures(true)
	if cold.Events == nil || cold.Events.Received != 100 || cold.Watcher.CPUMicrosPerEvent == nil || cold.Storage.Requests != 100 || cold.Writer.FullSeconds == nil {
		t.Fatalf("the cell lacks the figures that are compared: %+v", cold)
	}
	if d := cmp.Diff(cold, warmed); d != "" {
		t.Errorf("the warm-up counts (-without +with):\n%s", d)
	}
}
