package runner

import (
	"testing"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/reports/result"
)

// played is a load into a simulated apiserver, below the strategies that send every event,
// one of which keeps no order, and below one that sends the latest state of an object.
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
  watcher.strategy: [single, partitioned, keyed, dedup, unordered]
drainTimeout: 60s
expect: {G1: {unordered: fail-allowed}, G2: {unordered: fail-allowed}, G3: {unordered: fail-allowed}, G4: {unordered: fail-allowed}, G5: {unordered: fail-allowed}}
`

// TestPlayedLoad: without a control plane every check is judged, the same seed gives the
// strategies that send every event the same number of requests, in a second run too, what
// is merged is accounted for, the one that keeps no order is caught, and the folder judges
// alike.
func TestPlayedLoad(t *testing.T) {
	requests := map[int64][]string{}
	ran := play(t, requests)
	judgedAlike(t, ran.Dir)
	play(t, requests, "matrix.watcher.strategy=single,partitioned,keyed,dedup")
	if len(requests) != 1 {
		t.Errorf("cells by requests and merged events %v: want the same for all", requests)
	}
}

// play runs the load and notes each cell under its number of events.
func play(t *testing.T, requests map[int64][]string, sets ...string) Outcome {
	t.Helper()
	opts, said := stage(t, played, sets...)
	opts.Provider = cluster.Replay
	provider, err := cluster.New(cluster.Replay, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	up, err := provider.Up(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Run(t.Context(), opts, up)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, c := range out.Results.Cells {
		if !onlyLate(c) || c.Load.Done != 1500 || c.Load.Errors != 0 {
			t.Fatalf("%s: %v, %d of %d done", c.ID, c.InvalidReasons, c.Load.Done, c.Load.Planned)
		}
		strategy := c.Params["watcher.strategy"]
		if strategy == "dedup" != (c.Events.Coalesced > 0) {
			t.Errorf("%s merged %d events", c.ID, c.Events.Coalesced)
		}
		n := c.Events.Sent + c.Events.Coalesced
		requests[n] = append(requests[n], c.ID)
		if strategy == "unordered" {
			if v := c.Checks["G2"].Verdict; v != result.Allowed {
				t.Errorf("%s: G2 is %s: it was not caught", c.ID, v)
			}
			continue
		}
		for _, g := range []string{"G1", "G2", "G3", "G4", "G5", "G6"} {
			if v := c.Checks[g].Verdict; v != result.Pass && v != result.NoPower {
				t.Errorf("%s: %s is %s", c.ID, g, v)
			}
		}
	}
	return out
}
