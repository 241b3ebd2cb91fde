package measure

import (
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

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
			b := bottleneck(limits{cell: tc.cell, chanceMs: tc.chance, machineBusy: tc.busy, cpus: 2, cpuCores: tc.cores, lagLimitMs: 250})
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
