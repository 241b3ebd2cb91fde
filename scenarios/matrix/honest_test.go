package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// ordinary is a cell in which everything is as it should be.
func ordinary() *Case {
	c := &Case{Cell: &history.Cell{Scenario: spec.Default(), LoadFinished: 10e9, ScrapeFinished: 20e9, Watcher: history.WatcherRun{
		Own: true, Exits: []history.Exit{{Process: "k8s-watch", Terminated: true}},
	}}}
	c.Cell.Scenario.Fault = &spec.Fault{Row: "F2", Title: "x", Recovery: spec.Duration(10 * time.Second), Amplification: 2, PerStep: true, Assert: []string{"C", "A", "B", "T", "X"}}
	c.Cell.Scenario.Storage.Faults = []string{"refuse(from=1s,for=2s)"}
	c.Cell.Scenario.Watcher.Strategy = "dedup"
	calls := func(n float64) []history.Point {
		return []history.Point{{Labels: map[string]string{"resource_type": "Pod", "status": "failure"}, Value: n}}
	}
	c.Before = history.Scrape{metric.StorageRequests: calls(0), metric.SyncRuns: {{}}}
	c.After = history.Scrape{metric.StorageRequests: calls(4), metric.SyncRuns: {{}}}
	c.Samples = []history.Sample{{QueueDepth: ptr(1.0)}}
	return c
}

// TestDeletedAsStorageDied: a DELETE that a killed storage never read is in no ledger, and nobody sends it again to one
// that came back without the object.
func TestDeletedAsStorageDied(t *testing.T) {
	c := ordinary()
	c.Marks = []history.Mark{{Time: 5e9, What: history.MarkStorageKilled}, {Time: 6e9, What: history.MarkStorageBack}}
	for at, want := range map[int64]float64{3.9e9: 1, 4.9e9: 0, 5.5e9: 0, 6.1e9: 1} {
		ops := []oplog.Record{opAt(oplog.TypeCreate, "a", "u", 1, 2e9), opAt(oplog.TypeDelete, "a", "u", 2, at)}
		for _, f := range state(General(c), ops, []ledger.Entry{acked("PUT", "a", "u", 1, 2.1e9)}, &result.Cell{}) {
			if f.Name == "changes that never arrived" && f.Value != want {
				t.Errorf("deleted at %v: %v never arrived, want %v", time.Duration(at), f.Value, want)
			}
		}
	}
}

// TestNothingIsSilentlyAbsent: what went wrong beside time, or could not be established, fails a column.
func TestNothingIsSilentlyAbsent(t *testing.T) {
	op := opAt(oplog.TypeCreate, "a", "u", 1, 2e9)
	put := acked("PUT", "a", "u", 1, 4e9)
	for _, tc := range []struct {
		name    string
		edit    func(*Case)
		entries []ledger.Entry
		want    string // failed facts
	}{
		{"fine", nil, []ledger.Entry{put}, ""},
		{"a change never arrived", nil, []ledger.Entry{acked("PUT", "b", "v", 1, 4e9)}, "T recovery after the fault; C changes that never arrived"},
		{"one that storage had and did not acknowledge", nil, []ledger.Entry{unanswered(put), acked("PUT", "b", "v", 1, 4e9)}, "T recovery after the fault"},
		{"nothing reached storage", nil, nil, "T recovery after the fault; C changes that never arrived; A write attempts per state"},
		{"repaired by the synchronizer", func(c *Case) {
			c.After[metric.SyncRepairs] = []history.Point{{Labels: map[string]string{"kind": "Pod"}, Value: 1}}
		}, []ledger.Entry{put}, "C repairs of the synchronizer"},
		{"a repair that the row is about", func(c *Case) {
			c.Cell.Scenario.Fault.Repairs = true
			c.After[metric.SyncRepairs] = []history.Point{{Labels: map[string]string{"kind": "Pod"}, Value: 1}}
		}, []ledger.Entry{put}, ""},
		{"no scrape", func(c *Case) { c.After = nil }, []ledger.Entry{put}, "C repairs of the synchronizer; A attempts while storage was down"},
		{"no first scrape", func(c *Case) { c.Before = nil }, []ledger.Entry{put}, "A attempts while storage was down"},
		{"queues never read", func(c *Case) { c.Samples = []history.Sample{{}} }, []ledger.Entry{put}, "B events queued"},
		{"no exit", func(c *Case) { c.Cell.Watcher.Exits = nil }, []ledger.Entry{put}, "X watchers that did not exit cleanly"},
		{"exit code", exits(history.Exit{Process: "k8s-watch", Terminated: true, ExitCode: 1}), []ledger.Entry{put}, "X watchers that did not exit cleanly"},
		{"killed on purpose", exits(history.Exit{Killed: true, ExitCode: -1}, history.Exit{Terminated: true}), []ledger.Entry{put}, ""},
		{"ended by itself just before it was killed on purpose", exits(history.Exit{Killed: true, ExitCode: 2}, history.Exit{Terminated: true}), []ledger.Entry{put}, "X watchers that did not exit cleanly"},
		{"SIGKILL needed", exits(history.Exit{Terminated: true, Killed: true, ExitCode: -1}), []ledger.Entry{put}, "X watchers that did not exit cleanly"},
		{"ended by itself", exits(history.Exit{}), []ledger.Entry{put}, "X watchers that did not exit cleanly"},
		{"panicked and went on", exits(history.Exit{Terminated: true, Panics: 1, FirstPanic: "Observed a panic"}), []ledger.Entry{put}, "X panics logged"},
	} {
		c := ordinary()
		if tc.edit != nil {
			tc.edit(c)
		}
		var failed []string
		for _, f := range state(General(c), []oplog.Record{op}, tc.entries, &result.Cell{}) {
			if !f.OK {
				failed = append(failed, f.Column+" "+f.Name)
			}
		}
		var want []string
		if tc.want != "" {
			want = strings.Split(tc.want, "; ")
		}
		if d := cmp.Diff(want, failed); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
	cut := ordinary()
	cut.Cell.Cut = true
	exits(history.Exit{Killed: true, ExitCode: -1})(cut)
	facts := state(General(cut), []oplog.Record{op}, []ledger.Entry{put}, &result.Cell{})
	if x := Column("X", nil, facts); x.Verdict != result.NotJudged {
		t.Errorf("the exit of a cut cell's watcher is judged: %+v", x)
	}
}

// unanswered is a request that took effect, and whose answer was lost.
func unanswered(e ledger.Entry) ledger.Entry {
	e.Responded, e.Status = 0, 0
	return e
}

func exits(all ...history.Exit) func(*Case) {
	return func(c *Case) { c.Cell.Watcher.Exits = all }
}

// TestTooFew: watch faults and events must have hit something too.
func TestTooFew(t *testing.T) {
	c := ordinary()
	s := &c.Cell.Scenario
	s.Storage.Faults = []string{"503:10%", "reset(max=2)"}
	s.Watch.Faults = []string{"close(1s,3s)", "silent(max=1)"}
	s.Events = []spec.Event{{What: "delete-objects", Count: 20}, {What: "create-objects", Count: 1}, {What: "sigkill"}}
	c.Cell.Fired = []history.Firing{{Name: "503", Fired: 9, Keys: 3}, {Name: "reset", Fired: 2, Keys: 2}}
	c.Cell.WatchFired = []history.Firing{{Name: "close(1s,3s)", Fired: 3, Keys: 2}, {Name: "silent", Fired: 1, Keys: 1}}
	c.Deeds = []history.Deed{{What: "delete-objects", Keys: 20}, {What: "create-objects", Keys: 1}, {What: "sigkill"}}
	if why := tooFew(c); why != nil {
		t.Errorf("enough: %q", why)
	}
	c.Cell.Fired[0].Keys, c.Cell.Fired[1].Keys, c.Cell.WatchFired[0].Fired, c.Deeds[0].Keys, c.Deeds[1].Keys = 2, 1, 2, 0, 0
	want := []string{
		"the fault 503 hit 2 objects; at least 3 are needed", "the fault reset hit 1 objects; at least 2 are needed",
		"the fault close(1s,3s) hit 2 watches or requests; at least 3 are needed",
		"the event delete-objects hit 0 objects; at least 3 are needed", "the event create-objects hit 0 objects; at least 1 are needed",
	}
	if d := cmp.Diff(want, tooFew(c)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	c.Cell.Fired, c.Cell.WatchFired, s.Events = nil, nil, nil
	want = []string{"the fault 503 was never counted", "the fault reset was never counted",
		"the fault close(1s,3s) was never counted", "the fault silent was never counted"}
	if d := cmp.Diff(want, tooFew(c)); d != "" {
		t.Errorf("nobody counted (-want +got):\n%s", d)
	}
}

// TestNobodyWaited: connections that were refused while nothing was to be sent prove nothing.
func TestNobodyWaited(t *testing.T) {
	c := ordinary() // storage refuses from second 1 to second 3
	var ops []oplog.Record
	var entries []ledger.Entry
	for i, arrived := range []int64{4e9, 4e9, 4e9, 25e8} {
		name := fmt.Sprint("p", i)
		ops = append(ops, opAt(oplog.TypeCreate, name, "u-"+name, uint64(i+1), 2e9))
		entries = append(entries, acked("PUT", name, "u-"+name, uint64(i+1), arrived))
	}
	why := func(n int) []string { return waitedRule(c).Vacuous(seen(ops[4-n:], entries[4-n:], nil)) }
	if got := why(4); got != nil {
		t.Errorf("three waited: %q", got)
	}
	if d := cmp.Diff([]string{"2 changes waited for the end of the fault refuse; at least 3 are needed"}, why(3)); d != "" {
		t.Error(d)
	}
	if got := General(c); !slices.ContainsFunc(got, func(r Rule) bool { return r.Vacuous != nil }) {
		t.Error("the rule is not among the general ones")
	}
}
