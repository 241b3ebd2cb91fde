package plan

import (
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
	"github.com/watchbench/watchbench/loadgen/oplog"
)

// A pod that crashes is written three times per restart, its pauses double, and its Events are counted up.
func TestCrashLoop(t *testing.T) {
	p := profilePlan(t, ProfileCrashLoop, func(c *Config) {
		c.Rate, c.Duration = 0.2, 20*minute
		c.Tuning = &Tuning{Stages: StageTuning{Probe: dist.Must[dist.Duration]("1s"), Running: dist.Must[dist.Duration]("1s")}, Crashes: CrashTuning{Run: dist.Must[dist.Duration]("2s")}}
	})
	pauses := map[*Target][]time.Duration{}
	since := map[*Target]time.Duration{}
	kinds := map[string]int{}
	for op := range p.Timed() {
		kinds[op.Target.Kind+"/"+op.Type]++
		switch {
		case op.Target.Kind == "Pod" && op.Type == oplog.TypeCrashed:
			since[op.Target] = op.At
		case op.Target.Kind == "Pod" && (op.Type == oplog.TypeRunning || op.Type == oplog.TypeReady) && since[op.Target] > 0:
			if op.State.Restarts != len(pauses[op.Target])+1 {
				t.Fatalf("restart %d is counted as %d", len(pauses[op.Target])+1, op.State.Restarts)
			}
			pauses[op.Target] = append(pauses[op.Target], op.At-since[op.Target])
			delete(since, op.Target)
		}
	}
	longest := 0
	for _, all := range pauses {
		longest = max(longest, len(all))
		for i, d := range all {
			want := time.Second // it takes 1s to start
			if i > 0 {
				want += min(10*time.Second<<(i-1), 5*time.Minute)
			}
			if d < want || d > want+200*time.Millisecond {
				t.Fatalf("pause %d lasted %s, want %s", i+1, d, want)
			}
		}
	}
	if longest < 6 {
		t.Errorf("no pod restarted more than %d times", longest)
	}
	if restarts := kinds["Pod/crashed"]; kinds["Event/update"] < 2*restarts {
		t.Errorf("%d updates of Events for %d restarts", kinds["Event/update"], restarts)
	}
}

// A lost node's pods are unready within seconds, and deleted and replaced after the
// toleration; they go when it is back.
func TestNodeFlap(t *testing.T) {
	p := profilePlan(t, ProfileNodeFlap, func(c *Config) {
		c.Rate, c.Duration, c.Prefill, c.Nodes = 1, 20*minute, 600, 20
		share := 0.05
		c.Tuning = &Tuning{Flaps: FlapTuning{Share: &share}}
	})
	down, lost := map[int]time.Duration{}, 0
	nodes, evicted, unready := 0, 0, 0
	for op := range p.Timed() {
		o := op.Target
		switch {
		case o.Kind == "Node" && op.Type == oplog.TypeUnready:
			down[o.Node], nodes = op.At, nodes+1
		case o.Kind == "Node" && op.Type == oplog.TypeReady:
			if away := op.At - down[o.Node]; away < 10*time.Minute || away > 11*time.Minute {
				t.Errorf("node %d was away for %s", o.Node, away)
			}
			delete(down, o.Node)
		case o.Kind == "Lease":
			if since, ok := down[o.Node]; ok && op.At > since+time.Second {
				t.Fatalf("the lost node %d renews its lease", o.Node)
			}
		case o.Kind == "Pod" && op.Type == oplog.TypeUnready:
			unready++
			if d := op.At - down[o.Node]; d > 3*time.Second {
				t.Errorf("%s is unready only after %s", o.Name, d)
			}
		case o.Kind == "Event" && o.Reason == "TaintManagerEviction":
			evicted++
		case o.Kind == "Pod" && (op.Type == oplog.TypeTerminated || op.Type == oplog.TypeAcknowledged):
			if since, ok := down[o.Node]; ok && op.At > since+time.Second {
				lost++
			}
		}
	}
	if nodes == 0 || unready < 20*nodes || evicted < 10*nodes/2 || lost > 0 {
		t.Errorf("%d nodes were lost, %d pods unready, %d evicted; %d were reported on by a kubelet that is away", nodes, unready, evicted, lost)
	}
}
