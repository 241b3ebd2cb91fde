package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
)

// What every profile keeps to, so that whoever sends it can: the order of a lane, owners
// before what they own, each object's life from create to delete.
func TestProfilesKeepOrder(t *testing.T) {
	for _, name := range ProfileNames() {
		t.Run(name, func(t *testing.T) {
			p := profilePlan(t, name, func(c *Config) { c.Hotkeys = &Hotkeys{Objects: 4, Burst: 5, Share: 0.1}; c.Prefill = 50 })
			k := newKeeper(t)
			for op := range p.Setup() {
				k.take(op, 0)
			}
			for op := range p.Timed() {
				k.take(op, DefaultOpenGap)
			}
			if k.ops < 1000 || k.hot < 50 {
				t.Errorf("only %d operations, %d on hot pods", k.ops, k.hot)
			}
		})
	}
	for _, name := range []string{ProfileServiceChurn, ProfileRollout, ProfileBatchJobs, ProfileRecreate} {
		t.Run(name+", closed", func(t *testing.T) {
			p := profilePlan(t, name, func(c *Config) { asClosed(c); c.Hotkeys = &Hotkeys{Objects: 4, Burst: 5, Share: 0.1} })
			k := newKeeper(t)
			for op := range p.Setup() {
				k.take(op, 0)
			}
			for i := range 3 {
				for op := range p.Thread(i) {
					if op.Thread != i {
						t.Fatalf("thread %d has an operation of thread %d", i, op.Thread)
					}
					k.take(op, 0)
				}
			}
			if k.ops != 3000+k.setup || k.hot < 200 {
				t.Errorf("%d operations after %d, %d on hot pods", k.ops, k.setup, k.hot)
			}
		})
	}
}

// TestClosedRestarts: a thread restarts its own pods in turn; the name of one is taken again
// right after it is gone, with the writes and Events that a restart has in an open loop.
func TestClosedRestarts(t *testing.T) {
	p := profilePlan(t, ProfileRecreate, func(c *Config) { asClosed(c); c.Tuning = &Tuning{Recreate: RecreateTuning{Pods: 5}} })
	kinds, by := map[string]float64{}, map[string]int{} // names by the thread that restarts them
	restarts, starts := map[string]int{}, 0.0
	for k := range 3 {
		gone := ""
		for op := range p.Thread(k) {
			kinds[op.Target.Kind]++
			switch {
			case op.Target.Kind != "Pod":
			case op.Type == oplog.TypeDelete:
				gone = op.Target.Name
				starts += float64(4*op.Target.Containers + 3*op.Target.InitContainers)
				restarts[gone]++
				if other, ok := by[gone]; ok && other != k {
					t.Fatalf("%s is restarted by the threads %d and %d", gone, other, k)
				}
				by[gone] = k
			case op.Type == oplog.TypeCreate && op.Target.Name != gone:
				t.Fatalf("%s is created after %s was deleted", op.Target.Name, gone)
			}
		}
	}
	all := slices.Sorted(maps.Values(restarts))
	total := 0.0
	for _, n := range all {
		total += float64(n)
	}
	if len(all) != 5 || all[0] < 20 {
		t.Errorf("names were restarted %v times, want all five many times", all)
	}
	near(t, "writes of a pod", kinds["Pod"]/total, 9.65, 0.4) // half are never seen running before they are ready, 15 % have an init container
	// Scheduled, four of each container, three of an init container, and Pulling of some.
	near(t, "Events per restart", kinds["Event"]/total, 1+starts/total+0.3, 0.3)
	if kinds["Pod"]+kinds["Event"] != 3000 {
		t.Errorf("writes by kind: %v", kinds)
	}
}

// keeper holds the rules.
type keeper struct {
	t               *testing.T
	at              time.Duration
	ids             map[int64]bool
	last            map[int64]time.Duration // by lane
	bearer          map[int64]*Target       // that exists, by lane
	names           map[string]int64        // lane by kind, namespace and name
	created         map[*Target]time.Duration
	done            map[*Target]bool
	onNode          map[int]int
	ops, hot, setup int
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
	if op.Phase == oplog.PhasePrepare {
		k.setup++
	} else if gap > 0 && op.At < k.at {
		bad("before the one in front of it")
	}
	k.at = op.At
	if op.Hot {
		k.hot++
		if k.bearer[o.Lane] != o || o.Kind != "Pod" {
			bad("not a pod that exists")
		}
		return
	}
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
