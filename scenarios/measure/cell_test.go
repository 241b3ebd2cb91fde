package measure

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
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
	f := New(&e.cell, nil, nil, e.samples)
	for i := range e.ops {
		f.Operation(&e.ops[i])
	}
	for i := range e.entries {
		f.Request(&e.entries[i])
	}
	c, err := f.Cell(check.Changes(e.ops, e.entries))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// backlog is a cell in which ten writes/s for 10 s meet one sender of 200 ms: five
// requests/s, so that 20 s are needed.
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
	approx(t, "storage.backlogQPS", c.Storage.BacklogQPS, 5, 0.05)
	approx(t, "storage.limitQPS", c.Storage.LimitQPS, 5, 0.001)
	approx(t, "storage.efficiency", c.Storage.Efficiency, 1, 0.01)
	approx(t, "watcher.cpuCores", c.Watcher.CPUCores, 0.1, 0.005)
	approx(t, "cpuMicrosPerRequest", c.Watcher.CPUMicrosPerReq, 20_000, 400)
	approx(t, "rssPeak", c.Watcher.RSSPeakMiB, 50, 0)
	approx(t, "net", c.Watcher.NetKiBps, 1000, 1)
	approx(t, "handler.maxDepth", c.Handler.MaxDepth, 7, 0)
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
		if got != tc.want || c.Writer.Capacity != tc.writer || (c.Storage.LimitQPS != nil) != tc.own || (c.Watcher.FirstSync != nil) != tc.own {
			t.Errorf("%s: %+v, writer %d, limit %v", tc.name, got, c.Writer.Capacity, value(c.Storage.LimitQPS))
		}
		if c.ID != "a=1" || c.Repetition != 2 || c.Params["a"] != "1" || c.Bystander.Kind != "ConfigMap" || c.Watcher.Restarts != 3 || *c.Watcher.ExitCode != 1 || c.Watcher.Command[0] != "w" {
			t.Errorf("%s: %+v", tc.name, c)
		}
	}
}

func TestCutCellIsProjected(t *testing.T) {
	c := backlog(12_000).figures(t)
	if !c.Cut || !c.Handler.DrainProjected {
		t.Fatal("a cut cell is not marked as projected")
	}
	if c.CutFraction < 0.58 || c.CutFraction > 0.60 {
		t.Errorf("fraction %v, want 59 of 100", c.CutFraction)
	}
	approx(t, "projected drain", c.Handler.DrainSeconds, 20.0, 0.2)
	none := backlog(12_000)
	none.entries = nil
	if c = none.figures(t); c.Handler.DrainSeconds != nil || c.Handler.DrainProjected || c.Valid {
		t.Errorf("nothing arrived: drain %v, projected %v, valid %v", value(c.Handler.DrainSeconds), c.Handler.DrainProjected, c.Valid)
	}
}

func TestInvalid(t *testing.T) {
	fine := func() *result.Cell {
		return &result.Cell{
			Load:    result.Load{Model: result.ModelOpen, Planned: 100, Done: 100, QPS: 10, OfferedQPS: ptr(12), PlannedQPS: ptr(10), LagMs: &result.Quantiles{P99: 3}},
			Storage: result.Storage{Requests: 100}, Handler: result.Handler{LittleDiscrepancy: ptr(0.02)},
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*result.Cell)
		faults []string
		want   string // part of the only reason; "" is valid
	}{
		{"fine", func(*result.Cell) {}, nil, ""},
		{"few events", func(c *result.Cell) { c.Load.Done = 79 }, nil, "79 of 100 planned writes succeeded (79%); at least 80% are needed"},
		{"no event", func(c *result.Cell) { c.Load.Done = 0 }, nil, "no write of the load succeeded"},
		{"late generator", func(c *result.Cell) { c.Load.LagMs.P99 = 251 }, nil, "the generator was 251 ms late (p99); the limit is 250 ms"},
		{"late in a closed loop is no defect", func(c *result.Cell) { c.Load.Model, c.Load.LagMs.P99 = result.ModelClosed, 900 }, nil, ""},
		{"slow generator", func(c *result.Cell) { c.Load.QPS = 9.8 }, nil, "9.8 writes/s were achieved of 10.0 offered (98.0%)"},
		{"nothing stored", func(c *result.Cell) { c.Storage.Requests = 0 }, nil, "storage acknowledged no request"},
		{"broken queue metrics", func(c *result.Cell) { c.Handler.LittleDiscrepancy = ptr(0.2) }, nil, "mean depth and rate × mean wait of Pod_3 differ by 20%"},
		{"stalled machine", func(c *result.Cell) { c.Storage.LatencyMeanMs, c.Storage.SeenMeanMs = 87, ptr(146) }, nil, "storage answered after 146 ms on average instead of 87 ms"},
		{"the slow draws of a heavy tail are no stall", func(c *result.Cell) {
			c.Storage.LatencyMeanMs, c.Storage.SeenMeanMs, c.Storage.SeenMeanErrMs = 87, ptr(146), ptr(20)
		}, nil, ""},
		{"queueing for capacity is no stall", func(c *result.Cell) {
			c.Handler.Workers, c.Storage.LatencyMeanMs, c.Storage.SeenMeanMs = 400, 87, ptr(146)
		}, nil, ""},
		{"vacuous fault", func(c *result.Cell) { c.Faults = map[string]int64{"503": 4} }, []string{"503", "reset"}, "the fault reset never fired"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := fine()
			tc.change(c)
			got, late := invalid(c, testLimits, "Pod_3", spec.Capacity{Inflight: 300}, tc.faults)
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("refused: %v", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if about := tc.name == "late generator" || tc.name == "slow generator" || tc.name == "stalled machine"; about != (len(late) == 1) || about && late[0] != got[0] {
				t.Errorf("about time: %q", late)
			}
		})
	}
}

func TestBottleneck(t *testing.T) {
	cell := func(change func(*result.Cell)) *result.Cell {
		c := &result.Cell{
			Load:    result.Load{Model: result.ModelClosed, DurationS: 5, QPS: 800, LagMs: &result.Quantiles{P99: 1}},
			Handler: result.Handler{Queues: 1, Workers: 30, DrainAfterLoad: ptr(7)},
			Storage: result.Storage{LatencyMeanMs: 87, SeenMeanMs: ptr(88), QPS: ptr(335), BacklogQPS: ptr(340), LimitQPS: ptr(344.8), Efficiency: ptr(0.97)},
		}
		change(c)
		return c
	}
	slow := func(c *result.Cell) { c.Storage.BacklogQPS, c.Storage.Efficiency = ptr(170), ptr(0.5) }
	for _, tc := range []struct {
		name  string
		cell  *result.Cell
		busy  *float64
		cores *float64
		want  string
	}{
		{"late generator", cell(func(c *result.Cell) { c.Load.Model, c.Load.LagMs.P99 = result.ModelOpen, 400 }), nil, nil, StageGenerator},
		{"kept up", cell(func(c *result.Cell) { c.Handler.DrainAfterLoad = ptr(0.3) }), nil, nil, StageNone},
		{"a cut cell did not keep up", cell(func(c *result.Cell) { c.Handler.DrainAfterLoad, c.Cut = ptr(0.3), true }), nil, nil, StageHandlers},
		{"senders busy", cell(func(*result.Cell) {}), nil, nil, StageHandlers},
		{"storage queues", cell(func(c *result.Cell) { c.Storage.SeenMeanMs = ptr(140) }), nil, nil, StageStorage},
		{"skew", cell(func(c *result.Cell) {
			c.Handler.Queues, c.Handler.Imbalance, c.Storage.Efficiency = 30, ptr(1.8), ptr(0.6)
		}), nil, nil, StageSkew},
		{"machine", cell(slow), ptr(0.97), ptr(0.5), StageMachine},
		{"watcher", cell(slow), ptr(0.7), ptr(1.9), StageWatcher},
		{"writer", cell(func(c *result.Cell) { slow(c); c.Writer.FullSeconds = ptr(2) }), ptr(0.5), nil, StageWriter},
		{"no rule", cell(slow), ptr(0.5), ptr(0.4), StageUnknown},
		{"nothing known", &result.Cell{}, nil, nil, StageUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := bottleneck(limits{cell: tc.cell, machineBusy: tc.busy, cpus: 2, cpuCores: tc.cores, lagLimitMs: 250})
			if b.Stage != tc.want || b.Why == "" {
				t.Errorf("%+v, want %s", b, tc.want)
			}
		})
	}
}
