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
