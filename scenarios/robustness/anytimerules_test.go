package robustness

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix/matrixtest"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// killsAt are the facts of kills, and why they prove nothing.
func killsAt(t *testing.T, all []killed, changes ...history.Change) ([]result.Fact, string) {
	t.Helper()
	c := matrixtest.Case(&spec.Fault{Recovery: spec.Duration(10 * time.Second)})
	c.Cell.LoadFinished = int64(300 * time.Second)
	for _, k := range all {
		c.Deeds = append(c.Deeds, matrixtest.Deed(t, killAnytime, 0, k))
	}
	rules := matrixtest.Witness(t, c, (&randomKills{}).rules, nil, nil)
	return rules[0].Facts(matrixtest.Seen(changes...)), strings.Join(rules[0].Vacuous(matrixtest.Seen(changes...)), "\n")
}

// TestKillPhases: what a watcher was doing when it was killed follows from the record.
func TestKillPhases(t *testing.T) {
	const s = int64(time.Second)
	type changes = []history.Change
	for _, tc := range []struct {
		name    string
		ready   int64
		changes changes
		want    [3]float64 // first lists, behind, steady
	}{
		{"no list was complete", 0, changes{{Finished: s, Stored: 9 * s}}, [3]float64{1, 0, 0}},
		{"storage lacked a change from before the lists were complete", 3 * s,
			changes{{Finished: s, Stored: 2 * s}, {Finished: 2 * s, Stored: 6 * s}}, [3]float64{0, 1, 0}},
		{"storage never got it", 3 * s, changes{{Finished: 2 * s}}, [3]float64{0, 1, 0}},
		{"storage had it and could not say so", 3 * s, changes{{Finished: 2 * s, Unconfirmed: true}}, [3]float64{0, 0, 1}},
		{"it came and went unseen", 3 * s, changes{{Finished: 2 * s, Gone: true}}, [3]float64{0, 0, 1}},
		{"storage lacked only a later change", 3 * s,
			changes{{Finished: 2 * s, Stored: 4 * s}, {Finished: 4 * s, Stored: 6 * s}}, [3]float64{0, 0, 1}},
		{"nothing had changed", 3 * s, nil, [3]float64{0, 0, 1}},
	} {
		facts, _ := killsAt(t, []killed{{At: 5 * s, Ready: tc.ready, Last: &faults.CatchUp{Seconds: 1}}}, tc.changes...)
		if got := [3]float64{facts[0].Value, facts[1].Value, facts[2].Value}; got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestKillsProveSomething: each phase must have been hit often enough; a kill after which storage never has everything
// fails.
func TestKillsProveSomething(t *testing.T) {
	const s = int64(time.Second)
	const lost, end, longest = "kills after which storage never had all that had happened before",
		"storage caught up after the last kill", "longest from a kill until storage had all that had happened before"
	for _, tc := range []struct {
		name   string
		edit   func([]killed)
		more   history.Change
		why    string // that the cell proves nothing; empty: it does prove something
		failed []string
	}{
		{name: "just enough"},
		{name: "one less in the first lists", edit: func(all []killed) { all[0].Ready = all[0].At },
			why: "kills during the first lists: 1; at least 2 are needed"},
		{name: "one less while catching up", edit: func(all []killed) { all[2].Ready = 0 },
			why: "kills while storage was catching up: 1; at least 2 are needed"},
		{name: "none in steady state", edit: func(all []killed) {
			for i := range all[4:] {
				all[4+i].Ready = 0
			}
		}, why: "kills in steady state: 0; at least 2 are needed"},
		{name: "one after the load", edit: func(all []killed) { all[19].At += 20 * s }, why: "1 kills came after the load had ended"},
		{name: "the last never caught up", edit: func(all []killed) { all[19].Last.Behind = "Pod/a" }, failed: []string{end}},
		{name: "the last was never looked at", edit: func(all []killed) { all[19].Last = nil }, failed: []string{end}},
		{name: "a change that never came", more: history.Change{Finished: 290 * s}, failed: []string{lost, longest}},
		{name: "a change that came too late", more: history.Change{Finished: 290 * s, Stored: 301 * s}, failed: []string{longest}},
	} {
		var all []killed // 2 during the first lists, 2 before storage had what follows, 16 in steady state
		for i := range int64(20) {
			k := killed{At: (100 + 10*i) * s}
			if i >= 2 {
				k.Ready = k.At - s
			}
			all = append(all, k)
		}
		all[19].Last = &faults.CatchUp{Seconds: 2}
		if tc.edit != nil {
			tc.edit(all)
		}
		changes := []history.Change{{Finished: 118 * s, Stored: 124 * s}, {Finished: 128 * s, Stored: 133 * s}}
		if tc.more.Finished != 0 {
			changes = append(changes, tc.more)
		}
		facts, why := killsAt(t, all, changes...)
		if (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s: proves nothing because of %q, want %q", tc.name, why, tc.why)
		}
		var failed []string
		for _, f := range facts {
			if !f.OK {
				failed = append(failed, f.Name)
			}
		}
		if d := cmp.Diff(tc.failed, failed); d != "" {
			t.Errorf("%s: failed facts\n%s", tc.name, d)
		}
	}
}
