package check

import (
	"testing"
)

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
