package runner

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestUnfit: a rung is skipped where what the rungs before it used says that it does not
// fit, and only there.
func TestUnfit(t *testing.T) {
	cell := func(objects int64, mib float64) result.Cell {
		return result.Cell{ID: "c", Valid: true, Load: result.Load{Prefill: objects, OfferedQPS: new(100.0), QPS: 100},
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
			r := &Runner{opts: Options{Memory: tc.memory}, results: &result.Results{Cells: tc.cells}}
			if got := r.unfit(&s); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("%q, want %q", got, tc.want)
			}
			s.Ladder = false
			if got := r.unfit(&s); got != "" {
				t.Errorf("no ladder: %q", got)
			}
		})
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
