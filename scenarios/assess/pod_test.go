package assess

import (
	"os"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestPods: what the cluster did to a Pod makes a cell invalid, and clocks of nodes that differ take its freshness away,
// and nothing else.
func TestPods(t *testing.T) {
	const ms = int64(1e6)
	for _, tc := range []struct {
		name    string
		edit    func(generator, storage, watcher *history.Pod)
		invalid string // part of the reason; empty: valid
		unknown string // part of why there is no freshness; empty: there is
	}{
		{"undisturbed", func(_, _, _ *history.Pod) {}, "", ""},
		{"throttled before the load only", func(_, _, w *history.Pod) {
			w.Begun.Throttled, w.Ended.Throttled, w.Begun.ThrottledSeconds, w.Ended.ThrottledSeconds = 7, 7, 1, 1
		}, "", ""},
		{"throttled", func(_, _, w *history.Pod) { w.Ended.Throttled, w.Ended.ThrottledSeconds = 3, 0.31 }, "Pod w (watcher) was throttled for 0.31 s during load and drain (CPU limit 1)", ""},
		{"out of memory", func(_, s, _ *history.Pod) { s.Begun.OOMKills, s.Ended.OOMKills = 1, 2 }, "a process of Pod s (storagemock) was killed for its memory", ""},
		{"near clocks", func(_, s, _ *history.Pod) { s.Node, s.Begun.Ahead, s.Begun.Within = "other", 7*ms, 3*ms }, "", ""},
		{"clocks apart before", func(_, s, _ *history.Pod) { s.Node, s.Begun.Ahead = "other", -12*ms }, "", "may differ by 12ms, 10ms are tolerated"},
		{"clocks apart after", func(g, _, _ *history.Pod) { g.Node, g.Ended.Ahead = "other", 12*ms }, "", "may differ by 12ms"},
		{"slow readings", func(g, s, _ *history.Pod) { g.Node, g.Ended.Within, s.Ended.Within = "other", 6*ms, 5*ms }, "", "may differ by 11ms"},
		{"slow readings of one clock", func(g, s, _ *history.Pod) { g.Ended.Within, s.Ended.Within = 60*ms, 5*ms }, "", ""},
		{"the watcher's clock", func(_, _, w *history.Pod) { w.Node, w.Begun.Ahead = "other", 1000*ms }, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			assesstest.Run(t, dir, assesstest.Scenario(t, "plain", ""), 30, nil)
			cell := history.CellDir(dir, "only")
			c, err := history.LoadCell(cell)
			must(t, err)
			c.Pods = []history.Pod{{Party: history.PartyGenerator, Name: "g", Node: "n"}, {Party: history.PartyStorage, Name: "s", Node: "n"},
				{Party: history.PartyWatcher, Name: "w", Node: "n", Limits: map[string]string{"cpu": "1"}}}
			tc.edit(&c.Pods[0], &c.Pods[1], &c.Pods[2])
			must(t, history.SaveJSON(cell, history.FileCell, c))
			res, err := Run(t.Context(), dir)
			must(t, err)
			got := &res.Cells[0]
			if why := strings.Join(got.InvalidReasons, "; "); got.Valid != (tc.invalid == "") || !strings.Contains(why, tc.invalid) {
				t.Errorf("valid %v: %s; want %q", got.Valid, why, tc.invalid)
			}
			if (got.Freshness == nil) != (tc.unknown != "") || (got.Bystander.Freshness == nil) != (tc.unknown != "") || !strings.Contains(got.FreshnessUnknown, tc.unknown) {
				t.Errorf("freshness %+v, unknown because %q; want %q", got.Freshness, got.FreshnessUnknown, tc.unknown)
			}
			if got.Storage.QPS == nil || got.Checks["G1"].Verdict != result.Pass {
				t.Errorf("the rest is gone: %+v", got.Checks)
			}
		})
	}
}

// TestLostPod: of a cell whose Pod the cluster ended there is a reason, and nothing else is asked for.
func TestLostPod(t *testing.T) {
	dir := t.TempDir()
	assesstest.Run(t, dir, assesstest.Scenario(t, "plain", ""), 30, nil)
	cell := history.CellDir(dir, "only")
	c, err := history.LoadCell(cell)
	must(t, err)
	must(t, os.RemoveAll(cell))
	must(t, os.Mkdir(cell, 0o755))
	c.Lost = "evicted: Pod s: the node was low on memory"
	must(t, history.SaveJSON(cell, history.FileCell, c))
	res, err := Run(t.Context(), dir)
	must(t, err)
	must(t, res.Validate())
	if got := res.Cells[0]; got.Valid || len(got.InvalidReasons) != 1 || got.InvalidReasons[0] != c.Lost || got.ID != "only" {
		t.Errorf("%+v", got)
	}
}
