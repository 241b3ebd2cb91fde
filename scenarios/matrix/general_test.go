package matrix

import (
	"slices"
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

// state feeds a record to rules and returns what they state.
func state(rules Rules, ops []oplog.Record, entries []ledger.Entry, figures *result.Cell) []result.Fact {
	for i := range ops {
		rules.Operation(&ops[i])
	}
	for i := range entries {
		rules.Request(&entries[i])
	}
	return facts(rules, seen(ops, entries, figures))
}

// TestGeneral: every rule states its facts under the names and units that reports of former runs have.
func TestGeneral(t *testing.T) {
	const s = int64(1e9)
	lists := 0
	c := &Case{Cell: &history.Cell{Scenario: spec.Default(), LoadStarted: 0, LoadFinished: 100 * s, ScrapeFinished: 200 * s, Watcher: history.WatcherRun{
		Own: true, Started: 1 * s, Ready: 3 * s, Exits: []history.Exit{{Process: "k8s-watch", Terminated: true}},
	}}}
	c.Cell.Scenario.Fault = &spec.Fault{Row: "F2", Title: "x", Recovery: spec.Duration(10 * time.Second), Amplification: 3, PerStep: true, Lists: &lists, FromAnswer: true}
	c.Cell.Scenario.Storage.Faults = []string{"refuse(from=1s,for=2s)", "429(from=4s,for=1s,retry-after=2s)"}
	c.Cell.Scenario.Watch = spec.Watch{Faults: []string{"gone(1s,from=1s,for=2s)"}, AtStart: true}
	c.Cell.Scenario.Watcher.Strategy = "dedup"
	c.Cell.Scenario.Watcher.PodQueueNum = 2
	failed := func(n float64) history.Point {
		return history.Point{Labels: map[string]string{"resource_type": "Pod", "status": "failure"}, Value: n}
	}
	listed := func(kind string, n float64) history.Point {
		return history.Point{Labels: map[string]string{"kind": kind}, Value: n}
	}
	c.Before = history.Scrape{metric.StorageRequests: {failed(5)}}
	c.After = history.Scrape{metric.StorageRequests: {failed(9)}, metric.Relists: {listed("Pod", 1), listed("Custom0", 7)},
		metric.SyncRuns: {{Value: 1}}, metric.SyncRepairs: {listed("Pod", 2), listed("Custom0", 4)}}
	c.CustomKinds = []string{"Custom0"}
	c.Samples = []history.Sample{{QueueDepth: ptr(3.0)}, {QueueDepth: ptr(1.0)}, {}}
	beside := opAt(oplog.TypePatch, "b", "v", 2, 4*s)
	beside.Bystander = true
	throttled := acked("PUT", "a", "u", 1, 4*s)
	throttled.Fault, throttled.Effect, throttled.Status = "429", ledger.EffectRejected, 429
	got := state(General(c), []oplog.Record{opAt(oplog.TypeCreate, "a", "u", 1, 2*s), beside},
		[]ledger.Entry{throttled, acked("PUT", "a", "u", 1, 5*s), acked("PUT", "a", "u", 1, 8*s), acked("PUT", "b", "v", 2, 6*s)},
		&result.Cell{Bystander: result.Bystander{Freshness: &result.Quantiles{P99: 2.5}}})
	for i := range got {
		if got[i].Name == "bystander freshness p99 from the apiserver's answer" && (got[i].Value < 1.99 || got[i].Value > 2.01) {
			t.Errorf("%+v, want about 2 s", got[i])
		} else if got[i].Name == "bystander freshness p99 from the apiserver's answer" {
			got[i].Value = 2
		}
	}
	want := []result.Fact{
		{Column: "T", Name: "until the first lists were complete", Unit: "s", Value: 2, Limit: ptr(10.0), OK: true},
		{Column: "T", Name: "recovery after the fault", Unit: "s", Value: 1, Limit: ptr(10.0), OK: true},
		{Column: "C", Name: "changes that never arrived", Limit: ptr(0.0), OK: true},
		{Column: "C", Name: "repairs of the synchronizer", Value: 2, Limit: ptr(0.0)},
		{Column: "A", Name: "write attempts per state", Value: 2, Limit: ptr(3.0), OK: true},
		{Column: "A", Name: "attempts while storage was down", Value: 4, Limit: ptr(12.0), OK: true, Detail: "2 workers, 6 steps in 3s"},
		{Column: "A", Name: "lists of another kind after its first", Value: 1, Limit: ptr(0.0)},
		{Column: "A", Name: "Retry-After disobeyed", Value: 1, Limit: ptr(0.0), Detail: "Pod/n/a came 1.000 s too early, obeyed 0 times"},
		{Column: "B", Name: "events queued", Unit: "events", Value: 3, Limit: ptr(2.0)},
		{Column: "I", Name: "bystander freshness p99 from the apiserver's answer", Unit: "s", Value: 2, OK: true},
		{Column: "I", Name: "bystander freshness p99", Unit: "s", Value: 2.5, OK: true},
		{Column: "X", Name: "watchers that did not exit cleanly", Limit: ptr(0.0), OK: true},
		{Column: "X", Name: "panics logged", Limit: ptr(0.0), OK: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}

	c.Cell.Scenario.Watch, c.Cell.Scenario.Storage.Faults = spec.Watch{}, []string{"503:10%"}
	late := state(General(c), []oplog.Record{opAt(oplog.TypeCreate, "a", "u", 1, 2*s)}, []ledger.Entry{acked("PUT", "a", "u", 1, 15*s)}, &result.Cell{})
	if i := slices.IndexFunc(late, func(f result.Fact) bool { return f.Name == "longest delay of a change" }); i < 0 || late[i].OK || late[i].Value != 13 {
		t.Errorf("a fault without an end: %+v", late)
	}
	c.Cell.Scenario.Fault = nil
	if rules := General(c); rules != nil {
		t.Errorf("a scenario without a row has %d rules", len(rules))
	}
}

func TestRefused(t *testing.T) {
	c := &Case{Cell: &history.Cell{Scenario: spec.Default(), Refusal: &history.Refusal{Ended: true, ExitCode: 1, LastLine: "x509: certificate has expired or is not yet valid", Seconds: 1.2345}}}
	c.Cell.Scenario.Fault = &spec.Fault{Row: "F27", Title: "x", Refused: true, Recovery: spec.Duration(time.Second), Assert: []string{"S", "T", "X"}}
	c.Cell.Scenario.Storage.TLS = "expired"
	want := []result.Fact{
		{Column: "S", Name: "requests that reached storage", Value: 1, Limit: ptr(0.0)},
		{Column: "X", Name: "exit code of the watcher", Value: 1, OK: true, Detail: c.Cell.Refusal.LastLine},
		{Column: "S", Name: "it names what is wrong", Value: 1, OK: true, Detail: "want: certificate has expired"},
		{Column: "T", Name: "until it refused", Unit: "s", Value: 1.235, Limit: ptr(1.0)},
	}
	if d := cmp.Diff(want, state(General(c), nil, []ledger.Entry{acked("PUT", "a", "u", 1, 5)}, &result.Cell{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	cell := result.Cell{Valid: true, Checks: verdicts("G13", result.NotJudged)}
	Fill(c, General(c), &cell, Seen{Figures: &cell})
	if x := cell.Robustness.Columns["S"]; x.Verdict != result.Pass || !cell.Valid {
		t.Errorf("%+v, valid %v", x, cell.Valid)
	}
	c.Cell.Refusal.Ended = false
	if x := state(General(c), nil, nil, &result.Cell{})[3]; !x.Missing || x.OK {
		t.Errorf("it never ended: %+v", x)
	}
	c.Cell.Refusal.Ended = true
	c.Cell.Scenario.Storage.TLS = "wrong-ca"
	if got := state(General(c), nil, nil, &result.Cell{}); got[2].OK || !got[0].OK {
		t.Errorf("another reason: %+v", got)
	}
	cell = result.Cell{Valid: true, Checks: verdicts("G13", result.NotJudged)}
	Fill(c, General(c), &cell, Seen{Figures: &cell})
	if x := cell.Robustness.Columns["S"]; x.Verdict != result.Fail || !cell.Valid {
		t.Errorf("%+v, valid %v", x, cell.Valid)
	}
}
