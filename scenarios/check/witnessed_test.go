package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
)

// rollout is what a witness sees of a ReplicaSet that controllers wrote: made, scaled
// twice, removed and made again under its name.
var rollout = []string{
	"10 create ReplicaSet:web-1 r1 100 witnessed",
	"20 patch ReplicaSet:web-1 r1 105 witnessed",
	"30 patch ReplicaSet:web-1 r1 110 witnessed",
}

var replaced = append(slices.Clone(rollout), "40 delete ReplicaSet:web-1 r1 110 witnessed", "50 create ReplicaSet:web-1 r2 130 witnessed")

func replicaSets(e result.Events) Meta {
	return Meta{Counters: &Counters{Total: e, Kinds: map[string]result.Events{"ReplicaSet": e}}}
}

// Each mutant of a watcher treats the events of one ReplicaSet wrongly that nobody but
// controllers wrote. Without the witness's records the judge knows of no such events: what
// then still fails is what requests and final states show by themselves.
var witnessed = []struct {
	storyCase
	lost    int64
	without string // what fails without the records
}{
	{storyCase: storyCase{name: "as it should be", story: story{ops: rollout, meta: replicaSets(result.Events{Received: 3, Sent: 3}),
		requests: []string{"12 PUT ReplicaSet:web-1 r1 100", "22 PUT ReplicaSet:web-1 r1 105", "32 PUT ReplicaSet:web-1 r1 110"}}}},
	{storyCase: storyCase{name: "merged", story: story{ops: rollout, meta: replicaSets(result.Events{Received: 3, Sent: 1, Coalesced: 2}),
		requests: []string{"32 PUT ReplicaSet:web-1 r1 110"}}}},
	{storyCase: storyCase{name: "sent before the witness had it", story: story{ops: rollout, meta: replicaSets(result.Events{Received: 3, Sent: 3}),
		requests: []string{"2 PUT ReplicaSet:web-1 r1 100", "3 PUT ReplicaSet:web-1 r1 105", "4 PUT ReplicaSet:web-1 r1 110"}}}},
	{storyCase: storyCase{name: "removed before the witness had it", story: story{ops: replaced[:4], meta: replicaSets(result.Events{Received: 4, Sent: 4}),
		requests: []string{"2 PUT ReplicaSet:web-1 r1 100", "3 PUT ReplicaSet:web-1 r1 105", "4 PUT ReplicaSet:web-1 r1 110", "35 DELETE ReplicaSet:web-1"}}}},
	{storyCase: storyCase{name: "the last state dropped", fails: "G1 G6", story: story{ops: rollout, meta: replicaSets(result.Events{Received: 2, Sent: 2}),
		requests: []string{"12 PUT ReplicaSet:web-1 r1 100", "22 PUT ReplicaSet:web-1 r1 105"}}}, lost: 1, without: "G1"},
	{storyCase: storyCase{name: "a state in the middle dropped and not owned up to", fails: "G6", story: story{ops: rollout, meta: replicaSets(result.Events{Received: 2, Sent: 2}),
		requests: []string{"12 PUT ReplicaSet:web-1 r1 100", "32 PUT ReplicaSet:web-1 r1 110"}}}},
	{storyCase: storyCase{name: "two states in the wrong order", fails: "G1 G2 G3", story: story{ops: rollout, meta: replicaSets(result.Events{Received: 3, Sent: 3}),
		requests: []string{"12 PUT ReplicaSet:web-1 r1 100", "22 PUT ReplicaSet:web-1 r1 110", "32 PUT ReplicaSet:web-1 r1 105"}}}, lost: 1, without: "G1 G2 G3"},
	{storyCase: storyCase{name: "its end dropped", fails: "G1 G6", story: story{ops: replaced[:4], meta: replicaSets(result.Events{Received: 3, Sent: 3}),
		requests: []string{"12 PUT ReplicaSet:web-1 r1 100", "22 PUT ReplicaSet:web-1 r1 105", "32 PUT ReplicaSet:web-1 r1 110"}}}, lost: 1, without: "G1"},
	{storyCase: storyCase{name: "the end of the former after the latter's beginning", fails: "G1 G5", story: story{ops: replaced, meta: replicaSets(result.Events{Received: 5, Sent: 5}),
		requests: []string{"12 PUT ReplicaSet:web-1 r1 100", "22 PUT ReplicaSet:web-1 r1 105", "32 PUT ReplicaSet:web-1 r1 110", "52 PUT ReplicaSet:web-1 r2 130", "55 DELETE ReplicaSet:web-1"}}}, lost: 1, without: "G1 G3"},
	{storyCase: storyCase{name: "a state of the former after the latter's beginning", fails: "G1 G3 G4 G5", story: story{ops: replaced, meta: replicaSets(result.Events{Received: 5, Sent: 5}),
		requests: []string{"12 PUT ReplicaSet:web-1 r1 100", "22 PUT ReplicaSet:web-1 r1 105", "42 DELETE ReplicaSet:web-1", "52 PUT ReplicaSet:web-1 r2 130", "55 PUT ReplicaSet:web-1 r1 110"}}}, lost: 1, without: "G1 G3 G4"},
}

func TestWitnessed(t *testing.T) {
	for _, c := range witnessed {
		t.Run(c.name, func(t *testing.T) {
			v := mustJudge(t, c.story.history(t))
			if got := strings.Join(failing(v), " "); got != c.fails {
				t.Errorf("failing %q, want %q", got, c.fails)
			}
			if v.Lost == nil || *v.Lost != c.lost {
				t.Errorf("lost %v, want %d", v.Lost, c.lost)
			}
			h := c.story.history(t)
			h.Ops, h.Counters = items([]oplog.Record{}), nil
			if got := strings.Join(failing(mustJudge(t, h)), " "); got != c.without {
				t.Errorf("without the witness failing %q, want %q", got, c.without)
			}
		})
	}
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
