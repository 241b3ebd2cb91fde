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

// TestFigures: what a script and k6 are told of an operation, with no tags but op and kind. Of
// one that was not sent they are told that it failed, and no times.
func TestFigures(t *testing.T) {
	rt := modulestest.NewRuntime(t)
	m, err := registerMetrics(rt.VU.InitEnvField.Registry)
	if err != nil {
		t.Fatal(err)
	}
	samples := make(chan metrics.SampleContainer, 10)
	rt.MoveToVUContext(&lib.State{Samples: samples, Tags: lib.NewVUStateTags(metrics.NewRegistry().RootTagSet())})
	c := &client{vu: rt.VU, metrics: m}
	const ms = 1_000_000
	event := &plan.Target{Kind: "Event", Name: "e"}
	for _, tc := range []struct {
		name       string
		sent       churn.Sent
		ok         bool
		kind, told string
		want       map[string]float64
	}{
		{"a late one", churn.Sent{Op: plan.Op{Type: "bind", Target: &plan.Target{Kind: "Pod", Name: "p"}}, Intended: 5 * ms, Started: 8 * ms, Finished: 20 * ms}, true, "Pod", "p",
			map[string]float64{"podchurn_op_duration": 12, "podchurn_op_from_intended": 15, "podchurn_lag": 3, "podchurn_ops": 1, "podchurn_op_failed": 0}},
		{"refused", churn.Sent{Op: plan.Op{Type: "create", Target: event}, Intended: 5 * ms, Started: 5 * ms, Finished: 6 * ms, Err: errors.New("no")}, false, "Event", "e",
			map[string]float64{"podchurn_op_duration": 1, "podchurn_op_from_intended": 1, "podchurn_lag": 0, "podchurn_ops": 1, "podchurn_op_failed": 1}},
		{"not sent", churn.Sent{Op: plan.Op{Type: "ready", Target: &plan.Target{Kind: "Pod", Name: "p"}}, Intended: 5 * ms, Err: churn.ErrSkipped}, false, "Pod", "p",
			map[string]float64{"podchurn_op_failed": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := c.result(tc.sent)
			if r.OK != tc.ok || r.Op != tc.sent.Op.Type || r.Kind != tc.kind || r.Name != tc.told || (r.Error == "") != tc.ok || r.DurationMs != tc.want["podchurn_op_duration"] || r.LagMs != tc.want["podchurn_lag"] {
				t.Errorf("the script is told %+v", r)
			}
			got := (<-samples).GetSamples()
			for _, s := range got {
				if want, ok := tc.want[s.Metric.Name]; !ok || s.Value != want {
					t.Errorf("%s is %v, want %v", s.Metric.Name, s.Value, want)
				}
				tags := s.Tags.Map()
				if len(tags) != 2 || tags["op"] != r.Op || tags["kind"] != r.Kind {
					t.Errorf("%s has the tags %v", s.Metric.Name, tags)
				}
			}
			if len(got) != len(tc.want) {
				t.Errorf("%d samples, want %d", len(got), len(tc.want))
			}
		})
	}
}

// TestOneWayToSend: step() and lives would send pods of the same names and ids.
func TestOneWayToSend(t *testing.T) {
	h := &host{}
	for _, how := range []string{"step()", "step()"} {
		if err := h.use(how); err != nil {
			t.Error(err)
		}
	}
	if err := h.use("life()"); err == nil || err.Error() != "life() after step(): both send the plan's pods; use one of them in a run" {
		t.Errorf("%v", err)
	}
}
