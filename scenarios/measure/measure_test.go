package measure

import (
	"math"
	"strings"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Times in the tables are milliseconds after base.
const base = int64(1_700_000_000_000_000_000)

func at(ms float64) int64 { return base + int64(ms*1e6) }

func op(typ, name, uid string, rv uint64, intended, started, finished float64) oplog.Record {
	return oplog.Record{
		Phase: oplog.PhaseLoad, Type: typ, Kind: "Pod", Namespace: "n", Name: name, UID: uid, ResourceVersion: rv,
		Intended: at(intended), Started: at(started), Finished: at(finished), Status: 200,
	}
}

func put(name, uid string, rv uint64, received, responded float64) ledger.Entry {
	return ledger.Entry{
		Method: "PUT", Kind: "Pod", Namespace: "n", Name: name, UID: uid, ResourceVersion: rv,
		Received: at(received), Applied: at(received), Responded: at(responded), Status: 200, Effect: ledger.EffectReplaced,
	}
}

func TestFreshnessCountsFromTheIntendedTime(t *testing.T) {
	bystander := op(oplog.TypePatch, "c", "u9", 5, 0, 0, 1)
	bystander.Kind, bystander.Bystander = "ConfigMap", true
	trickle := put("c", "u9", 5, 2, 40)
	trickle.Kind = "ConfigMap"
	failed := op(oplog.TypeCreate, "x", "u5", 1, 0, 0, 1)
	failed.Status = 500
	warm := op(oplog.TypeCreate, "w", "u6", 1, 0, 0, 1)
	warm.Phase = oplog.PhaseWarmup
	ops := []oplog.Record{op(oplog.TypeCreate, "a", "u1", 10, 0, 50, 60), op(oplog.TypeCreate, "b", "u2", 10, 0, 50, 60), bystander, failed, warm}
	changes := check.Changes(&check.Meta{}, ops, []ledger.Entry{put("a", "u1", 10, 61, 150), trickle})
	if c := changesOf(changes, at(50), at(60), &history.Clock{}); c.settled != 0 || c.owed != 2 || c.last != 0 {
		t.Errorf("the drain ended before: settled %d, owed %d; want 0 and 2", c.settled, c.owed)
	}
	c := changesOf(changes, at(50), at(200), &history.Clock{})
	if c.settled != 1 || c.owed != 1 || c.last != at(150) {
		t.Errorf("settled %d, owed %d, last %d ms; want 1, 1 and 150 ms", c.settled, c.owed, (c.last-base)/1e6)
	}
	q, err := c.load.Quantiles(Millis)
	if err != nil || q.Count != 1 || math.Abs(q.P50-150) > 0.2 {
		t.Errorf("load %+v: %v; want one of 150 ms", q, err)
	}
	if q, err = c.bystander.Quantiles(Millis); err != nil || q.Count != 1 || math.Abs(q.P50-40) > 0.1 {
		t.Errorf("bystander %+v: %v; want one of 40 ms", q, err)
	}
}

func value(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

func TestLoadOf(t *testing.T) {
	failed := op(oplog.TypeCreate, "x", "", 0, 10, 12, 30)
	failed.Thread, failed.Status, failed.Error = 1, 500, "boom"
	again := op(oplog.TypePatch, "a", "u", 0, 500, 499, 499.5)
	again.Thread, again.Status, again.Error = 1, 429, "busy"
	beat := op(oplog.TypeHeartbeat, "node", "", 0, 0, 0, 9000)
	by := op(oplog.TypePatch, "c", "", 0, 0, 0, 8000)
	by.Bystander = true
	sum := newLoad()
	for _, r := range []oplog.Record{op(oplog.TypeCreate, "a", "u", 1, 0, 2, 10), op(oplog.TypePatch, "a", "u", 2, 500, 500, 1002), failed, again, beat, by} {
		r.Attempt = 0
		if r.ResourceVersion == 2 {
			r.Attempt = 1
		}
		sum.add(&r)
	}
	l, err := sum.figures(&spec.Load{Load: plan.Load{Model: result.ModelOpen, Rate: 4}}, 4)
	if err != nil {
		t.Fatal(err)
	}
	w := sum.window
	if w.First != at(2) || w.Last != at(1002) {
		t.Errorf("window %v to %v", w.First-base, w.Last-base)
	}
	if l.Done != 2 || l.Errors != 2 || l.Planned != 4 || l.DurationS != 1 || l.QPS != 2 || *l.OfferedQPS != 4 {
		t.Errorf("%+v", l)
	}
	if l.LagMs.Count != 3 || math.Abs(l.LagMs.Max-2) > 0.01 {
		t.Errorf("lag %+v", l.LagMs)
	}
	// 8, 18, 0.5 and 502 ms of two threads' second.
	approx(t, "busy", sum.busy(2), (8+18+0.5+502)/2000, 1e-3)
	if l, err = sum.figures(&spec.Load{Load: plan.Load{Model: result.ModelClosed}}, 0); err != nil || l.Planned != 3 {
		t.Errorf("%d attempted, want 3: a retry is no other operation", l.Planned)
	}
	if math.Abs(l.FromIntent.P50-10) > 0.1 || math.Abs(l.FromActual.P50-8) > 0.1 {
		t.Errorf("from intent %v, from actual %v", l.FromIntent.P50, l.FromActual.P50)
	}
}

func TestHistogramsMerge(t *testing.T) {
	a, b, all := NewHistogram(), NewHistogram(), NewHistogram()
	for i := range int64(1000) {
		a.Add(i * 1e6)
		b.Add(i * 3e6)
		all.Add(i * 1e6)
		all.Add(i * 3e6)
	}
	merged := NewHistogram()
	for _, h := range []*Histogram{a, b} {
		q, err := h.Quantiles(Seconds)
		if err != nil {
			t.Fatal(err)
		}
		exported, err := hdrhistogram.Decode([]byte(q.HDR))
		if err != nil {
			t.Fatal(err)
		}
		if dropped := merged.h.Merge(exported); dropped > 0 {
			t.Errorf("%d values are out of range", dropped)
		}
	}
	got, err := merged.Quantiles(Seconds)
	if err != nil {
		t.Fatal(err)
	}
	want, err := all.Quantiles(Seconds)
	if err != nil {
		t.Fatal(err)
	}
	got.HDR, want.HDR = "", ""
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if q, err := NewHistogram().Quantiles(Seconds); q != nil || err != nil {
		t.Errorf("an empty histogram has %v, %v", q, err)
	}
}

func scrapeOf(t *testing.T, text string) history.Scrape {
	t.Helper()
	s, err := history.ParseScrape(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func queueMetrics(handled, depth, wait [3]string) string {
	var b strings.Builder
	for _, m := range []struct {
		name   string
		values [3]string
	}{{metric.QueueHandled, handled}, {metric.QueueDepthTime, depth}, {metric.QueueWaitSeconds, wait}} {
		b.WriteString("# TYPE " + m.name + " counter\n")
		for i, q := range []string{"Pod_0", "Pod_1", "ConfigMap"} {
			b.WriteString(m.name + `{queue="` + q + `"} ` + m.values[i] + "\n")
		}
	}
	return b.String()
}

func TestQueues(t *testing.T) {
	before := scrapeOf(t, queueMetrics([3]string{"10", "10", "5"}, [3]string{"1", "1", "0"}, [3]string{"1", "1", "0"}))
	after := scrapeOf(t, queueMetrics([3]string{"40", "20", "90"}, [3]string{"11", "5", "900"}, [3]string{"10.5", "5", "1"}))
	q := QueuesOf(before, after, "Pod", true)
	if d := cmp.Diff(map[string]float64{"Pod_0": 30, "Pod_1": 10}, q.Handled); d != "" {
		t.Error(d)
	}
	if q.Imbalance == nil || *q.Imbalance != 1.5 {
		t.Errorf("imbalance %v, want 30 ÷ 20", value(q.Imbalance))
	}
	// Pod_0: L = 10, λW = 9.5.
	if q.Little == nil || math.Abs(*q.Little-0.05) > 1e-9 || q.LittleQueue != "Pod_0" {
		t.Errorf("discrepancy %v in %q, want 0.05 in Pod_0", value(q.Little), q.LittleQueue)
	}
	if q := QueuesOf(before, after, "Pod", false); q.Little != nil {
		t.Error("a cell that was cut has events still waiting: Little's law is not judged")
	}
	if q := QueuesOf(nil, nil, "Pod", true); q.Handled != nil || q.Imbalance != nil || q.Little != nil {
		t.Errorf("a watcher without metrics has %+v", q)
	}
}

// What the report says of the method comes from here.
func TestLoadIsDescribed(t *testing.T) {
	closed := plan.Load{Model: plan.ModelClosed, Threads: 2, Arrival: plan.ArrivalPoisson}
	timed := closed
	timed.Duration, timed.ThinkTime, timed.Warmup.Operations = spec.Duration(5e9), spec.Duration(500e6), 60
	for _, tt := range []struct {
		load plan.Load
		want result.Load
	}{
		{closed, result.Load{Model: "closed", Threads: 2}},
		{timed, result.Load{Model: "closed", Threads: 2, Timed: true, ThinkS: 0.5, Warmup: 60}},
		{plan.Load{Model: plan.ModelOpen, Rate: 7, Duration: spec.Duration(5e9)}, result.Load{Model: "open", Arrival: "constant", OfferedQPS: ptr(7.0), PlannedQPS: ptr(0.0)}},
		{
			plan.Load{Model: plan.ModelOpen, Duration: spec.Duration(2e9), Steps: []plan.RateStep{{Length: spec.Duration(1e9), Rate: 8}, {Length: spec.Duration(1e9)}}},
			result.Load{Model: "open", Arrival: "constant", OfferedQPS: ptr(4.0), PlannedQPS: ptr(0.0)},
		},
		// The rate of a profile is of pods, not of writes.
		{plan.Load{Model: plan.ModelOpen, Rate: 2, Profile: "service-churn", Duration: spec.Duration(5e9)}, result.Load{Model: "open", Arrival: "poisson", PlannedQPS: ptr(0.0)}},
	} {
		l := newLoad()
		got, err := l.figures(&spec.Load{Load: tt.load}, 0)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%+v: %v (-want +got)\n%s", tt.load, err, diff)
		}
	}
}
