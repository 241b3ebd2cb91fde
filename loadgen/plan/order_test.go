package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// What every profile keeps to, so that whoever sends it can: the order of a lane, owners
// before what they own, each object's life from create to delete.
func TestProfilesKeepOrder(t *testing.T) {
	for _, name := range ProfileNames() {
		t.Run(name, func(t *testing.T) {
			p := profilePlan(t, name, func(c *Config) { c.Prefill = 50 })
			k := newKeeper(t)
			for op := range p.Setup() {
				k.take(op, 0)
			}
			for op := range p.Timed() {
				k.take(op, DefaultOpenGap)
			}
			if k.ops < 1000 {
				t.Errorf("only %d operations", k.ops)
			}
		})
	}
}

// keeper holds the rules.
type keeper struct {
	t       *testing.T
	at      time.Duration
	ids     map[int64]bool
	last    map[int64]time.Duration // by lane
	bearer  map[int64]*Target       // that exists, by lane
	names   map[string]int64        // lane by kind, namespace and name
	created map[*Target]time.Duration
	done    map[*Target]bool
	onNode  map[int]int
	ops     int
}

func newKeeper(t *testing.T) *keeper {
	return &keeper{t: t, ids: map[int64]bool{}, last: map[int64]time.Duration{}, bearer: map[int64]*Target{}, names: map[string]int64{},
		created: map[*Target]time.Duration{}, done: map[*Target]bool{}, onNode: map[int]int{}}
}

func (k *keeper) take(op Op, gap time.Duration) {
	t, o := k.t, op.Target
	t.Helper()
	k.ops++
	bad := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("operation %d, %s of %s %s at %s: %s", op.ID, op.Type, o.Kind, o.Name, op.At, fmt.Sprintf(format, args...))
	}
	if k.ids[op.ID] {
		bad("the id is taken")
	}
	k.ids[op.ID] = true
	if op.Phase != oplog.PhasePrepare && gap > 0 && op.At < k.at {
		bad("before the one in front of it")
	}
	k.at = op.At
	if k.done[o] {
		bad("after the last")
	}
	k.done[o] = op.Last
	key := fmt.Sprint(o.Kind, o.Namespace, o.Name)
	if lane, ok := k.names[key]; ok && lane != o.Lane {
		bad("its name is on lane %d, not %d", lane, o.Lane)
	}
	k.names[key] = o.Lane
	if before, ok := k.last[o.Lane]; ok && op.Phase == oplog.PhaseLoad && op.At < before+gap {
		bad("only %s after the former of its lane", op.At-before)
	}
	if op.Phase == oplog.PhaseLoad {
		k.last[o.Lane] = op.At
	}
	if op.Type != oplog.TypeCreate {
		if k.bearer[o.Lane] != o {
			bad("it does not exist")
		}
	} else {
		if k.bearer[o.Lane] != nil {
			bad("its name is taken")
		}
		k.bearer[o.Lane], k.created[o] = o, op.At
		for _, x := range []*Target{o.Owner, o.Subject} {
			if x == nil {
				continue
			}
			if made, ok := k.created[x]; !ok || op.Phase == oplog.PhaseLoad && made > 0 && op.At < made+gap {
				bad("%s %s, which it depends on, is not there", x.Kind, x.Name)
			}
		}
	}
	for _, e := range op.State.Endpoints {
		if _, ok := k.created[e]; !ok {
			bad("endpoint %s does not exist", e.Name)
		}
	}
	if len(op.State.Endpoints) > maxEndpoints {
		bad("%d endpoints", len(op.State.Endpoints))
	}
	if o.Kind == "Pod" && o.Node != NoNode && op.Type == oplog.TypeCreate {
		if k.onNode[o.Node]++; k.onNode[o.Node] > podsPerNode+2 { // two that go while their names' next come
			bad("node %d has %d pods", o.Node, k.onNode[o.Node])
		}
	}
	if op.Type == oplog.TypeDelete {
		if !op.Last {
			bad("something is to follow")
		}
		k.bearer[o.Lane] = nil
		if o.Kind == "Pod" && o.Node != NoNode {
			k.onNode[o.Node]--
		}
	}
}
