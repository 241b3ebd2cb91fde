package runner

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/record"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// traced is a recorded trace as the load; --set names it.
const traced = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: traced}
cluster: {provider: simulated}
storage: {latency: 'lognormal(mean=5ms,p99=15ms)'}
watcher: {podQueueNum: 8, resources: [Pod, Event, ReplicaSet, Deployment, Node]}
limits: {minPower: 0, lag: 10s}
drainTimeout: 60s
`

// replayed runs a trace at a speed, has it judged and returns its cell.
func replayed(t *testing.T, path, speed string) result.Cell {
	t.Helper()
	opts, said := stage(t, traced, "cluster.replay.trace="+path, "cluster.replay.speed="+speed)
	out := simulated(t, opts, said)
	c := out.Results.Cells[0]
	if !onlyLate(c) || c.Cut || c.Load.Errors != 0 || c.Load.Done != c.Load.Planned || c.Load.Model != result.ModelOpen {
		t.Errorf("at %s: invalid %v, cut %t, %+v", speed, c.InvalidReasons, c.Cut, c.Load)
	}
	passes(t, c, "G1", "G2", "G3", "G4", "G6", "G14")
	judgedAlike(t, out.Dir)
	return c
}

// TestTracedLoad: a trace is a load like any other, without a control plane: every check is
// judged, and storage ends in the same state at every speed.
func TestTracedLoad(t *testing.T) {
	path, err := filepath.Abs("../../loadgen/record/testdata/churn.trace.zst")
	if err != nil {
		t.Fatal(err)
	}
	fast, all := replayed(t, path, "10x"), replayed(t, path, "unlimited")
	if fast.Load.Done != 397 || all.Load.Done != 397 {
		t.Errorf("%d and %d events were played, the trace has 397", fast.Load.Done, all.Load.Done)
	}
	if d := fast.Storage.Digest; len(d) != 64 || d != all.Storage.Digest {
		t.Errorf("storage ends in %q and in %q", d, all.Storage.Digest)
	}
}

// churned is a load on a real apiserver whose objects are of the kinds that traced watches.
const churned = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: churned}
storage: {latency: 'lognormal(mean=5ms,p99=15ms)'}
load:
  {model: open, profile: service-churn, rate: 4, duration: 6s, nodes: 3, namespaces: 3, prefill: 6,
   tuning: {timeScale: 1000, stages: {pullShare: 0, stop: 200ms, final: 200ms}}}
watcher: {podQueueNum: 8, resources: [Pod, Event, ReplicaSet, Deployment, Node]}
limits: {minPower: 0, lag: 10s, minOffered: 10%}
drainTimeout: 60s
`

// TestTraceEndsInTheLiveDigest: what was recorded of a churned cluster ends, replayed as fast
// as it happened and ten times as fast, in what storage held of the cluster itself.
func TestTraceEndsInTheLiveDigest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.zst")
	stop := recording(t, path)
	opts, said := stage(t, churned)
	var once sync.Once
	opts.Progress = NewProgress(terminal.New(writerFunc(func(b []byte) (int, error) {
		if strings.Contains(string(b), ": "+PhaseTeardown) { // storage has drained, the objects are still there
			once.Do(stop)
		}
		return said.Write(b)
	}), true, nil))
	out := finish(t, opts, said)
	live := out.Results.Cells[0]
	once.Do(func() { t.Fatal("the recording was not stopped before the teardown") })
	if !onlyLate(live) || live.Cut || live.Checks["G1"].Verdict != result.Pass || len(live.Storage.Digest) != 64 {
		t.Fatalf("invalid %v, cut %t, G1 %+v, digest %q", live.InvalidReasons, live.Cut, live.Checks["G1"], live.Storage.Digest)
	}
	n := writesOf(t, history.CellDir(out.Dir, live.ID))
	if gone := n["Pod "+oplog.TypeDelete]; gone == 0 || n["Pod"] == gone+n["Pod "+oplog.TypeCreate] {
		t.Errorf("the load deleted no pod, or changed none: %v", n)
	}
	for _, speed := range []string{"1x", "10x"} {
		c := replayed(t, path, speed)
		if c.Load.Done < live.Load.Done {
			t.Errorf("at %s %d events were played, the load alone had %d", speed, c.Load.Done, live.Load.Done)
		}
		if c.Storage.Digest != live.Storage.Digest {
			t.Errorf("at %s storage ends in %s, of the cluster itself in %s", speed, c.Storage.Digest, live.Storage.Digest)
		}
	}
}

// recording records the tests' control plane from now on. stop ends it once it has all that there is.
func recording(t *testing.T, path string) (stop func()) {
	t.Helper()
	env := clustertest.Start(t)
	resources, version, err := record.Resolve(t.Context(), env.Config, []string{"namespaces", "pods", "events", "replicasets.apps", "deployments.apps", "nodes"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := record.New(record.Settings{REST: env.Config, Resources: resources, ClusterVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	w, err := record.Create(path, r.Header())
	if err != nil {
		t.Fatal(err)
	}
	api, err := party.NewAPIServer(env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := errors.Join(r.Run(ctx, w), w.Close()); err != nil {
			t.Error(err)
		}
	})
	end := func() {
		cancel()
		running.Wait()
		api.Close()
	}
	t.Cleanup(end)
	await(t, "the first lists", func() bool {
		for _, p := range r.Progress() {
			if p.Version == "" {
				return false
			}
		}
		return true
	})
	return func() {
		for i, res := range resources {
			live, latest := stored(t, api, res)
			await(t, "the events of "+res.Name, func() bool {
				p := r.Progress()[i]
				at, _ := strconv.ParseUint(p.Version, 10, 64)
				return p.Live == live && at >= latest
			})
		}
		end()
	}
}

// stored is how many objects of a resource there are, and the highest of their versions.
func stored(t *testing.T, api *party.APIServer, r record.Resource) (n int64, latest uint64) {
	t.Helper()
	path := "/apis/" + r.APIVersion() + "/" + r.Name
	if r.Group == "" {
		path = "/api/v1/" + r.Name
	}
	err := api.Each(t.Context(), path, "", func(raw json.RawMessage) error {
		var o struct {
			Metadata struct{ ResourceVersion string }
		}
		if err := json.Unmarshal(raw, &o); err != nil {
			return err
		}
		version, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
		n, latest = n+1, max(latest, version)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return n, latest
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("waited a minute for %s", what)
			return
		}
	}
}
