package runner

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
)

const eventful = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: eventful}
storage: {latency: 2ms}
load: {model: open, rate: 60, duration: 6s, prefill: 20, bystander: {kind: ConfigMap, rate: 5}}
watcher: {podQueueNum: 6, synchronizer: {period: 1s}}
extra: {pods: 6, namespaces: 2}
events:
  - {at: 1s, what: tamper-remove}
  - {at: 1s, what: tamper-edit}
  - {at: 1s, what: tamper-add}
  - {at: 3s, what: kill-restart}
  - {at: 4s, what: sigterm}
  - {at: 4s, what: delete-objects}
  - {at: 4s, what: recreate}
  - {at: 4s, what: delete-namespace}
  - {at: 4s, what: start}
fault: {row: F16, title: a bit of everything, assert: [C, O, T, X], measure: [A], recovery: 20s, repairs: true}
limits: {lag: 10s, minOffered: 50%, minPower: 0}
drainTimeout: 30s
`

// TestTimeline: everything that is done is in the marks, and is judged.
func TestTimeline(t *testing.T) {
	opts, said := stage(t, eventful)
	out := finish(t, opts, said)
	c := out.Results.Cells[0]
	holds(t, c, "C", "O", "T", "X")
	passes(t, c, "G1", "G9", "G12")
	if n := c.Checks["G9"].Judged; n != 2 || c.Watcher.Restarts != 2 {
		t.Errorf("%d restarts judged, %d counted, want 2", n, c.Watcher.Restarts)
	}
	if n := c.Checks["G12"].Judged; n != 3 {
		t.Errorf("%d rows judged, 3 were tampered with", n)
	}
	h, err := check.Load(out.Dir + "/cells/only")
	if err != nil {
		t.Fatal(err)
	}
	want := "started ready tamper-remove tamper-edit tamper-add sigkill exited started ready converged sigterm exited started ready converged"
	if got := marks(h); got != want {
		t.Errorf("marks\n got %s\nwant %s", got, want)
	}
	judgedAlike(t, out.Dir)
}

// TestRefusedStorage: a storage that cannot be trusted gets nothing, and the reason given is the right one.
func TestRefusedStorage(t *testing.T) {
	for kind, want := range map[string]string{"wrong-ca": "unknown authority", "tls-1.1": "protocol version"} {
		t.Run(kind, func(t *testing.T) {
			opts, said := stage(t, small, "matrix.watcher.strategy=keyed", "storage.tls="+kind, "extra={pods: 2, namespaces: 1}",
				"fault={row: F27, title: x, assert: [S, T, X], refused: true, recovery: 20s}")
			out := finish(t, opts, said)
			row := out.Results.Cells[0].Robustness
			if row == nil || row.Columns["S"].Verdict != result.Pass || row.Columns["T"].Verdict != result.Pass || row.Columns["X"].Verdict != result.Pass || !strings.Contains(row.Facts[1].Detail, want) {
				t.Errorf("%+v", row)
			}
		})
	}
}

// TestRotatedCA: the ledger of both lives of storage is one.
func TestRotatedCA(t *testing.T) {
	opts, said := stage(t, eventful, "events=[{at: 2s, what: rotate-ca}]", "storage.tls=valid", "fault.assert=[C, O, L, T, X]", "fault.repairs=false")
	out := finish(t, opts, said)
	holds(t, out.Results.Cells[0], "C", "O", "L", "T", "X")
}

// TestKilledStorage: what storage forgot comes back, and the ledger has both its lives.
func TestKilledStorage(t *testing.T) {
	opts, said := stage(t, eventful, "events=[{at: 1s, what: kill-storage, for: 2s}]", "fault={row: F2, title: x, assert: [C, T], recovery: 20s}")
	out := finish(t, opts, said)
	holds(t, out.Results.Cells[0], "C", "T")
	h, err := check.Load(out.Dir + "/cells/only")
	if err != nil {
		t.Fatal(err)
	}
	var killed int64
	for _, m := range h.Marks {
		if m.What == history.MarkStorageKilled {
			killed = m.Time
		}
	}
	before, after, last := 0, 0, uint64(0)
	for e, err := range h.Ledger {
		if err != nil {
			t.Fatal(err)
		}
		if e.Seq != last+1 {
			t.Fatalf("ledger: %d follows %d", e.Seq, last)
		}
		last = e.Seq
		if e.Applied < killed {
			before++
		} else {
			after++
		}
	}
	if killed == 0 || before < 50 || after < 50 {
		t.Errorf("killed at %d: %d writes before, %d after", killed, before, after)
	}
}
