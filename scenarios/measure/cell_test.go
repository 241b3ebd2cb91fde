package measure

import (
	"fmt"
	"math"
	"testing"

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
