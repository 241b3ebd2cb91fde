package runner

import (
	"testing"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/reports/result"
)

// played is a load into a simulated apiserver, below two strategies that send every event,
// one of which keeps no order.
const played = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: played}
cluster: {provider: replay, replay: {speed: unlimited}}
storage: {latency: 'lognormal(mean=5ms,p99=15ms)'}
load:
  {model: open, rate: 1500, duration: 1s, recreate: 0.8, survivors: 0.1, bystander: {kind: ConfigMap, rate: 5}, warmup: {operations: 40},
   hotkeys: {objects: 4, burst: 10, share: 0.3}}
watcher: {podQueueNum: 8, synchronizer: {disabled: true}}
matrix:
  watcher.strategy: [partitioned, unordered]
drainTimeout: 60s
expect: {G1: {unordered: fail-allowed}, G2: {unordered: fail-allowed}, G3: {unordered: fail-allowed}, G4: {unordered: fail-allowed}, G5: {unordered: fail-allowed}}
`

// simulated runs a scenario without a control plane.
func simulated(t *testing.T, opts Options) (Outcome, error) {
	t.Helper()
	opts.Provider = cluster.Replay
	provider, err := cluster.New(cluster.Replay, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	up, err := provider.Up(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return Run(t.Context(), opts, up)
}

// TestPlayedLoad: without a control plane every check is judged, the same seed gives
// strategies that send every event the same number of requests, the one that keeps no
// order is caught, and the folder judges alike.
func TestPlayedLoad(t *testing.T) {
	opts, said := stage(t, played)
	out, err := simulated(t, opts)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	requests := map[int64]int{}
	for _, c := range out.Results.Cells {
		if !onlyLate(c) || c.Load.Done != 1500 || c.Load.Errors != 0 {
			t.Fatalf("%s: %v, %d of %d done", c.ID, c.InvalidReasons, c.Load.Done, c.Load.Planned)
		}
		requests[c.Events.Sent]++
		if c.Params["watcher.strategy"] == "unordered" {
			if v := c.Checks["G2"].Verdict; v != result.Allowed {
				t.Errorf("%s: G2 is %s: it was not caught", c.ID, v)
			}
			continue
		}
		for _, g := range []string{"G1", "G2", "G3", "G4", "G5", "G6"} {
			if v := c.Checks[g].Verdict; v != result.Pass {
				t.Errorf("%s: %s is %s", c.ID, g, v)
			}
		}
	}
	if len(requests) != 1 {
		t.Errorf("requests by count %v: want the same for both", requests)
	}
	judgedAlike(t, out.Dir)
}
