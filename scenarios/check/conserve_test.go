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

func drops(e result.Events) Meta {
	return Meta{QueueFull: QueueFullDrop, Counters: pods(e)}
}

var accounts = []storyCase{
	{name: "every event sent", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 3})},
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}}},
	{name: "two merged", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2})},
		requests: []string{"35 PUT web u1 110"}}},
	{name: "a retry after a refusal", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2, Retried: 1})},
		requests: []string{"35 PUT web u1 110 rejected", "45 PUT web u1 110"}}},
	{name: "a retry after an unknown outcome", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2, Retried: 1})},
		requests: []string{"35 PUT web u1 110 late", "45 PUT web u1 110"}}},
	{name: "an unknown outcome found applied by looking", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2, Retried: 1})},
		requests: []string{"35 PUT web u1 110 late"}}},
	{name: "a refused PUT counted as sent", fails: "G1 G6", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 2, Coalesced: 1, Retried: 1})},
		requests: []string{"25 PUT web u1 105", "35 PUT web u1 110 rejected"}}},
	{name: "a deletion found done by looking", story: story{ops: recreated[:4], meta: Meta{Counters: pods(result.Events{Received: 4, Sent: 1, Coalesced: 3, Retried: 1})},
		requests: []string{"45 DELETE web rejected"}}},
	{name: "a deletion counted as sent that was refused", fails: "G1 G6", story: story{ops: recreated[:4], meta: Meta{Counters: pods(result.Events{Received: 4, Sent: 2, Coalesced: 2, Retried: 1})},
		requests: []string{"35 PUT web u1 110", "45 DELETE web rejected"}}},
	{name: "a deletion found done by looking, and a later one sent", story: story{ops: append(slices.Clone(recreated), "70 delete web u2"),
		meta:     Meta{Counters: pods(result.Events{Received: 7, Sent: 4, Coalesced: 3, Retried: 1})},
		requests: []string{"45 DELETE web rejected", "55 PUT web u2 120", "65 PUT web u2 125", "75 DELETE web"}}},
	{name: "a version found there by looking", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 4, Sent: 2, Coalesced: 2, Retried: 1})},
		requests: []string{"35 PUT web u1 110", "45 PUT web u1 110 rejected"}}},
	{name: "applied twice, sent once", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2})},
		requests: []string{"35 PUT web u1 110 twice", "35 PUT web u1 110 twice late"}}},
	{name: "applied again after another request", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 2, Coalesced: 1})},
		requests: []string{"25 PUT web u1 105 twice", "26 PUT web u1 110", "25 PUT web u1 105 twice rejected late"}}},
	{name: "applied twice, sent once, no answer", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 1, Sent: 1, Retried: 1}), WatcherReady: at(25)},
		requests: []string{"35 PUT web u1 110 late twice", "35 PUT web u1 110 late twice", "5100 PUT web u1 110"}}},
	{name: "an answer the watcher did not wait for", story: story{ops: onePod,
		meta:     Meta{StorageTimeout: 5e9, Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2, Retried: 1})},
		requests: []string{"35 PUT web u1 110 slow", "45 PUT web u1 110"}}},
	{name: "an answer that came too late for a watcher that stood still", story: story{ops: onePod,
		meta:     Meta{StorageTimeout: 5e9, Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2, Retried: 1})},
		requests: []string{"25 PUT web u1 105 responded=4320", "4330 PUT web u1 110"}}},
	{name: "an answer in good time that was not counted", fails: "G6 G14", story: story{ops: onePod,
		meta:     Meta{StorageTimeout: 5e9, Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2, Retried: 1})},
		requests: []string{"25 PUT web u1 105 responded=2320", "4330 PUT web u1 110"}}},
	{name: "versions before the watcher was ready", story: story{ops: append([]string{"1 create old u0 50 prepare", "2 patch old u0 51 prepare"}, onePod...),
		meta:     Meta{Counters: pods(result.Events{Received: 4, Sent: 4})},
		requests: []string{"12 PUT old u0 51", "15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}}},
	{name: "versions before the ready mark", story: story{ops: onePod, meta: Meta{WatcherReady: at(25), Counters: pods(result.Events{Received: 2, Sent: 2})},
		requests: []string{"26 PUT web u1 105", "35 PUT web u1 110"}}},
	{name: "a relist skipped a version", story: story{ops: onePod,
		meta: Meta{Counters: &Counters{
			Total: result.Events{Received: 2, Sent: 2}, Kinds: map[string]result.Events{"Pod": {Received: 2, Sent: 2}}, Relists: map[string]int64{"Pod": 1},
		}},
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110"}}},
	{name: "dropped on request and found", story: story{ops: onePod, meta: drops(result.Events{Received: 3, Sent: 2, Dropped: 1}),
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110"}}},
	{name: "a final version dropped on request", fails: "G1", story: story{ops: onePod, meta: drops(result.Events{Received: 3, Sent: 2, Dropped: 1}),
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105"}}},
	{name: "a deletion dropped on request", fails: "G1", story: story{ops: recreated[:4], meta: drops(result.Events{Received: 4, Sent: 3, Dropped: 1}),
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}}},
	{name: "a terminating state dropped on request", story: story{ops: recreated[:4], meta: drops(result.Events{Received: 5, Sent: 3, Dropped: 2}),
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110", "45 DELETE web"}}},
	{name: "a terminating state sent, two others dropped", story: story{ops: recreated[:4], meta: drops(result.Events{Received: 5, Sent: 3, Dropped: 2}),
		requests: []string{"15 PUT web u1 100", "42 PUT web u1 112", "45 DELETE web"}}},
	{name: "a terminating state sent and yet counted as dropped", fails: "G6 G14", story: story{ops: recreated[:4], meta: drops(result.Events{Received: 5, Sent: 3, Dropped: 2}),
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110", "42 PUT web u1 112 late", "45 DELETE web"}}},
	{name: "cut with a backlog", story: story{ops: onePod, meta: Meta{Cut: true, Counters: pods(result.Events{Received: 3, Sent: 1, Queued: 2})},
		requests: []string{"15 PUT web u1 100"}}},
	{name: "cut before everything was received", story: story{ops: onePod, meta: Meta{Cut: true, Counters: pods(result.Events{Received: 2, Sent: 1, Queued: 1})},
		requests: []string{"15 PUT web u1 100"}}},
	{name: "cut while counters were read", story: story{ops: onePod,
		meta: Meta{Cut: true, Counters: &Counters{
			ScrapeStarted: at(26), ScrapeFinished: at(28), Total: result.Events{Received: 3, Sent: 1, Queued: 1},
			Kinds: map[string]result.Events{"Pod": {Received: 3, Sent: 1, Queued: 1}},
		}},
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105"}}},
	{name: "read right after the last answer, nothing in motion", fails: "G6 G14", story: story{ops: onePod,
		meta: Meta{Counters: &Counters{
			ScrapeStarted: at(42), ScrapeFinished: at(44), Total: result.Events{Received: 3, Sent: 2, Coalesced: 1},
			Kinds: map[string]result.Events{"Pod": {Received: 3, Sent: 2, Coalesced: 1}},
		}},
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}}},
	{name: "requests of the harness and of no watch are not the watcher's", story: story{ops: onePod,
		meta:     Meta{Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2})},
		requests: []string{"35 PUT web u1 110", "40 PUT IPPoolStatic:p u9 1", "41 PUT web u1 110 tamper"}}},

	{name: "a DELETE that hit the wrong uid was sent all the same", fails: "G1 G5", story: story{ops: recreated,
		meta:     Meta{Counters: pods(result.Events{Received: 6, Sent: 6})},
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110", "55 PUT web u2 120", "65 PUT web u2 125", "45 DELETE web applied=71"}}},
	{name: "a DELETE lost between two objects of a name", fails: "G6", story: story{ops: recreated,
		meta:     Meta{Counters: pods(result.Events{Received: 5, Sent: 5})},
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110", "55 PUT web u2 120", "65 PUT web u2 125"}}},
	{name: "the law is broken by one", fails: "G6", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 4, Sent: 1, Coalesced: 2})},
		requests: []string{"35 PUT web u1 110"}}},
	{name: "dropped without being asked", fails: "G6", story: story{ops: onePod,
		meta:     Meta{QueueFull: "coalesce", Counters: pods(result.Events{Received: 3, Sent: 2, Dropped: 1})},
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110"}}},
	{name: "sent is too high", fails: "G6 G14", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 3})},
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110"}}},
	{name: "sent is too low", fails: "G6 G14", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2})},
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110"}}},
	{name: "a version neither sent nor accounted for", fails: "G6", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 2, Sent: 2})},
		requests: []string{"15 PUT web u1 100", "35 PUT web u1 110"}}},
	{name: "a final version called merged", fails: "G1 G6", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 3, Sent: 2, Coalesced: 1})},
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105"}}},
	{name: "a deletion called merged", fails: "G1 G6", story: story{ops: recreated[:4], meta: Meta{Counters: pods(result.Events{Received: 4, Sent: 3, Coalesced: 1})},
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105", "35 PUT web u1 110"}}},
	{name: "more drops counted than versions missing", fails: "G6 G14", story: story{ops: onePod, meta: drops(result.Events{Received: 3, Sent: 1, Dropped: 2}),
		requests: []string{"15 PUT web u1 100", "25 PUT web u1 105 late", "35 PUT web u1 110 rejected", "36 PUT web u1 110 late"}}},
	{name: "fewer drops counted than versions missing", fails: "G6", story: story{ops: onePod, meta: drops(result.Events{Received: 2, Sent: 1, Dropped: 1}),
		requests: []string{"35 PUT web u1 110"}}},
	{name: "a kind without counters", fails: "G6 G14", story: story{ops: slices.Concat(onePod, []string{"12 create Node:n u5 90"}),
		meta:     Meta{Counters: pods(result.Events{Received: 3, Sent: 1, Coalesced: 2})},
		requests: []string{"15 PUT Node:n u5 90", "35 PUT web u1 110"}}},
	{name: "failed attempts nobody counted", fails: "G14", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 1, Sent: 1}), WatcherReady: at(25)},
		requests: []string{"35 PUT web u1 110 rejected", "40 PUT web u1 110"}}},
	{name: "totals that do not add up", fails: "G14", story: story{ops: onePod,
		meta: Meta{Counters: &Counters{
			Total: result.Events{Received: 3, Sent: 1, Coalesced: 2, Retried: 7}, Kinds: map[string]result.Events{"Pod": {Received: 3, Sent: 1, Coalesced: 2}},
		}},
		requests: []string{"35 PUT web u1 110"}}},
	{name: "queued although all is stored", fails: "G14", story: story{ops: onePod, meta: Meta{Counters: pods(result.Events{Received: 4, Sent: 1, Coalesced: 2, Queued: 1})},
		requests: []string{"35 PUT web u1 110"}}},
	{name: "an age without an event", fails: "G14", story: story{ops: onePod,
		meta: Meta{Counters: &Counters{
			Total: result.Events{Received: 3, Sent: 1, Coalesced: 2}, Kinds: map[string]result.Events{"Pod": {Received: 3, Sent: 1, Coalesced: 2}}, OldestUnsent: new(2.5),
		}},
		requests: []string{"35 PUT web u1 110"}}},
	{name: "call and freshness counters that differ", fails: "G14", story: story{ops: onePod,
		meta: Meta{Counters: &Counters{
			Total: result.Events{Received: 3, Sent: 1, Coalesced: 2}, Kinds: map[string]result.Events{"Pod": {Received: 3, Sent: 1, Coalesced: 2}},
			StorageSucceeded: map[string]int64{"Pod": 2}, FreshnessCount: map[string]int64{"Pod": 3},
		}},
		requests: []string{"35 PUT web u1 110"}}},
}

func TestAccounts(t *testing.T) {
	var golden strings.Builder
	for _, c := range accounts {
		t.Run(c.name, func(t *testing.T) {
			v := mustJudge(t, c.story.history(t))
			want := strings.Fields(c.fails)
			if got := failing(v); !slices.Equal(got, want) {
				t.Errorf("failing %v, want %v", got, want)
				for _, g := range got {
					t.Logf("%s: %s", g, v.Checks[g].Counterexample)
				}
			}
			for _, g := range []string{"G6", "G14"} {
				writeCheck(&golden, c.name, g, v.Checks[g])
			}
		})
	}
	compareGolden(t, "accounts.golden", golden.String())
}

// TestEveryStateIsSent: a strategy that sends every state has nothing to merge unless its queue
// was full, a request failed, or Pods waited for their ReplicaSets. What was not sent gives the
// checks of order no power.
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
