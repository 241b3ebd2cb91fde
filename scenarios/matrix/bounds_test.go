package matrix

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

func ptr[T any](v T) *T { return &v }

// bounded is a cell of 2 kinds and 3 senders with 4 objects beside the load's; its watcher used 100 MB, 40 goroutines
// and 9 sockets before the load.
func bounded(edit func(*spec.Scenario)) *Case {
	s := spec.Default()
	s.Fault = &spec.Fault{Row: "F1", Title: "x", Assert: []string{"B", "I"}}
	s.Load.ObjectBytes = 1 << 10
	s.Watcher.PodQueueNum = 3
	s.Extra = spec.Extra{Namespaces: 2, Pods: 2}
	if edit != nil {
		edit(&s)
	}
	return &Case{Cell: &history.Cell{Scenario: s, Kinds: []string{"Pod", "Namespace"}, LoadStarted: 100}, Samples: []history.Sample{
		{Time: 10, Goroutines: ptr(70.0), Sockets: ptr(9.0), Parties: map[string]history.Use{history.PartyWatcher: {RSSBytes: 100e6}}},
		{Time: 90, Goroutines: ptr(40.0), Sockets: ptr(8.0), Parties: map[string]history.Use{history.PartyWatcher: {RSSBytes: 90e6}}},
		{Time: 110, Goroutines: ptr(900.0), Sockets: ptr(900.0), Parties: map[string]history.Use{history.PartyWatcher: {RSSBytes: 900e6}}},
	}}
}

func TestCeilings(t *testing.T) {
	const object = 1<<10 + objectOverhead
	seen := Seen{Measured: check.Measured{Operations: 4, PeakLive: 2}}
	for _, tc := range []struct {
		name string
		edit func(*spec.Scenario)
		want check.Ceilings
	}{
		{"derived", nil, check.Ceilings{RSSBytes: ptr(100e6 + 1.25*8*object + 4*object), Goroutines: ptr(40.0 + 120 + 6), Sockets: ptr(9.0 + 12), GoroutinesReturn: ptr(5.0)}},
		{"the scenario's", func(s *spec.Scenario) {
			s.Ceilings = spec.Ceilings{RSS: 7, Goroutines: 8, Sockets: 9, GoroutinesReturn: 10, SlopePerMinute: 0.02, SlopeWindow: 60e9}
		}, check.Ceilings{RSSBytes: ptr(7.0), Goroutines: ptr(8.0), Sockets: ptr(9.0), GoroutinesReturn: ptr(10.0), SlopePercentPerMinute: ptr(2.0), SlopeWindow: 60e9}},
		{"the most queues of a change", func(s *spec.Scenario) { s.Events = []spec.Event{{What: "resize", PodQueueNum: 10}} },
			check.Ceilings{RSSBytes: ptr(100e6 + 1.25*8*object + 4*object), Goroutines: ptr(40.0 + 120 + 20), Sockets: ptr(9.0 + 40), GoroutinesReturn: ptr(5.0)}},
	} {
		if d := cmp.Diff(&tc.want, Ceilings(bounded(tc.edit), []Rule{{Cached: 2}, {}}, seen)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// TestIsolation: the keys that no fault hit are compared only where the faults choose keys, and a baseline below 50 ms
// counts as that.
func TestIsolation(t *testing.T) {
	const s = int64(1e9)
	poisoned := acked("PUT", "a", "u", 1, 90*s)
	poisoned.Fault = "422"
	ops := []oplog.Record{opAt(oplog.TypePatch, "a", "u", 1, 1*s), opAt(oplog.TypePatch, "b", "v", 2, 2*s)}
	seen := seen(ops, []ledger.Entry{poisoned, acked("PUT", "b", "v", 2, 4*s)},
		&result.Cell{Bystander: result.Bystander{Freshness: &result.Quantiles{Count: 5, P99: 0.3, HDR: "x"}}})
	base := &result.Cell{Freshness: &result.Quantiles{Count: 7, P99: 0.2, HDR: "x"}, Bystander: result.Bystander{Freshness: &result.Quantiles{Count: 9, P99: 0.001}}}
	for _, tc := range []struct {
		name   string
		faults []string
		base   *result.Cell
		others float64 // p99; 0: not compared
	}{
		{"all keys", []string{"422:10%"}, base, 0},
		{"some keys", []string{"422(keys=10%)"}, base, 2},
		{"named keys", []string{"422(key=n/a)"}, base, 2},
		{"nothing to compare with", []string{"422(key=n/a)"}, nil, -1},
	} {
		c := bounded(func(s *spec.Scenario) { s.Storage.Faults = tc.faults })
		c.Baseline = tc.base
		got := Isolation(c, seen)
		if tc.others < 0 {
			if got != nil {
				t.Errorf("%s: %+v", tc.name, got)
			}
			continue
		}
		want := &check.Isolation{Bystander: &result.Quantiles{Count: 5, P99: 0.3}, BystanderBaseline: &result.Quantiles{Count: 9, P99: 0.05}}
		if tc.others > 0 {
			if got.Others == nil || got.Others.Count != 1 || got.Others.P99 < tc.others*0.99 || got.Others.P99 > tc.others*1.01 {
				t.Errorf("%s: the others are %+v, want one of %v s", tc.name, got.Others, tc.others)
			}
			want.Others, want.OthersBaseline = got.Others, &result.Quantiles{Count: 7, P99: 0.2}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
	c := bounded(func(s *spec.Scenario) { s.Fault.Assert = []string{"B"} })
	c.Baseline = base
	if got := Isolation(c, seen); got != nil {
		t.Errorf("column I was not asked for: %+v", got)
	}
}
