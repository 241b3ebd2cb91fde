package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/party"
)

const definitional = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: definitional}
storage: {latency: 2ms}
load: {model: open, rate: 40, duration: 3s, prefill: 20, bystander: {kind: ConfigMap, rate: 5}}
watcher: {podQueueNum: 6, synchronizer: {period: 1s}}
extra: {pods: 1, namespaces: 1}
events:
  - {at: 100ms, what: crd-add, count: 3}
  - {at: 100ms, what: change-customs, count: 9}
  - {at: 100ms, what: crd-switch}
  - {at: 100ms, what: crd-unserve, for: 100ms}
  - {at: 100ms, what: crd-remove, count: 2}
fault: {row: F22, title: a bit of everything, assert: [C, O, L, A], measure: [T], lists: 0}
limits: {lag: 10s, minOffered: 20%, minPower: 0}
drainTimeout: 30s
`

// TestCustoms: definitions come and go, one stays to the end of the cell, and nothing is
// left in the cluster.
func TestCustoms(t *testing.T) {
	opts, said := stage(t, definitional)
	out := finish(t, opts, said)
	c := out.Results.Cells[0]
	holds(t, c, "C", "O", "L", "A")
	if x := c.Robustness.Columns["T"]; x.Value == "" {
		t.Errorf("no time was measured: %+v", c.Robustness.Facts)
	}
	for what, want := range map[string]int64{"crd-add": 9, "change-customs": 9, "crd-switch": 3, "crd-unserve": 3, "crd-remove": 6} {
		if n := c.Robustness.Keys[what]; n != want {
			t.Errorf("%s concerned %d objects, want %d", what, n, want)
		}
	}
	judgedAlike(t, out.Dir)
}

// TestInterruptedCustoms: definitions that are just being made go, too.
func TestInterruptedCustoms(t *testing.T) {
	opts, _ := stage(t, definitional, "events=[{at: 0s, what: crd-add, count: 20}]")
	env := clustertest.Start(t)
	api, err := party.NewAPIServer(env.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("Ctrl-C")
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, opts, env.Cluster)
		ended <- err
	}()
	for deadline := time.Now().Add(time.Minute); len(namesAt(t, api, definitionsPath)) < 2; {
		if time.Now().After(deadline) {
			t.Fatal("no definition was made")
		}
		if err := lifecycle.Pause(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	nothingLeft(t)
}
