package runner

import (
	"testing"
)

const ladder = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: ladder}
cluster: {provider: simulated}
ladder: true
storage: {latency: 20ms}
load: {model: open, rate: 200, duration: 1s, objectBytes: 2100B, namespaces: 3}
watcher: {podQueueNum: 8, synchronizer: {disabled: true}}
limits: {lag: 30s, minOffered: 1%}
matrix:
  load:
    small: {prefill: 100}
    large: {prefill: 1000}
    unlimited: {prefill: 100, speed: unlimited}
drainTimeout: 60s
`

// TestLadder climbs on real processes: each rung has its sync up to storage, memory and
// freshness, and the folder judges alike.
func TestLadder(t *testing.T) {
	opts, said := stage(t, ladder)
	out := simulated(t, opts, said)
	res := out.Results
	if len(res.Cells) != 3 || len(res.Missing()) != 0 {
		t.Fatalf("%d cells", len(res.Cells))
	}
	for i, c := range res.Cells {
		if want := []string{"small", "large", "unlimited"}[i]; c.ID != want || !onlyLate(c) {
			t.Errorf("cell %d is %s, want %s; %v", i, c.ID, want, c.InvalidReasons)
		}
		w := c.Watcher
		if w.Stored == nil || w.StoredCPU == nil || w.FirstSync == nil || w.RSSHighestMiB == nil || w.RSSEndMiB == nil || *w.Stored <= 0 || *w.StoredCPU <= 0 {
			t.Fatalf("%s: first sync %v, stored %v, CPU %v", c.ID, w.FirstSync, w.Stored, w.StoredCPU)
		}
		passes(t, c, "G1", "G6")
	}
	judgedAlike(t, out.Dir)
}
