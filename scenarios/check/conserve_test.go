package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// pods is an account of Pods alone.
func pods(e result.Events) *Counters {
	return &Counters{Total: e, Kinds: map[string]result.Events{"Pod": e}}
}

// TestEveryStateIsSent: a strategy that sends every state has nothing to merge unless its queue was full, a request
// failed, or Pods waited for their ReplicaSets. What was not sent gives the checks of order no power.
func TestEveryStateIsSent(t *testing.T) {
	burst := []string{"10 create web u1 100", "11 patch web u1 105", "12 patch web u1 110"}
	merged := pods(result.Events{Received: 3, Sent: 2, Coalesced: 1})
	requests := []string{"15 PUT web u1 100", "35 PUT web u1 110"}
	failed := *merged
	failed.StorageFailed = map[string]int64{"Pod": 1}
	var restarted []history.Mark
	for i, what := range []string{history.MarkStarted, history.MarkReady, history.MarkStarted, history.MarkReady} {
		restarted = append(restarted, history.Mark{Time: at(int64(i - 9)), What: what})
	}
	retried := pods(result.Events{Received: 3, Sent: 2, Coalesced: 1, Retried: 1})
	for _, tc := range []struct {
		name  string
		queue int64
		story story
		fails string
		power int64 // of G2
	}{
		{"merged by design", 0, story{ops: burst, requests: requests, meta: Meta{Counters: merged}}, "", 2},
		{"merged without a reason", 100, story{ops: burst, requests: requests, meta: Meta{Counters: merged}}, "G6", 1},
		{"all sent", 100, story{ops: burst, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 3})},
			requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}}, "", 2},
		{"merged in a full queue", 3, story{ops: burst, requests: requests, meta: Meta{Counters: merged}}, "", 1},
		{"one of them long stored", 3, story{requests: requests, meta: Meta{Counters: merged},
			ops: []string{"10 create web u1 100", "25 patch web u1 105", "32 patch web u1 110"}}, "G6", 0},
		{"merged behind a refused request", 100, story{ops: burst, meta: Meta{Counters: retried},
			requests: []string{"15 PUT web u1 100", "20 PUT web u1 105 rejected", "35 PUT web u1 110"}}, "", 2},
		{"merged behind a request that never arrived", 100,
			story{ops: burst, requests: requests, meta: Meta{Counters: &failed}}, "", 1},
		{"merged before the watcher's record had its kind", 100, story{ops: burst, meta: Meta{Counters: merged},
			requests: append([]string{"5 PUT K8sWatchState:x u0 0"}, requests...)}, "", 1},
		{"merged after a restart", 100,
			story{ops: burst, requests: requests, meta: Meta{Counters: merged}, marks: restarted}, "", 1},
		{"merged while it waited for its ReplicaSet", 100, story{ops: burst, requests: requests,
			meta: Meta{Counters: merged, Rules: Rules{Kinds: []string{"Pod", "ReplicaSet"}}}}, "", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := tc.story.history(t)
			h.Queue = tc.queue
			v := mustJudge(t, h)
			if got := failing(v); !slices.Equal(got, strings.Fields(tc.fails)) {
				t.Errorf("failing %v, want %s: %s", got, tc.fails, v.Checks["G6"].Counterexample)
			}
			if got := *v.Checks["G2"].Power; got != tc.power {
				t.Errorf("G2 has power %d, want %d", got, tc.power)
			}
		})
	}
}

func TestLostAndReordered(t *testing.T) {
	swapped := story{ops: onePod, requests: []string{"15 PUT web u1 100", "35 PUT web u1 110", "25 PUT web u1 105 applied=41"}}
	v := mustJudge(t, swapped.history(t))
	if *v.Lost != 1 || *v.Reordered != 1 {
		t.Errorf("swapped at the end: lost %d, reordered %d", *v.Lost, *v.Reordered)
	}
	if c := v.Checks["G6"]; c.Verdict != result.Pass {
		t.Errorf("every version was sent, so nothing is missing: G6 %+v", c)
	}
	cut := story{ops: onePod, requests: []string{"15 PUT web u1 100"}, meta: Meta{Cut: true}}
	v = mustJudge(t, cut.history(t))
	if v.Lost != nil || *v.Reordered != 0 {
		t.Errorf("cut: lost %v, reordered %d", v.Lost, *v.Reordered)
	}
	if c := v.Checks["G1"]; c.Verdict != result.NotJudged || c.Note == "" {
		t.Errorf("cut: G1 %+v", c)
	}
}

func TestCutJudgesOrderButNotTheEnd(t *testing.T) {
	s := story{ops: recreated, meta: Meta{Cut: true},
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110", "25 PUT web u1 105 applied=41"}}
	v := mustJudge(t, s.history(t))
	if got := failing(v); !slices.Equal(got, []string{"G2", "G3"}) {
		t.Errorf("failing %v", got)
	}
	for _, g := range []string{"G1", "G5"} {
		if v.Checks[g].Verdict != result.NotJudged || !strings.Contains(v.Checks[g].Note, "cut") {
			t.Errorf("%s: %+v", g, v.Checks[g])
		}
	}
}

// TestFormerStates: what was sent and then overwritten or deleted is held against what the apiserver served at that
// version, as part of G1. A version that it did not tell is not compared, nor a row that was tampered with, nor
// anything after a restore.
func TestFormerStates(t *testing.T) {
	sent := func(rv uint64, digest, served string) history.StateRecord {
		return history.StateRecord{
			Side: history.SideStorage, Kind: "Pod", Namespace: "a", Name: "web", UID: "u1", ResourceVersion: rv,
			Digest: digest, Served: served,
		}
	}
	good, wrong, untold := sent(100, "a", "a"), sent(105, "other", "b"), sent(105, "other", "")
	explained := wrong
	explained.Differs = `status.phase: stored "Failed", expected "Running"`
	type states = []history.StateRecord
	requests := []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}
	mark := func(what string) []history.Mark {
		return []history.Mark{{Time: at(1000), What: what, Kind: "Pod", Namespace: "a", Name: "web"}}
	}
	for _, tc := range []struct {
		name             string
		former           []history.StateRecord
		marks            []history.Mark
		cut              bool
		violations, more int64 // judged beside the final states
		text             string
	}{
		{"as served", states{good, sent(105, "b", "b")}, nil, false, 0, 2, ""},
		{"another field", states{good, explained}, nil, false, 1, 2,
			`Pod/a/web: uid u1 version 105, which is not the last, was sent with another content: ` + explained.Differs},
		{"another content, and nobody knows where", states{wrong}, nil, false, 1, 1, "digest other, of the apiserver's b"},
		{"sent twice, once wrong", states{explained, sent(105, "b", "b")}, nil, false, 1, 2, "status.phase"},
		{"of an unknown version", states{untold}, nil, false, 0, 0, ""},
		{"tampered with", states{wrong}, mark(history.MarkTamperEdit), false, 0, 0, ""},
		{"restored", states{wrong}, mark(history.MarkRestoring), false, 0, 0, ""},
		{"cut", states{wrong}, nil, true, 0, -1, ""},
		{"not recorded", nil, nil, false, 0, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := story{ops: onePod, requests: requests, marks: tc.marks, meta: Meta{Cut: tc.cut}}
			h := s.history(t)
			h.Former = items(tc.former)
			c := mustJudge(t, h).Checks["G1"]
			if c.Violations != tc.violations || c.Judged != 1+tc.more || !strings.Contains(c.Counterexample, tc.text) {
				t.Errorf("%+v", c)
			}
		})
	}
}

// rollout is what a witness sees of a ReplicaSet that controllers wrote: made, scaled twice, removed and made again
// under its name.
var rollout = []string{
	"10 create ReplicaSet:web-1 r1 100 witnessed",
	"20 patch ReplicaSet:web-1 r1 105 witnessed",
	"30 patch ReplicaSet:web-1 r1 110 witnessed",
}

// What others write is no load of ours: no figure is taken from it.
func TestWitnessedIsNoChange(t *testing.T) {
	h := story{ops: rollout, requests: []string{"32 PUT ReplicaSet:web-1 r1 110"}}.history(t)
	h.Bounds = func(m Measured) (*Ceilings, *Isolation) {
		for c := range m.Changes {
			t.Errorf("a change of the load: %+v", c)
		}
		return nil, nil
	}
	mustJudge(t, h)
}

// A cluster is copied at 20 ms and put back to that from 50 to 60 ms: a change, a deletion and a creation never
// happened.
var (
	restoredAt = []history.Mark{
		{Time: at(20), What: history.MarkBackedUp}, {Time: at(50), What: history.MarkRestoring}, {Time: at(60), What: history.MarkRestored},
	}
	undoneOps = []string{
		"8 create old u9 95", "10 create web u1 100",
		"30 patch web u1 110", "35 delete old u9 95", "40 create since u2 115",
		"70 patch web u1 108",
	}
	thatHolds = []string{"web u1 108", "old u9 95"}
	until     = []string{"12 PUT old u9 95", "13 PUT web u1 100", "32 PUT web u1 110", "37 DELETE old", "42 PUT since u2 115"}
	takenBack = slices.Concat(until, []string{"62 PUT web u1 100", "63 PUT old u9 95", "64 DELETE since", "75 PUT web u1 108"})
)

// put is a story of that restore.
func put(requests ...string) story {
	return story{ops: undoneOps, apiserver: thatHolds, marks: restoredAt, requests: requests}
}

// TestChangesAcrossARestore: what was undone before it arrived is no loss; what is in the copy, or came later, must
// arrive.
func TestChangesAcrossARestore(t *testing.T) {
	never := func(requests ...string) (ids []int64) {
		h := put(requests...).history(t)
		h.Bounds = func(m Measured) (*Ceilings, *Isolation) {
			for c := range m.Changes {
				if c.Stored == 0 && !c.Gone && !c.Unconfirmed {
					ids = append(ids, c.Operation)
				}
			}
			return nil, nil
		}
		if _, err := Judge(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if got := never(takenBack...); got != nil {
		t.Errorf("all arrived: %v", got)
	}
	if got := never(until[0], until[1], "75 PUT web u1 108"); got != nil {
		t.Errorf("the undone ones never arrived: %v", got)
	}
	if got := never(takenBack[:len(takenBack)-1]...); !slices.Equal(got, []int64{6}) {
		t.Errorf("the last one never arrived: %v", got)
	}
	if got := never(until[0], "75 PUT web u1 108"); !slices.Equal(got, []int64{2}) {
		t.Errorf("one of the copy never arrived: %v", got)
	}
}
