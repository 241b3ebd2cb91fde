package runner

import (
	"bytes"
	"math"
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

// profiled are loads of all kinds into a simulated apiserver.
const profiled = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: profiled}
cluster: {provider: replay}
storage: {latency: 2ms}
load: {model: open, profile: service-churn, rate: 3, duration: 12s, nodes: 4, namespaces: 3, prefill: 6, tuning: {timeScale: 1000}}
watcher: {podQueueNum: 8, resources: [Pod, Event, ReplicaSet, Deployment, DaemonSet, Job, EndpointSlice, Node, Lease, ConfigMap, Widget]}
matrix:
  load.profile: [service-churn, mixed-production]
limits: {minPower: 0, lag: 10s, minOffered: 10%}
drainTimeout: 60s
`

// TestPlayedProfiles: profiles are played at a speed and as fast as the watcher reads, are
// judged as on a real cluster, and write as much of each kind at both.
func TestPlayedProfiles(t *testing.T) {
	written := map[string]map[string]result.KindTraffic{}
	for _, speed := range []string{"4x", "unlimited"} {
		opts, said := stage(t, profiled, "cluster.replay.speed="+speed)
		out := simulated(t, opts, said)
		for _, c := range out.Results.Cells {
			if !onlyLate(c) || c.Cut || c.Load.Done != c.Load.Planned || c.Load.Done < 200 || c.Load.Errors != 0 || c.Traffic == nil {
				t.Fatalf("%s at %s: %v, cut %t, %+v", c.ID, speed, c.InvalidReasons, c.Cut, c.Load)
			}
			for _, g := range []string{"G1", "G2", "G3", "G4", "G6", "G14"} {
				if v := c.Checks[g]; v.Verdict != result.Pass {
					t.Errorf("%s at %s: %s is %s: %s %s", c.ID, speed, g, v.Verdict, v.Counterexample, v.Note)
				}
			}
			for kind, k := range c.Traffic.Kinds {
				if k.Added+k.Modified+k.Deleted > 0 && k.Puts == 0 && k.Deleted == 0 {
					t.Errorf("%s at %s: nothing of the kind %s reached storage", c.ID, speed, kind)
				}
				if of := written[c.ID][kind]; speed == "unlimited" && (of.Added != k.Added || of.Modified != k.Modified || of.Deleted != k.Deleted) {
					t.Errorf("%s: %s: %+v at 4x, %+v at %s", c.ID, kind, of, k, speed)
				}
			}
			// The clock is the plan's: 4 Leases, every 10 of its 12 seconds.
			if l := c.Traffic.Kinds["Lease"]; l.Expected == nil || speed == "unlimited" && math.Abs(*l.Expected-4.8) > 0.01 || l.Events() < 3 {
				t.Errorf("%s at %s: Leases %+v", c.ID, speed, l)
			}
			written[c.ID] = c.Traffic.Kinds
		}
		judgedAlike(t, out.Dir)
	}
}

// simulated runs on a simulated apiserver.
func simulated(t *testing.T, opts Options, said *bytes.Buffer) Outcome {
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
	out, err := Run(t.Context(), opts, up)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return out
}

// TestPlayedLoad: without a control plane every check is judged, the same seed gives
// strategies that send every event the same number of requests, the one that keeps no
// order is caught, and the folder judges alike.
func TestPlayedLoad(t *testing.T) {
	opts, said := stage(t, played)
	out := simulated(t, opts, said)
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
