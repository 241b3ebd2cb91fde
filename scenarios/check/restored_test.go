package check

import (
	"slices"
	"testing"

	"github.com/watchbench/watchbench/scenarios/history"
)

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
