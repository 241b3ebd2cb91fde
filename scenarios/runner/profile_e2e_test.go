package runner

import (
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// lively is a profile on a cluster whose nodes renew their leases throughout, as the
// watcher sees.
const lively = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: lively}
storage: {latency: 'lognormal(mean=5ms,p99=15ms)'}
load:
  {model: open, profile: service-churn, rate: 2, duration: 6s, nodes: 20, namespaces: 3, prefill: 10,
   tuning: {timeScale: 1000, sizes: {pod: 4KB}, services: {deployments: 2, selected: 1},
     stages: {pullShare: 0, stop: 200ms, final: 200ms}}}
limits: {minPower: 0, lag: 10s, minOffered: 10%}
watcher: {strategy: keyed, podQueueNum: 8, resources: [Pod, Event, ReplicaSet, Deployment, EndpointSlice, Node, Lease]}
drainTimeout: 60s
`

// TestProfileDrains: a profile is copied, its drain ends although leases are renewed, and
// the record judges alike.
func TestProfileDrains(t *testing.T) {
	opts, said := stage(t, lively)
	out := finish(t, opts, said)
	c := out.Results.Cells[0]
	if !onlyLate(c) || c.Cut {
		t.Fatalf("invalid %v, cut %v\n%s", c.InvalidReasons, c.Cut, said)
	}
	for _, g := range []string{"G1", "G2", "G3", "G4", "G6", "G14"} {
		if v := c.Checks[g]; v.Verdict != result.Pass {
			t.Errorf("%s: %s %s %s", g, v.Verdict, v.Counterexample, v.Note)
		}
	}
	for _, kind := range []string{"Pod", "Event", "ReplicaSet", "Deployment", "EndpointSlice", "Lease"} {
		if c.Traffic[kind].Events() == 0 {
			t.Errorf("no event of a %s: %+v", kind, c.Traffic)
		}
	}
	judgedAlike(t, out.Dir)
}
