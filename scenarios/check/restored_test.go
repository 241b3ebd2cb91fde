package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// A cluster is copied at 20 ms and put back to that from 50 to 60 ms: a change, a deletion
// and a creation never happened.
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

// kept is a story of three states of one pod, some events of which a fault kept from the
// watcher.
func kept(sent int64, kind string, requests ...string) story {
	counters := pods(result.Events{Received: sent, Sent: sent})
	return story{ops: onePod, requests: requests, meta: Meta{Counters: counters, Withheld: map[string]int64{kind: 1}}}
}

func restores() []storyCase {
	unmarked, unchanged, unseen := put(takenBack...), put(slices.Concat(until, []string{"63 PUT old u9 95", "64 DELETE since"})...),
		put("12 PUT old u9 95", "13 PUT web u1 100", "75 PUT web u1 108")
	unmarked.marks = nil
	unchanged.ops, unchanged.apiserver = undoneOps[:5], []string{"web u1 100", "old u9 95"}
	unseen.meta.Counters = pods(result.Events{Received: 3, Sent: 3})
	return []storyCase{
		{name: "taken back", story: put(takenBack...)},
		{name: "the same without a restore", fails: "G2 G3 G11", story: unmarked},
		{name: "the last requests of the time before come after it",
			story: put(slices.Concat(until[:4], []string{"52 PUT since u2 115"}, takenBack[5:])...)},
		{name: "a row stays that is gone", fails: "G1",
			story: put(slices.Concat(until, []string{"62 PUT web u1 100", "63 PUT old u9 95", "75 PUT web u1 108"})...)},
		{name: "one that is back is missing", fails: "G1",
			story: put(slices.Concat(until, []string{"62 PUT web u1 100", "64 DELETE since", "75 PUT web u1 108"})...)},
		{name: "one stays as it was changed", fails: "G1", story: unchanged},
		{name: "out of order before the restore", fails: "G2 G3 G11",
			story: put(slices.Concat(until, []string{"45 PUT web u1 100"}, takenBack[5:])...)},
		{name: "nothing of it was received", story: unseen},

		{name: "an event kept from the watcher", story: kept(2, "Pod", "15 PUT web u1 100", "35 PUT web u1 110")},
		{name: "an event of another kind kept from it", fails: "G6", story: kept(2, "Node", "15 PUT web u1 100", "35 PUT web u1 110")},
		{name: "two lost, one kept from it", fails: "G6", story: kept(1, "Pod", "35 PUT web u1 110")},
	}
}

func TestRestored(t *testing.T) {
	for _, c := range restores() {
		t.Run(c.name, func(t *testing.T) {
			v := mustJudge(t, c.story.history(t))
			if got := failing(v); !slices.Equal(got, strings.Fields(c.fails)) {
				t.Errorf("failing %v, want %v", got, c.fails)
				for _, g := range got {
					t.Logf("%s: %s", g, v.Checks[g].Counterexample)
				}
			}
		})
	}
}

// TestChangesAcrossARestore: what was undone before it arrived is no loss; what is in the
// copy, or came later, must arrive.
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
