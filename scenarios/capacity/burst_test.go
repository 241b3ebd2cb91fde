package capacity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/model"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Two keys by the contract's vectors: of three queues these are in 2 and in 0.
const (
	inTwo  = "web-abc-1"
	inZero = "nginx-0"
)

// write is one of a pod, which was acknowledged so many milliseconds into the load.
func write(kind, name string, ms int64) oplog.Record {
	const start = int64(1e18)
	namespace := map[string]string{inTwo: "team-a", inZero: "default"}[name]
	return oplog.Record{
		ID: ms + 1, Phase: oplog.PhaseLoad, Type: kind, Kind: podKind, Namespace: namespace, Name: name, UID: name, Status: 200,
		Started: start + ms*1e6, Finished: start + ms*1e6,
	}
}

// writes are so many of a pod, one every few milliseconds.
func writes(name string, n int, every int64) (all []oplog.Record) {
	for i := range int64(n) {
		all = append(all, write(oplog.TypePatch, name, i*every))
	}
	return all
}

func predicted(t *testing.T, r *Report, point, figure string) float64 {
	t.Helper()
	l := line(t, r, point, figure, burstModel)
	if l.Predicted == nil || l.Kind != Approximate {
		t.Fatalf("%+v", l)
	}
	return *l.Predicted
}

// TestBurst: storage answers after 20 ms, so that one request at a time comes to 50/s.
func TestBurst(t *testing.T) {
	for _, v := range []struct {
		name, point string
		ops         []oplog.Record
		strategy    string
		queues      int
		change      func(*spec.Scenario, *result.Cell)
		peak, drain float64
	}{
		{name: "at once", point: "keyed, 2 queues", ops: writes(inTwo, 30, 0), strategy: "keyed", queues: 2, peak: 30, drain: 0.3},
		// 100/s for 0.4 s, of which 50/s are served: 20 are left, and the last of 41 comes besides.
		{name: "a ramp", point: "single, 1 queue", ops: writes(inTwo, 41, 10), strategy: "single", queues: 8, peak: 21, drain: 0.82},
		{name: "storage allows 2", point: "keyed, 10 queues", ops: writes(inTwo, 30, 0), strategy: "keyed", queues: 10,
			change: func(s *spec.Scenario, _ *result.Cell) { s.Storage.Capacity.Inflight = 2 }, peak: 30, drain: 0.3},
		{name: "storage allows 10/s", point: "keyed, 10 queues", ops: writes(inTwo, 30, 0), strategy: "keyed", queues: 10,
			change: func(s *spec.Scenario, _ *result.Cell) { s.Storage.Capacity.Rate = 10 }, peak: 30, drain: 3},
		{name: "the limit is of another kind", point: "keyed, 10 queues", ops: writes(inTwo, 30, 0), strategy: "keyed", queues: 10,
			change: func(s *spec.Scenario, _ *result.Cell) {
				s.Storage.Capacity = spec.Capacity{Inflight: 1, Rate: 10, Kinds: []string{"Node"}}
			}, peak: 30, drain: 0.06},
		// All are in one of three queues: the other two do not help.
		{name: "one queue", point: "partitioned, 3 queues", ops: writes(inTwo, 30, 0), strategy: "partitioned", queues: 3, peak: 30, drain: 0.6},
		{name: "two queues", point: "partitioned, 3 queues", ops: append(writes(inTwo, 30, 0), writes(inZero, 10, 0)...), strategy: "partitioned", queues: 3,
			change: func(s *spec.Scenario, _ *result.Cell) { s.Watcher.HandlerQueueLen = 29 }, peak: 40, drain: 0.6}, // one of 30 is in flight
		{name: "two queues, storage allows one", point: "partitioned, 3 queues", ops: append(writes(inTwo, 30, 0), writes(inZero, 10, 0)...), strategy: "partitioned", queues: 3,
			change: func(s *spec.Scenario, _ *result.Cell) { s.Storage.Capacity.Inflight = 1 }, peak: 40, drain: 0.8},
		// The last of them arrives long after the others: it takes a whole request.
		{name: "a late one", point: "keyed, 10 queues", ops: append(writes(inTwo, 30, 0), write(oplog.TypePatch, inZero, 500)), strategy: "keyed", queues: 10, peak: 30, drain: 0.52},
	} {
		t.Run(v.name, func(t *testing.T) {
			s := newSaved(t)
			s.ops = v.ops
			s.cell(t, v.strategy, v.queues, 1, 50, func(sc *spec.Scenario, c *result.Cell) {
				c.Series = map[string]result.Series{result.SeriesQueueDepth: {T: []float64{-1, 0.1, 0.2, 10.1}, V: []float64{99, 17, 18, 98}}}
				if v.change != nil {
					v.change(sc, c)
				}
			})
			r := s.of(t)
			if got := predicted(t, r, v.point, "peak backlog"); got != v.peak {
				t.Errorf("a peak of %g, want %g", got, v.peak)
			}
			if got := predicted(t, r, v.point, "drain"); got < v.drain-1e-9 || got > v.drain+1e-9 {
				t.Errorf("drained after %g s, want %g", got, v.drain)
			}
			// Samples from before the load and after the drain of 10 s do not count.
			if l := line(t, r, v.point, "peak backlog", burstModel); l.Measured == nil || *l.Measured != 18 || !strings.Contains(l.Note, "may be higher") {
				t.Errorf("%+v", l)
			}
			if l := line(t, r, v.point, "drain", burstModel); l.Measured == nil || *l.Measured != 10 {
				t.Errorf("%+v", l)
			}
		})
	}
}

// TestBurstOfRepetitions: each is held against its own arrivals, and one that was not sampled
// leaves no measured figure.
func TestBurstOfRepetitions(t *testing.T) {
	s := newSaved(t)
	for rep, n := range []int{10, 30, 50} {
		s.ops = writes(inTwo, n, 0)
		s.cell(t, "keyed", 2, rep+1, 50)
	}
	l := line(t, s.of(t), "keyed, 2 queues", "peak backlog", burstModel)
	if l.N != 3 || *l.Predicted != 30 || l.Measured != nil {
		t.Errorf("%+v", l)
	}
}

func TestBurstRefuses(t *testing.T) {
	many := writes(inTwo, 30, 0)
	for _, v := range []struct {
		name     string
		ops      []oplog.Record
		strategy string
		change   func(*spec.Scenario)
		want     string
	}{
		{"merging", many, "dedup", nil, "dedup merges"},
		{"others write", many, "keyed", func(s *spec.Scenario) { s.Cluster.Controllers = true }, "no op log"},
		{"no latency", many, "keyed", func(s *spec.Scenario) { s.Storage.Latency = "0s" }, "no latency"},
		{"slow periods", many, "keyed", func(s *spec.Scenario) { s.Storage.Latency = "slow(20ms,x=10,every=10s,for=1s)" }, "whole periods"},
		{"no backlog", writes(inTwo, 2, 0), "keyed", nil, "no more events arrive"},
		{"a queue of 27 overflows", many, "keyed", func(s *spec.Scenario) { s.Watcher.HandlerQueueLen = 27 }, "28 events wait for a queue with room for 27"},
		{"a queue of 28 does not", many, "keyed", func(s *spec.Scenario) { s.Watcher.HandlerQueueLen = 28 }, ""},
		{"a partition of 28 overflows", many, "partitioned", func(s *spec.Scenario) { s.Watcher.HandlerQueueLen = 28 }, "29 events wait for a queue with room for 28"},
	} {
		t.Run(v.name, func(t *testing.T) {
			s := newSaved(t)
			s.ops = v.ops
			s.cell(t, v.strategy, 2, 1, 50, func(sc *spec.Scenario, _ *result.Cell) {
				if v.change != nil {
					v.change(sc)
				}
			})
			all := strings.Join(s.of(t).Refused, "\n")
			if !strings.Contains(all, v.want) || (v.want == "") == strings.Contains(all, burstModel) {
				t.Errorf("want %q in\n%s", v.want, all)
			}
		})
	}
	s := newSaved(t)
	s.cell(t, "partitioned", 2, 1, 50)
	logs, err := filepath.Glob(filepath.Join(history.CellDir(s.dir, s.res.Cells[0].ID), history.FileOps+"*"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	if err := os.Remove(logs[0]); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(s.of(t).Refused, "\n"); !strings.Contains(all, "burst: the record of a cell has no op log") || !strings.Contains(all, "hash skew: the record of a cell has no op log") {
		t.Errorf("no op log is not said:\n%s", all)
	}
}

// TestEvents: a deletion is two events of an API server that is not simulated, unless the
// deletion time was asked for before.
func TestEvents(t *testing.T) {
	failed := write(oplog.TypePatch, inZero, 7)
	failed.Status = 503
	before := write(oplog.TypePatch, inZero, 8)
	before.Phase = oplog.PhaseWarmup
	other := write(oplog.TypePatch, inZero, 9)
	other.Kind = "ConfigMap"
	ops := []oplog.Record{
		write(oplog.TypeCreate, inZero, 30), write(oplog.TypeCreate, inTwo, 10), failed, before, other,
		write(oplog.TypeDelete, inTwo, 40), write(oplog.TypeTerminate, inZero, 50), write(oplog.TypeDelete, inZero, 60),
	}
	for provider, want := range map[string][]event{
		"embedded": {{0, 2}, {20, 0}, {30, 2}, {30, 2}, {40, 0}, {50, 0}}, spec.ProviderReplay: {{0, 2}, {20, 0}, {30, 2}, {40, 0}, {50, 0}},
	} {
		s := newSaved(t)
		s.ops = ops
		s.cell(t, "partitioned", 3, 1, 50)
		sc := spec.Default()
		sc.Cluster.Provider, sc.Watcher.PodQueueNum = provider, 3
		l, err := readLoad(history.CellDir(s.dir, s.res.Cells[0].ID), &sc)
		if err != nil {
			t.Fatal(err)
		}
		if len(l.events) != len(want) {
			t.Fatalf("%s: %v, want %v", provider, l.events, want)
		}
		for i, e := range l.events {
			if e.at != want[i].at*time.Millisecond || e.queue != want[i].queue {
				t.Errorf("%s: event %d is %v, want %v", provider, i, e, want[i])
			}
		}
		if len(l.keys) != 2 || l.keys[keyOf(inTwo)] != 2 || l.keys[keyOf(inZero)] != 3 {
			t.Errorf("%v", l.keys)
		}
	}
}

func keyOf(name string) model.Key {
	w := write("", name, 0)
	return model.Key{Namespace: w.Namespace, Name: w.Name}
}
