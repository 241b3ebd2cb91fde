package search

import (
	"math"
	"testing"
	"time"

	"github.com/watchbench/watchbench/scenarios/faults"
)

// TestPods: plans of the rate of Pods that is chosen have the rate of writes on average.
func TestPods(t *testing.T) {
	f, err := faults.Format.Parse("tune", []byte(`apiVersion: watchbench/v1
kind: Scenario
metadata: {name: churn}
load: {model: open, profile: service-churn, rate: 8, duration: 90s, nodes: 30, namespaces: 20, prefill: 100,
	tuning: {timeScale: 20}}
watcher: {resources: [Pod, Event, ReplicaSet, Deployment, EndpointSlice, Node, Lease]}
`))
	if err != nil {
		t.Fatal(err)
	}
	base := f.Base()
	l := base.Load.Load
	pods, got, err := Question{Rate: 200, Profile: "service-churn", Length: 30 * time.Second}.pods(l, base.Seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%g pods/s: %g", pods, got)
	if math.Abs(got-200) > nearRate*200 {
		t.Errorf("%g pods/s are %.0f writes/s on average, not 200", pods, got)
	}
}
