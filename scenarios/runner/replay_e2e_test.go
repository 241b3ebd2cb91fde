package runner

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// played is a load into a simulated apiserver, below the strategies that send every event,
// one of which keeps no order, and below one that sends the latest state of an object.
const played = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: played}
cluster: {provider: simulated, replay: {speed: unlimited}}
storage: {latency: 'lognormal(mean=5ms,p99=15ms)'}
load:
  {model: open, rate: 1500, duration: 1s, recreate: 0.8, survivors: 0.1, prefill: 1, bystander: {kind: ConfigMap, rate: 5}, warmup: {operations: 40},
   hotkeys: {objects: 4, burst: 10, share: 0.3}}
watcher: {podQueueNum: 8, synchronizer: {disabled: true}}
matrix:
  watcher.strategy: [single, partitioned, keyed, dedup, unordered]
drainTimeout: 60s
expect: {G1: {unordered: fail-allowed}, G2: {unordered: fail-allowed}, G3: {unordered: fail-allowed}, G4: {unordered: fail-allowed}, G5: {unordered: fail-allowed}}
`

// TestPlayedLoad: without a control plane every check is judged, the same seed gives the strategies that send every
// event the same requests for each object, in a second run too, what is merged is accounted for, the one that keeps no
// order is caught, and the folder judges alike.
func TestPlayedLoad(t *testing.T) {
	first := play(t)
	judgedAlike(t, first.Dir)
	second := play(t, "matrix.watcher.strategy=single,partitioned,keyed,dedup")
	var want map[string]int
	var events int64
	for _, run := range []Outcome{first, second} {
		for _, c := range run.Results.Cells {
			if n := c.Events.Sent + c.Events.Coalesced; events == 0 {
				events = n
			} else if n != events {
				t.Errorf("%s: %d events sent or merged, another cell has %d", c.ID, n, events)
			}
			// On a slow machine a kind may be quiet for so long that it is watched anew, once.
			if w := c.Watcher; w.Lists == nil || w.Watches == nil || *w.Watches < 3 || *w.Watches > 6 || w.AllocsPerEvent == nil || c.Storage.BytesPerEvent == nil {
				t.Errorf("%s: %s lists and %s watches, want a watch or two of each of 3 kinds; %s allocations, %s bytes per event",
					c.ID, text(w.Lists), text(w.Watches), text(w.AllocsPerEvent), text(c.Storage.BytesPerEvent))
			}
			sent := requests(t, run.Dir, c.ID)
			if c.Params["watcher.strategy"] == "dedup" {
				continue
			}
			if want == nil {
				want = sent
			}
			if d := cmp.Diff(want, sent); d != "" {
				t.Errorf("%s sends other requests (-one cell +this):\n%s", c.ID, d)
			}
		}
	}
	if len(want) < 100 {
		t.Errorf("only %d objects", len(want))
	}
}

// text is a figure, or none.
func text[N any](n *N) string {
	if n == nil {
		return "no"
	}
	return fmt.Sprint(*n)
}

// requests counts those of a cell by method and object; the names of namespaces differ.
func requests(t *testing.T, run, cell string) map[string]int {
	t.Helper()
	entries, err := history.Ledger(history.CellDir(run, cell))
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != "Namespace" {
			n[e.Method+" "+e.Kind+" "+e.Name]++
		}
	}
	return n
}

// writesOf counts the load's writes by kind, and by kind and what became of the object.
func writesOf(t *testing.T, cell string) map[string]int {
	t.Helper()
	ops, err := history.Ops(cell)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for r, err := range ops {
		if err != nil {
			t.Fatal(err)
		}
		if r.Phase == oplog.PhaseLoad && r.OK() && !r.Bystander && r.Type != oplog.TypeHeartbeat {
			n[r.Kind]++
			n[r.Kind+" "+r.Type]++
		}
	}
	return n
}

// profiled are loads of all kinds into a simulated apiserver.
const profiled = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: profiled}
cluster: {provider: simulated}
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
	written := map[string]map[string]int{}
	for _, speed := range []string{"4x", "unlimited"} {
		opts, said := stage(t, profiled, "cluster.replay.speed="+speed)
		out := simulated(t, opts, said)
		for _, c := range out.Results.Cells {
			if !onlyLate(c) || c.Cut || c.Load.Done != c.Load.Planned || c.Load.Done < 200 || c.Load.Errors != 0 {
				t.Fatalf("%s at %s: %v, cut %t, %+v", c.ID, speed, c.InvalidReasons, c.Cut, c.Load)
			}
			passes(t, c, "G1", "G2", "G3", "G4", "G6", "G14")
			writes := writesOf(t, history.CellDir(out.Dir, c.ID))
			if of := written[c.ID]; speed == "unlimited" && !maps.Equal(of, writes) {
				t.Errorf("%s: %v at 4x, %v at %s", c.ID, of, writes, speed)
			}
			// The clock is the plan's: 4 Leases, each renewed every 10 s, once or twice in 12 s.
			if l := writes["Lease"]; l < 3 || l > 8 {
				t.Errorf("%s at %s: Leases %+v", c.ID, speed, l)
			}
			written[c.ID] = writes
		}
		judgedAlike(t, out.Dir)
	}
}

// TestLostControlPlaneIsReported: a process of the control plane that is gone is the error, whatever the cell made of it.
func TestLostControlPlaneIsReported(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	opts, _ := stage(t, played, "matrix.watcher.strategy=keyed")
	opts.Provider = cluster.Simulated
	up := &cluster.Cluster{Provider: cluster.Simulated, Version: cluster.SimulatedVersion,
		PIDs: map[string]int{"kube-apiserver": gone.Process.Pid}, Logs: map[string]string{"kube-apiserver": "a.log"}}
	_, err := Run(t.Context(), opts, up)
	ended, ok := errors.AsType[*cluster.EndedError](err)
	if want := (cluster.EndedError{Party: "kube-apiserver", PID: gone.Process.Pid, Log: "a.log"}); !ok || *ended != want {
		t.Errorf("got %v, want %v", err, &want)
	}
}

// simulated runs on a simulated apiserver.
func simulated(t *testing.T, opts Options, said *bytes.Buffer) Outcome {
	t.Helper()
	opts.Provider = cluster.Simulated
	provider, err := cluster.New(cluster.Simulated, cluster.Options{})
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

// play runs the load and judges each cell.
func play(t *testing.T, sets ...string) Outcome {
	t.Helper()
	opts, said := stage(t, played, sets...)
	out := simulated(t, opts, said)
	for _, c := range out.Results.Cells {
		if !onlyLate(c) || c.Load.Done != 1500 || c.Load.Errors != 0 {
			t.Fatalf("%s: %v, %+v", c.ID, c.InvalidReasons, c.Load)
		}
		strategy := c.Params["watcher.strategy"]
		if strategy == "dedup" != (c.Events.Coalesced > 0) {
			t.Errorf("%s merged %d events", c.ID, c.Events.Coalesced)
		}
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
