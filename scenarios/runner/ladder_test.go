package runner

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestUnfit: a rung is skipped where what the rungs before it used says that it does not
// fit, and only there.
func TestUnfit(t *testing.T) {
	cell := func(objects int64, mib float64) result.Cell {
		return result.Cell{ID: fmt.Sprint("c", objects, "-", mib), Valid: true, Load: result.Load{Prefill: objects, OfferedQPS: new(100.0), QPS: 100},
			Parties: map[string]result.Party{"watcher": {RSSPeakMiB: mib / 2}, "storagemock": {RSSPeakMiB: mib / 2}}}
	}
	unlimited := cell(10, 50)
	unlimited.Load.OfferedQPS, unlimited.Load.QPS = nil, 5000
	const mib = 1 << 20
	// 100 MiB, and 1 MiB per 10 objects beyond 1000: 1000 MiB for 10,000.
	three := []result.Cell{cell(100, 10), cell(1000, 100), unlimited}
	for _, tc := range []struct {
		name    string
		cells   []result.Cell
		objects int
		rate    float64
		speed   units.Speed
		memory  float64
		want    string // empty: it is run
	}{
		{"room", three, 10_000, 100, 0, 1001 * mib, ""},
		{"no room", three, 10_000, 100, 0, 999 * mib, "needs 1.0 GiB, 1.0 GiB are available"},
		{"a size that was run", three, 1000, 100, 0, 100 * mib, ""},
		{"too little is known", three[:1], 10_000, 100, 0, 1, ""},
		{"a rate that was reached", three, 1000, 5000, 0, 999 * mib, ""},
		{"a rate that was not", three, 1000, 5001, 0, 999 * mib, "needs 5001 events/s, 5000 were reached"},
		{"by speed", three, 1000, 600, 10, 999 * mib, "needs 6000 events/s"},
		{"no rate", three, 1000, 90_000, units.Unlimited, 999 * mib, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := spec.Default()
			s.Ladder, s.Cluster.Provider = true, spec.ProviderReplay
			s.Load.Prefill, s.Load.Rate, s.Load.Speed = tc.objects, tc.rate, tc.speed
			r := &Runner{opts: Options{Memory: tc.memory}, dir: t.TempDir(), results: &result.Results{Cells: tc.cells}}
			if got := r.unfit(&s); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("%q, want %q", got, tc.want)
			}
			without := r.memoryFor(int64(tc.objects))
			// A first list that took twice as much was over before the load began.
			for _, c := range tc.cells {
				dir := history.CellDir(r.dir, c.ID)
				half := c.Parties["watcher"].RSSPeakMiB * mib
				use := map[string]history.Use{"watcher": {RSSBytes: half, RSSHighestBytes: 3 * half}, "storagemock": {RSSBytes: half}}
				if err := errors.Join(os.MkdirAll(dir, 0o755), history.SaveLines(dir, history.FileSamples, []history.Sample{{Parties: use}})); err != nil {
					t.Fatal(err)
				}
			}
			if need, want := r.memoryFor(int64(tc.objects)), 2*without; need != want {
				t.Errorf("%.0f bytes with first lists, want %.0f", need, want)
			}
			s.Ladder = false
			if got := r.unfit(&s); got != "" {
				t.Errorf("no ladder: %q", got)
			}
		})
	}
}

// TestResumeClimbsOnce: a rung that was measured and is invalid is not given away for one that
// is skipped, and a rung that was skipped is taken up when it fits, and only then.
func TestResumeClimbsOnce(t *testing.T) {
	f := assesstest.Scenario(t, "rungs", "", "cluster.provider=replay", "ladder=true", "matrix.load.prefill=100,200,300,400")
	record := func() string {
		dir := t.TempDir()
		assesstest.Run(t, dir, f, 30, nil)
		assesstest.Alter(t, dir, func(r *history.Run) {
			r.Environment = here(t)
			last := len(r.Cells) - 1
			r.Run.Skipped, r.Cells = []result.Skip{{ID: r.Cells[last], Why: "no room"}}, r.Cells[:last]
		})
		return dir
	}
	dir := record()
	run, err := history.LoadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	invalid, skipped := run.Cells[2], run.Run.Skipped[0].ID
	resume := func(dir string, memory float64) (*Runner, string) {
		r, err := Resume(t.Context(), Options{Scenario: f, Provider: "embedded", Memory: memory}, dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Discard)
		var steps []string
		for _, s := range r.Steps() {
			steps = append(steps, s.ID)
		}
		return r, strings.Join(steps, " ")
	}
	if _, steps := resume(dir, 1<<50); steps != skipped {
		t.Errorf("with room %q is to be run, want %q", steps, skipped)
	}
	dir = record()
	if err := os.RemoveAll(history.CellDir(dir, skipped)); err != nil {
		t.Fatal(err)
	}
	c, err := history.LoadCell(history.CellDir(dir, invalid))
	if err != nil {
		t.Fatal(err)
	}
	c.Planned = 1000 // of which too few were done
	if err := history.SaveJSON(history.CellDir(dir, invalid), history.FileCell, c); err != nil {
		t.Fatal(err)
	}
	r, steps := resume(dir, 1)
	if steps != invalid {
		t.Errorf("without room %q is to be run, want %q", steps, invalid)
	}
	if err := r.all(t.Context()); err != nil { // no cluster: it must not begin
		t.Fatal(err)
	}
	now, err := history.LoadRun(dir)
	if err != nil || len(now.Cells) != 3 || len(now.Run.Skipped) != 1 || now.Run.Skipped[0].ID != skipped {
		t.Errorf("cells %v, skipped %+v: %v", now.Cells, now.Run.Skipped, err)
	}
	if _, err := history.LoadCell(history.CellDir(dir, invalid)); err != nil {
		t.Errorf("the record of %s is gone: %v", invalid, err)
	}
}

// TestStoredOfAnother: how long the first sync of another watcher took, too, is seen at storage.
func TestStoredOfAnother(t *testing.T) {
	opts, said := stage(t, ladder, "matrix.load=small", "watcher.command='{bin}/k8s-watch -f {config}'")
	w := simulated(t, opts, said).Results.Cells[0].Watcher
	if w.Stored == nil || w.StoredCPU == nil || *w.Stored <= 0 || w.FirstSync != nil {
		t.Errorf("first sync %v, stored %v, CPU %v", w.FirstSync, w.Stored, w.StoredCPU)
	}
}

// ladder has two rungs that fit, and one that is said not to.
const ladder = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: ladder}
cluster: {provider: replay}
ladder: true
storage: {latency: 20ms}
load: {model: open, rate: 200, duration: 1s, objectBytes: 2100B, namespaces: 3}
watcher: {podQueueNum: 8, synchronizer: {disabled: true}}
limits: {lag: 30s, minOffered: 1%}
matrix:
  load:
    small: {prefill: 100}
    large: {prefill: 1000}
    unlimited: {prefill: 100, speed: unlimited}
    huge: {prefill: 1000000}
drainTimeout: 60s
`

// TestLadder climbs on real processes: each rung has its sync up to storage, memory and
// freshness, the one without room is skipped, and the folder judges alike.
func TestLadder(t *testing.T) {
	opts, said := stage(t, ladder)
	opts.Memory = 1 // byte: what is estimated does not fit; of the first two sizes nothing can be
	out := simulated(t, opts, said)
	res := out.Results
	if len(res.Cells) != 3 || len(res.Missing()) != 0 || len(res.Run.Skipped) != 1 || res.Run.Skipped[0].ID != "huge" {
		t.Fatalf("%d cells, skipped %+v", len(res.Cells), res.Run.Skipped)
	}
	if !strings.Contains(said.String(), "huge: skipped: needs") {
		t.Errorf("the skipped rung is not said:\n%s", said)
	}
	for i, c := range res.Cells {
		if want := []string{"small", "large", "unlimited"}[i]; c.ID != want || !onlyLate(c) {
			t.Errorf("cell %d is %s, want %s; %v", i, c.ID, want, c.InvalidReasons)
		}
		w := c.Watcher
		if w.Stored == nil || w.StoredCPU == nil || w.FirstSync == nil || *w.Stored <= 0 || *w.StoredCPU <= 0 {
			t.Fatalf("%s: first sync %v, stored %v, CPU %v", c.ID, w.FirstSync, w.Stored, w.StoredCPU)
		}
		for _, g := range []string{"G1", "G6"} {
			if v := c.Checks[g].Verdict; v != result.Pass {
				t.Errorf("%s: %s is %s", c.ID, g, v)
			}
		}
	}
	for _, x := range res.Growth.Rungs {
		if x.Valid > 0 && (x.Stored == nil || x.SyncCPU == nil || x.PeakMiB == nil || x.HeldMiB == nil || x.FreshP99 == nil) {
			t.Errorf("%s lacks a figure: %+v", x.Point, x)
		}
	}
	judgedAlike(t, out.Dir)
}
