package xk6

import (
	"errors"
	"testing"

	"go.k6.io/k6/js/modulestest"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/metrics"

	"github.com/watchbench/watchbench/loadgen/churn"
	"github.com/watchbench/watchbench/loadgen/plan"
)

// TestFigures: what k6 is told of an operation, with no tags but op and kind. Of
// one that was not sent it is told that it failed, and no times.
func TestFigures(t *testing.T) {
	rt := modulestest.NewRuntime(t)
	m, err := registerMetrics(rt.VU.InitEnvField.Registry)
	if err != nil {
		t.Fatal(err)
	}
	samples := make(chan metrics.SampleContainer, 10)
	rt.MoveToVUContext(&lib.State{Samples: samples, Tags: lib.NewVUStateTags(metrics.NewRegistry().RootTagSet())})
	const ms = 1_000_000
	event := &plan.Target{Kind: "Event", Name: "e"}
	for _, tc := range []struct {
		name string
		sent churn.Sent
		want map[string]float64
	}{
		{"a late one", churn.Sent{Op: plan.Op{Type: "bind", Target: &plan.Target{Kind: "Pod", Name: "p"}}, Intended: 5 * ms, Started: 8 * ms, Finished: 20 * ms},
			map[string]float64{"podchurn_op_duration": 12, "podchurn_op_from_intended": 15, "podchurn_lag": 3, "podchurn_ops": 1, "podchurn_op_failed": 0}},
		{"refused", churn.Sent{Op: plan.Op{Type: "create", Target: event}, Intended: 5 * ms, Started: 5 * ms, Finished: 6 * ms, Err: errors.New("no")},
			map[string]float64{"podchurn_op_duration": 1, "podchurn_op_from_intended": 1, "podchurn_lag": 0, "podchurn_ops": 1, "podchurn_op_failed": 1}},
		{"not sent", churn.Sent{Op: plan.Op{Type: "ready", Target: &plan.Target{Kind: "Pod", Name: "p"}}, Intended: 5 * ms, Err: churn.ErrSkipped},
			map[string]float64{"podchurn_op_failed": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m.push(rt.VU, tc.sent)
			got := (<-samples).GetSamples()
			for _, s := range got {
				if want, ok := tc.want[s.Metric.Name]; !ok || s.Value != want {
					t.Errorf("%s is %v, want %v", s.Metric.Name, s.Value, want)
				}
				tags := s.Tags.Map()
				if len(tags) != 2 || tags["op"] != tc.sent.Op.Type || tags["kind"] != tc.sent.Op.Target.Kind {
					t.Errorf("%s has the tags %v", s.Metric.Name, tags)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("%d samples, want %d", len(got), len(tc.want))
			}
		})
	}
}
