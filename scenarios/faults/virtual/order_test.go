package virtual

import (
	"fmt"
	"testing"

	"github.com/watchbench/watchbench/loadgen/apisim"
	"github.com/watchbench/watchbench/loadgen/oplog"
	loadplan "github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios"
	"github.com/watchbench/watchbench/scenarios/spec"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// TestUnorderedIsCaught: the default table demands that the strategy without order is caught. Its load gives G2 and G3
// several violations with every seed.
func TestUnorderedIsCaught(t *testing.T) {
	path, data, err := scenarios.Read("strategies")
	if err != nil {
		t.Fatal(err)
	}
	f, err := spec.Format{}.Parse(path, data, "matrix.watcher.strategy=unordered")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed+1), func(t *testing.T) {
			o := simulate(t, openLoad(t, f.Cells()[0].Scenario, seed+1))
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

// openLoad is the load of a scenario at its intended times. What is not there yet is created by its first write.
func openLoad(t *testing.T, s spec.Scenario, seed uint64) setup {
	t.Helper()
	p, err := loadplan.New(s.Load.Plan("r", seed))
	if err != nil {
		t.Fatal(err)
	}
	return setup{
		seed: seed, ops: 10, span: s.Load.Duration.Std(), latency: s.Storage.Latency,
		edit: func(c *config.Config, _ *config.Filter) {
			c.BCS.Strategy, c.BCS.AllowUnordered, c.BCS.PodQueueNum = pipeline.Strategy(s.Watcher.Strategy), true, s.Watcher.PodQueueNum
		},
		hooks: []hook{{0, func(w *world) {
			for x := range p.Timed() {
				w.until(x.At)
				w.do(op{id: 500_000 + x.ID, typ: x.Type, resource: apisim.Pods, ns: "a", name: x.Target.Name, size: 100}, oplog.PhaseLoad)
			}
		}}},
	}
}
