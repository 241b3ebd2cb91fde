package robustness

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// TestEvenly: moments are drawn by the seed, one in each part of the whole life.
func TestEvenly(t *testing.T) {
	draw := func(seed uint64) []time.Duration { return evenly(rand.New(rand.NewPCG(seed, 1)), 50, 2*time.Second) }
	a := draw(1)
	if slices.IsSorted(a) || !slices.Equal(a, draw(1)) || slices.Equal(a, draw(2)) {
		t.Errorf("not in random order, or not by the seed: %v", a)
	}
	slices.Sort(a)
	for i, d := range a {
		if part := time.Duration(i) * 40 * time.Millisecond; d < part || d > part+40*time.Millisecond {
			t.Errorf("number %d is %s, not in its part from %s on", i, d, part)
		}
	}
	if got := evenly(rand.New(rand.NewPCG(1, 1)), 0, time.Second); len(got) != 0 {
		t.Errorf("of a single kill: %v", got)
	}
}

// killsAt is a case of kills, and the facts and reasons that their rules come to.
func killsAt(t *testing.T, all []killed, entries []ledger.Entry, changes ...history.Change) (map[string]result.Fact, string) {
	t.Helper()
	c := caseOf(&spec.Fault{Recovery: spec.Duration(10 * time.Second)})
	c.Cell.LoadFinished = int64(300 * time.Second)
	for _, k := range all {
		c.Deeds = append(c.Deeds, deedOf(t, killAnytime, 0, k))
	}
	rules := witness(t, c, (&randomKills{}).rules, nil, entries)
	seen := matrix.Seen{}
	seen.Changes = slices.Values(changes)
	facts := map[string]result.Fact{}
	for _, f := range rules[0].Facts(seen) {
		facts[f.Name] = f
	}
	return facts, strings.Join(rules[0].Vacuous(seen), "\n")
}

// TestKillPhases: what a watcher was doing when it was killed follows from the record.
func TestKillPhases(t *testing.T) {
	const s = int64(time.Second)
	last := &faults.CatchUp{Seconds: 1}
	acked := func(n int, at int64) (all []ledger.Entry) {
		for range n {
			all = append(all, ledger.Entry{Method: "PUT", Kind: podKind, Responded: at, Status: 200})
		}
		return all
	}
	for _, tc := range []struct {
		name    string
		kill    killed
		entries []ledger.Entry
		changes []history.Change
		want    phases
	}{
		{"no list was complete", killed{At: 5 * s}, nil, []history.Change{{Finished: s, Stored: 9 * s}}, phases{first: 1}},
		{"storage lacked a change from before the lists were complete", killed{At: 5 * s, Ready: 3 * s}, nil,
			[]history.Change{{Finished: s, Stored: 2 * s}, {Finished: 2 * s, Stored: 6 * s}}, phases{behind: 1}},
		{"storage never got it", killed{At: 5 * s, Ready: 3 * s}, nil, []history.Change{{Finished: 2 * s}}, phases{behind: 1}},
		{"storage had it and could not say so", killed{At: 5 * s, Ready: 3 * s}, nil, []history.Change{{Finished: 2 * s, Unconfirmed: true}}, phases{steady: 1}},
		{"it came and went unseen", killed{At: 5 * s, Ready: 3 * s}, nil, []history.Change{{Finished: 2 * s, Gone: true}}, phases{steady: 1}},
		{"storage lacked only a later change", killed{At: 5 * s, Ready: 3 * s}, nil,
			[]history.Change{{Finished: 2 * s, Stored: 4 * s}, {Finished: 4 * s, Stored: 6 * s}}, phases{steady: 1}},
		{"nothing had changed", killed{At: 5 * s, Ready: 3 * s}, nil, nil, phases{steady: 1}},
		{"a deep queue", killed{At: 5 * s, Ready: 3 * s, Read: 4 * s, Queued: 50}, slices.Concat(acked(9, 4*s), acked(9, 5*s+1)), nil, phases{steady: 1, deep: 1}},
		{"a queue that was no longer deep", killed{At: 5 * s, Ready: 3 * s, Read: 4 * s, Queued: 50}, acked(1, 5*s), nil, phases{steady: 1}},
		{"no reading", killed{At: 5 * s, Ready: 3 * s}, acked(1, 4*s), nil, phases{steady: 1}},
	} {
		tc.kill.Last = last
		facts, _ := killsAt(t, []killed{tc.kill}, tc.entries, tc.changes...)
		value := func(name string) int { return int(facts[name].Value) }
		got := phases{value("kills during the first lists"), value("kills while storage was catching up"), value("kills in steady state"), value("kills with 50 events queued or more")}
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
}

// twenty kills that hit each phase and were compared just often enough.
func twenty() []killed {
	const s = int64(time.Second)
	var all []killed
	for i := range 20 {
		k := killed{At: int64(100+10*i) * s}
		switch {
		case i < 2: // during the first lists
		case i < 4: // the change of hitChanges is not in storage
			k.Ready = k.At - s
		default:
			k.Ready = k.At - 5*s
			if i < 6 {
				k.Read, k.Queued = k.At-1, 50
			}
		}
		all = append(all, k)
	}
	all[10].Wanted = all[10].At - s
	all[11].Wanted, all[11].Behind = all[11].At-s, "it was just killed too early"
	all[19].Last = &faults.CatchUp{Seconds: 2}
	return all
}

// hitChanges has a change before each of the kills 2 and 3 that came after it.
func hitChanges() []history.Change {
	const s = int64(time.Second)
	return []history.Change{{Finished: 118 * s, Stored: 124 * s}, {Finished: 128 * s, Stored: 133 * s}}
}

// TestKillsProveSomething: each phase must have been hit often enough, and enough
// catch-ups compared; a kill after which storage never has everything fails.
func TestKillsProveSomething(t *testing.T) {
	const lost = "kills after which storage never had all that had happened before"
	const full = "catch-ups compared in full"
	const longest = "longest from a kill until storage had all that had happened before"
	for _, tc := range []struct {
		name   string
		edit   func([]killed) []killed
		more   history.Change
		why    string // that the cell proves nothing; empty: it does prove something
		failed []string
	}{
		{name: "just enough"},
		{name: "one less in the first lists", edit: func(all []killed) []killed { all[0].Ready = all[0].At; return all }, why: "kills during the first lists: 1; at least 2 are needed"},
		{name: "one less while catching up", edit: func(all []killed) []killed { all[2].Ready = 0; return all }, why: "kills while storage was catching up: 1; at least 2 are needed"},
		{name: "none in steady state", edit: func(all []killed) []killed {
			for i := range all[4:] {
				all[4+i].Ready = 0
			}
			return all
		}, why: "kills in steady state: 0; at least 2 are needed"},
		{name: "a shorter queue", edit: func(all []killed) []killed { all[4].Queued = 49; return all }, why: "kills with 50 events queued or more: 1; at least 2 are needed"},
		{name: "one comparison less", edit: func(all []killed) []killed { all[10].Behind = "x"; return all }, why: "catch-ups compared in full: 1; at least 2 are needed"},
		{name: "one after the load", edit: func(all []killed) []killed { all[19].At += 20e9; return all }, why: "1 kills came after the load had ended"},
		{name: "the last never caught up", edit: func(all []killed) []killed { all[19].Last.Behind = "Pod/a is not in storage"; return all },
			why: "catch-ups compared in full: 1", failed: []string{full}},
		{name: "the last was never looked at", edit: func(all []killed) []killed { all[19].Last = nil; return all }, why: "catch-ups compared in full: 1", failed: []string{full}},
		{name: "a change that never came", more: history.Change{Finished: 290e9}, failed: []string{lost, longest}},
		{name: "a change that came too late", more: history.Change{Finished: 290e9, Stored: 301e9}, failed: []string{longest}},
	} {
		all := twenty()
		if tc.edit != nil {
			all = tc.edit(all)
		}
		changes := hitChanges()
		if tc.more.Finished != 0 {
			changes = append(changes, tc.more)
		}
		facts, why := killsAt(t, all, nil, changes...)
		if (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s: proves nothing because of %q, want %q", tc.name, why, tc.why)
		}
		var failed []string
		for _, name := range []string{full, lost, longest} {
			if f, ok := facts[name]; !ok || !f.OK {
				failed = append(failed, name)
			}
		}
		if d := cmp.Diff(tc.failed, failed); d != "" {
			t.Errorf("%s: failed facts\n%s", tc.name, d)
		}
	}
}

// TestKillsShareCatchUps: the comparison at a kill stands for all restarts since the one
// before; the first watcher's stands for none.
func TestKillsShareCatchUps(t *testing.T) {
	all := make([]killed, 8)
	all[0].Wanted, all[3].Wanted, all[4].Wanted = 1, 1, 1
	all[7].Last = &faults.CatchUp{}
	k := kills{all: all}
	if n, share, behind := k.compared(); n != 3 || share != 4 || behind != "" {
		t.Errorf("%d compared, %d share one, %q; want 3, 4 and nothing behind", n, share, behind)
	}
}
