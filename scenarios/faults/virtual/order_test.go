package virtual

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	loadplan "github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// TestUnorderedIsCaught: the default table demands that the strategy without order is
// caught. Its loads give G2 and G3 several violations with every seed, at a slow apiserver
// and at a fast one.
func TestUnorderedIsCaught(t *testing.T) {
	path, data, err := scenarios.Read("strategies")
	if err != nil {
		t.Fatal(err)
	}
	f, err := spec.Format{}.Parse(path, data, "matrix.watcher.strategy=unordered")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Cells() {
		for seed := range uint64(3) {
			rates := []int{100, 400}
			if c.Scenario.Load.ThinkTime > 0 {
				rates = []int{100, 200} // 40 threads that pause for 150 ms ask for 266 at most
			}
			for _, rate := range rates {
				t.Run(fmt.Sprintf("%s/seed %d/%d writes per s", c.ID, seed+1, rate), func(t *testing.T) {
					o := simulate(t, closedLoop(t, c.Scenario, seed+1, rate))
					for _, g := range []string{"G2", "G3"} {
						v := o.verdict.Checks[g]
						t.Logf("%s: %d violations of %d judged", g, v.Violations, v.Judged)
						if v.Verdict != result.Fail || v.Violations < 2 {
							t.Errorf("%s: %s with %d violations; want 2 and more, so that a run can rely on one", g, v.Verdict, v.Violations)
						}
					}
				})
			}
		}
	}
}

// closedLoop is the closed load of a scenario, at an apiserver that serves so many writes a
// second, in the order in which the threads ask for them.
func closedLoop(t *testing.T, s spec.Scenario, seed uint64, rate int) setup {
	t.Helper()
	p, err := loadplan.New(s.Load.Plan("r", seed))
	if err != nil {
		t.Fatal(err)
	}
	ops := interleaved(p, s.Load.Threads)
	each := time.Second / time.Duration(rate)
	return setup{
		seed: seed, ops: 10, span: time.Duration(len(ops)) * each, latency: s.Storage.Latency,
		edit: func(c *config.Config, _ *config.Filter) {
			c.BCS.Strategy, c.BCS.AllowUnordered, c.BCS.PodQueueNum = pipeline.Strategy(s.Watcher.Strategy), true, s.Watcher.PodQueueNum
		},
		hooks: []hook{{0, func(w *world) {
			for i, o := range ops {
				w.until(time.Duration(i) * each)
				w.do(o, oplog.PhaseLoad)
			}
		}}},
	}
}

// interleaved are the writes of all threads in the order in which one apiserver serves
// them: a thread has one write waiting, or a whole burst. What is not there yet is created
// by its first write.
func interleaved(p *loadplan.Plan, threads int) (all []op) {
	type waiting struct {
		op  loadplan.Op
		ask func() // the thread's next
	}
	var queue []waiting
	for k := range threads {
		next, stop := iter.Pull(p.Thread(k))
		defer stop()
		var ask func()
		ask = func() {
			for x, ok := next(); ok; x, ok = next() {
				if x.Burst == 0 {
					queue = append(queue, waiting{x, ask})
					return
				}
				queue = append(queue, waiting{x, func() {}})
			}
		}
		ask()
	}
	for len(queue) > 0 {
		x := queue[0]
		queue = queue[1:]
		x.ask()
		o := op{id: 500_000 + x.op.ID, typ: x.op.Type, resource: apisim.Pods, ns: "a", name: x.op.Pod.Name, size: 100}
		if target := x.op.Target; target != nil {
			o.name = target.Name
			if target.Kind == apisim.Events.Kind {
				o.resource = apisim.Events
			}
		}
		all = append(all, o)
	}
	return all
}
