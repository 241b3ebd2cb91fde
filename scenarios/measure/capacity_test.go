package measure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// calibration is a closed load of writes of one object each, every gap ms, for which one
// sender needs took ms each.
func calibration(writes int, gap, took float64) *evidence {
	e := backlog(0)
	e.cell.ID, e.cell.Calibrates, e.cell.Planned = "cal", true, 0
	e.cell.Scenario.Load.StageGap = spec.Duration((gap - 5) * 1e6)
	e.ops, e.entries = nil, nil
	free := 0.0
	for i := range writes {
		t := float64(i) * gap
		e.ops = append(e.ops, op(oplog.TypeCreate, fmt.Sprint(i), "u", uint64(i+1), t, t, t+5))
		free = max(free, t+5) + took
		e.entries = append(e.entries, put(fmt.Sprint(i), "u", uint64(i+1), free-took, free))
	}
	e.cell.DrainEnd = at(free)
	return e
}

func TestCapacity(t *testing.T) {
	c := calibration(100, 100, 200).figures(t) // 10/s offered, 5/s carried
	if !c.Valid || c.Capacity == nil {
		t.Fatalf("valid %v %v, capacity %v", c.Valid, c.InvalidReasons, c.Capacity)
	}
	approx(t, "capacity", &c.Capacity.QPS, 5, 0.01)
	approx(t, "written", &c.Capacity.WrittenQPS, 10, 0.01)
	approx(t, "seconds", &c.Capacity.Seconds, 4.95, 0.01)
	if c.Capacity.AtLeast || c.Capacity.Cell != "cal" || c.Capacity.Writes < 24 || c.Capacity.Writes > 25 {
		t.Errorf("%+v", *c.Capacity)
	}
	c = calibration(100, 100, 90).figures(t)
	if c.Capacity == nil || !c.Capacity.AtLeast {
		t.Fatalf("storage kept up, yet the capacity is %+v", c.Capacity)
	}
	approx(t, "lower bound", &c.Capacity.QPS, 10, 0.01)

	if c = calibration(12, 100, 400).figures(t); c.Valid || c.Capacity != nil || !strings.Contains(strings.Join(c.InvalidReasons, " "), "too few to tell a capacity") {
		t.Errorf("a dozen writes gave %+v, valid %v %v", c.Capacity, c.Valid, c.InvalidReasons)
	}
}

// TestCapacityCountsWrites: a request that makes good five writes counts five times.
func TestCapacityCountsWrites(t *testing.T) {
	e := backlog(0)
	e.cell.ID, e.cell.Calibrates = "cal", true
	e.ops, e.entries = nil, nil
	rv := uint64(0)
	for pod := range 100 { // ten pods per second with five writes at once each
		for range 5 {
			rv++
			t := float64(pod) * 100
			e.ops = append(e.ops, op(oplog.TypePatch, fmt.Sprint(pod), "u", rv, t, t, t+5))
		}
		r := 5 + float64(pod)*200 // five requests per second
		e.entries = append(e.entries, put(fmt.Sprint(pod), "u", rv, r, r+200))
	}
	c := e.figures(t)
	if c.Capacity == nil || c.Capacity.AtLeast {
		t.Fatalf("%+v", c.Capacity)
	}
	approx(t, "capacity in writes", &c.Capacity.QPS, 25, 1)
}

// TestOffered: the rate that is shown is the mean one; a load that is a part of a
// capacity says so, and of which.
func TestOffered(t *testing.T) {
	const second = spec.Duration(1e9)
	e := backlog(0)
	e.cell.Capacity = &result.Capacity{Cell: "cal", QPS: 20}
	e.cell.Scenario.Load = spec.Load{OfCapacity: 0.5, Load: plan.Load{
		Model: result.ModelOpen, Arrival: plan.ArrivalBurst, Duration: 10 * second, Burst: &plan.Burst{Period: 2 * second, Length: second},
	}}.At(20)
	c := e.figures(t)
	if c.Load.OfferedQPS == nil || *c.Load.OfferedQPS != 10 || c.Load.OfCapacity == nil || *c.Load.OfCapacity != 0.5 || c.Capacity == nil || c.Capacity.Cell != "cal" {
		t.Errorf("%+v of %+v", c.Load, c.Capacity)
	}
	if !c.Valid {
		t.Errorf("10/s on average are what was asked for, 20/s in the bursts: %v", c.InvalidReasons)
	}
}

// TestLimitUsesTheTrueMean: Little's limit is that of the mean of what is drawn, however
// the family is written.
func TestLimitUsesTheTrueMean(t *testing.T) {
	for latency, want := range map[string]float64{
		"lognormal(mean=150ms,p99=1500ms)":             4 / 0.150,
		"lognormal(mean=150ms,p99=450ms)":              4 / 0.150,
		"lognormal(p50=50ms,sigma=1)":                  4 / 0.0824361,
		"bimodal(fast=100ms,slow=1100ms,p=5%)":         4 / 0.150,
		"slow(100ms,x=10,every=10s,for=1s,fixed=true)": 4 / 0.190,
	} {
		e := backlog(0)
		e.cell.Scenario.Storage.Latency = latency
		e.cell.Scenario.Watcher = spec.Watcher{Strategy: "keyed", PodQueueNum: 4}
		e.cell.Watcher = history.WatcherRun{Own: true}
		approx(t, latency, e.figures(t).Storage.LimitQPS, want, 0.01)
	}
}
