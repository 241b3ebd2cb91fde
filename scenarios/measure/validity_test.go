package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

// several has two generators send the load: the second began somewhat late.
func several(c *result.Cell, g *grounds) []history.GeneratorRun {
	c.Load.Generators = []int64{60, 40}
	g.generators = []history.GeneratorRun{
		{At: 1e9, Started: 1e9, Planned: 60, Done: 60}, {At: 1e9, Started: 1e9 + 151e6, Planned: 40, Done: 40},
	}
	return g.generators
}

func TestInvalid(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*result.Cell, *grounds)
		want   string // part of the only reason; "" is valid
		late   bool   // it is about time
	}{
		{"fine", func(*result.Cell, *grounds) {}, "", false},
		{"few events", func(c *result.Cell, _ *grounds) { c.Load.Done = 79 }, "79 of 100 planned writes succeeded (79%); at least 80% are needed", false},
		{"no event", func(c *result.Cell, _ *grounds) { c.Load.Done = 0 }, "no write of the load succeeded", false},
		{"late generator", func(c *result.Cell, _ *grounds) { c.Load.LagMs.P99 = 251 }, "the generator was 251 ms late (p99); the limit is 250 ms", true},
		{"late in a closed loop is no defect", func(c *result.Cell, _ *grounds) { c.Load.Model, c.Load.LagMs.P99 = result.ModelClosed, 900 }, "", false},
		{"slow generator", func(c *result.Cell, _ *grounds) { c.Load.QPS = 9.8 }, "9.8 writes/s were achieved of 10.0 offered (98.0%)", true},
		{"a generator that paused", func(_ *result.Cell, g *grounds) { g.busy = ptr(0.4) }, "waited for the apiserver in only 40% of the load's time; at least 50% are needed", false},
		{"a generator at work", func(_ *result.Cell, g *grounds) { g.busy = ptr(0.88) }, "", false},
		{"nothing stored", func(c *result.Cell, _ *grounds) { c.Storage.Requests = 0 }, "storage acknowledged no request", false},
		{"stalled machine", func(c *result.Cell, _ *grounds) { c.Storage.SeenMeanMs = ptr(101) }, "storage answered after 101.0 ms on average instead of 87.0 ms, at most 100.0 ms are believed", true},
		{"a machine at work", func(c *result.Cell, _ *grounds) { c.Storage.SeenMeanMs = ptr(98) }, "", false},
		{"a short latency", func(c *result.Cell, _ *grounds) { c.Storage.LatencyMeanMs, c.Storage.SeenMeanMs = 5, ptr(12) }, "12.0 ms on average instead of 5.0 ms", true},
		{"a long tail has a wide mean", func(c *result.Cell, g *grounds) { c.Storage.SeenMeanMs, g.deviationMs = ptr(140), ptr(280) }, "", false},
		{"slow periods", func(c *result.Cell, g *grounds) { c.Storage.SeenMeanMs, g.deviationMs = ptr(140), nil }, "", false},
		{"queueing for capacity is no stall", func(c *result.Cell, g *grounds) { c.Storage.SeenMeanMs, g.limited = ptr(146), true }, "", false},
		{"queue metrics that contradict themselves", func(c *result.Cell, _ *grounds) { c.Handler.LittleDiscrepancy = ptr(0.2) }, "mean depth and rate × mean wait of Pod_3 differ by 20%", false},
		{"vacuous fault", func(c *result.Cell, g *grounds) {
			c.Faults, g.faults = map[string]int64{"503": 4}, []string{"503", "reset"}
		}, "the fault reset never fired", false},
		{"generators at work", func(c *result.Cell, g *grounds) { several(c, g) }, "", false},
		{"a generator that began late", func(c *result.Cell, g *grounds) { several(c, g)[1].Started += 100e6 },
			"generator 2 of 2 began 251 ms after the others were to; the limit is 250 ms", true},
		{"a generator that died", func(c *result.Cell, g *grounds) { several(c, g)[1].Failure = "killed" }, "generator 2 of 2 failed: killed", false},
		{"an unmerged part of the op log", func(c *result.Cell, g *grounds) { several(c, g); c.Load.Generators[1] = 0 },
			"generator 2 of 2 had 40 writes acknowledged, its op log has 0", false},
		{"less than its share", func(c *result.Cell, g *grounds) { several(c, g)[1].Planned = 51 }, "generator 2 of 2 wrote 40 operations; of its share at least 41 are needed", false},
		{"a share of nothing", func(c *result.Cell, g *grounds) {
			r := several(c, g)
			c.Load.Timed, c.Load.Generators[1] = true, 0
			r[1].Done, r[1].Planned = 0, 0
		}, "generator 2 of 2 wrote 0 operations; of its share at least 1 are needed", false},
		{"generators whose time was up before their share was written", func(c *result.Cell, g *grounds) {
			several(c, g)[1].Planned, c.Load.Timed = 51, true
		}, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &result.Cell{
				Load:    result.Load{Model: result.ModelOpen, Planned: 100, Done: 100, QPS: 10, OfferedQPS: ptr(12), PlannedQPS: ptr(10), LagMs: &result.Quantiles{P99: 3}},
				Storage: result.Storage{Requests: 100, LatencyMeanMs: 87, SeenMeanMs: ptr(87.5), SeenMs: &result.Quantiles{Count: 400}},
				Handler: result.Handler{LittleDiscrepancy: ptr(0.02)},
			}
			g := grounds{limits: testLimits, littleQueue: "Pod_3", deviationMs: ptr(9)}
			tc.change(c, &g)
			got, behind := invalid(c, g)
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("refused: %v", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if tc.late != (len(behind) == 1) || tc.late && behind[0] != got[0] {
				t.Errorf("about time: %q", behind)
			}
		})
	}
}

// TestTailsAreBelieved: a storage that serves what it was told to is taken for a stalled machine in few cells, however
// heavy the tail, and one that takes half as long again is found out where so many draws can tell.
func TestTailsAreBelieved(t *testing.T) {
	const cells, requests = 400, 150
	for text, found := range map[string]int{ // cells, at least
		"150ms": cells, "lognormal(mean=150ms,p99=187.5ms)": cells, "lognormal(mean=150ms,p99=450ms)": cells,
		"lognormal(mean=150ms,p99=1500ms)": cells / 8, "mix(0.99=20ms,0.01=2s)": 0,
	} {
		g := groundsOf(&Figures{cell: &history.Cell{Planned: 1, Scenario: spec.Scenario{Storage: spec.Storage{Latency: text}}}}, "")
		var refused, slow int
		for seed := range uint64(cells) {
			m, err := behavior.ParseModel(text, seed+100)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			for range requests {
				sum += float64(m.Sample("PUT", podKind, "", time.Time{})) / 1e6
			}
			seen := func(mean float64) int {
				c := &result.Cell{Load: result.Load{Planned: 1, Done: 1}, Storage: result.Storage{
					Requests: requests, LatencyMeanMs: float64(m.Mean("PUT", podKind)) / 1e6, SeenMeanMs: &mean, SeenMs: &result.Quantiles{Count: requests},
				}}
				why, _ := invalid(c, g)
				return len(why)
			}
			refused += seen(sum / requests)
			slow += seen(1.5 * sum / requests)
		}
		if refused > cells/100 || slow < found {
			t.Errorf("%s: ± %.1f ms, %d of %d refused, %d at 1.5 times", text, *g.deviationMs, refused, cells, slow)
		}
	}
}

// TestPausesAreNoGenerator: threads that are told to pause are not at work all the time.
func TestPausesAreNoGenerator(t *testing.T) {
	for _, tc := range []struct {
		name   string
		load   plan.Load
		judged bool
	}{
		{"no pause", plan.Load{}, true},
		{"think time", plan.Load{ThinkTime: spec.Duration(95e6)}, false},
		{"stage gap", plan.Load{StageGap: spec.Duration(95e6)}, false},
		{"a lifecycle that pauses", plan.Load{StageGap: 1e9}, false},
	} {
		e := backlog(0) // one thread writes for 5 ms of each 100
		e.cell.Planned = 0
		tc.load.Model, tc.load.Threads = result.ModelClosed, 1
		e.cell.Scenario.Load.Load = tc.load
		if c := e.figures(t); c.Valid == tc.judged {
			t.Errorf("%s: valid %v %v", tc.name, c.Valid, c.InvalidReasons)
		}
	}
}

func TestBottleneck(t *testing.T) {
	cell := func(change func(*result.Cell)) *result.Cell {
		c := &result.Cell{
			Load:    result.Load{Model: result.ModelClosed, DurationS: 5, QPS: 800, LagMs: &result.Quantiles{P99: 1}},
			Handler: result.Handler{Queues: 1, Workers: 30, DrainAfterLoad: ptr(7)},
			Storage: result.Storage{LatencyMeanMs: 87, SeenMeanMs: ptr(88), QPS: ptr(335), LimitQPS: ptr(344.8), Efficiency: ptr(0.97), EfficiencyBacklog: ptr(0.99), BacklogSeconds: ptr(9)},
		}
		change(c)
		return c
	}
	slow := func(c *result.Cell) { c.Storage.EfficiencyBacklog, c.Storage.Efficiency = ptr(0.5), ptr(0.5) }
	idle := func(c *result.Cell) { c.Storage.EfficiencyBacklog, c.Storage.BacklogSeconds = nil, ptr(0.1) }
	for _, tc := range []struct {
		name   string
		cell   *result.Cell
		busy   *float64
		cores  *float64
		chance *float64
		want   string
	}{
		{"late generator", cell(func(c *result.Cell) { c.Load.Model, c.Load.LagMs.P99 = result.ModelOpen, 400 }), nil, nil, ptr(2), StageGenerator},
		{"kept up", cell(func(c *result.Cell) { c.Handler.DrainAfterLoad = ptr(0.3) }), nil, nil, ptr(2), StageNone},
		{"a cut cell did not keep up", cell(func(c *result.Cell) { c.Handler.DrainAfterLoad, c.Cut = ptr(0.3), true }), nil, nil, ptr(2), StageHandlers},
		{"senders busy", cell(func(*result.Cell) {}), nil, nil, ptr(2), StageHandlers},
		{"busy on the whole, but not while there was backlog", cell(func(c *result.Cell) { c.Storage.EfficiencyBacklog = ptr(0.6) }), nil, nil, ptr(2), StageUnknown},
		{"idle", cell(idle), ptr(0.97), ptr(1.9), ptr(2), StageUnknown},
		{"idle with queues of few events", cell(func(c *result.Cell) {
			idle(c)
			c.Handler.Queues, c.Handler.Imbalance, c.Storage.Efficiency = 30, ptr(3), ptr(0.1)
		}), nil, nil, ptr(2), StageUnknown},
		{"storage queues", cell(func(c *result.Cell) { c.Storage.SeenMeanMs = ptr(140) }), nil, nil, ptr(2), StageStorage},
		{"slow by chance", cell(func(c *result.Cell) { c.Storage.SeenMeanMs = ptr(140) }), nil, nil, ptr(40), StageHandlers},
		{"slow for whole periods", cell(func(c *result.Cell) { c.Storage.SeenMeanMs = ptr(140) }), nil, nil, nil, StageHandlers},
		{"skew", cell(func(c *result.Cell) {
			c.Handler.Queues, c.Handler.Imbalance, c.Storage.EfficiencyBacklog = 30, ptr(1.8), ptr(0.6)
		}), nil, nil, ptr(2), StageSkew},
		{"machine", cell(slow), ptr(0.97), ptr(0.5), ptr(2), StageMachine},
		{"watcher", cell(slow), ptr(0.7), ptr(1.9), ptr(2), StageWatcher},
		{"writer", cell(func(c *result.Cell) { slow(c); c.Writer.FullSeconds = ptr(2) }), ptr(0.5), nil, ptr(2), StageWriter},
		{"no rule", cell(slow), ptr(0.5), ptr(0.4), ptr(2), StageUnknown},
		{"nothing known", &result.Cell{}, nil, nil, ptr(2), StageUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := bottleneck(tc.cell, grounds{limits: spec.Limits{Lag: spec.Duration(250e6)}, machineBusy: tc.busy, cpus: 2, cpuCores: tc.cores}, tc.chance)
			if b.Stage != tc.want || b.Why == "" {
				t.Errorf("%+v, want %s", b, tc.want)
			}
		})
	}
}

// TestLimitUsesTheTrueMean: Little's limit is that of the mean of what is drawn, however the family is written.
func TestLimitUsesTheTrueMean(t *testing.T) {
	for latency, want := range map[string]float64{
		"lognormal(mean=150ms,p99=1500ms)":  4 / 0.150,
		"lognormal(mean=150ms,p99=450ms)":   4 / 0.150,
		"lognormal(p50=50ms,sigma=1)":       4 / 0.0824361,
		"mix(0.95=100ms,0.05=1100ms)":       4 / 0.150,
		"slow(100ms,x=10,every=10s,for=1s)": 4 / 0.190,
	} {
		e := backlog(0)
		e.cell.Scenario.Storage.Latency = latency
		e.cell.Scenario.Storage.Capacity.Inflight = 4 // requests may wait, so latency is as configured
		e.cell.Scenario.Watcher = spec.Watcher{Strategy: "keyed", PodQueueNum: 4}
		e.cell.Watcher = history.WatcherRun{Own: true}
		approx(t, latency, e.figures(t).Storage.LimitQPS, want, 0.01)
	}
}

// TestLimitIsAsServed: what the draws came to bounds the rate, unless requests may have waited in storage.
func TestLimitIsAsServed(t *testing.T) {
	for name, tc := range map[string]struct {
		capacity spec.Capacity
		want     float64
	}{
		"nothing waits":     {spec.Capacity{}, 1 / 0.200},
		"room for more":     {spec.Capacity{Inflight: 2}, 1 / 0.200},
		"room for as many":  {spec.Capacity{Inflight: 1}, 1 / 0.100},
		"so many each time": {spec.Capacity{Rate: 50}, 1 / 0.100},
	} {
		e := backlog(0) // served within 200 ms
		e.cell.Scenario.Storage.Latency, e.cell.Scenario.Storage.Capacity = "100ms", tc.capacity
		approx(t, name, e.figures(t).Storage.LimitQPS, tc.want, 0.001)
	}
}
