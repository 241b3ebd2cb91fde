package runner

import (
	"reflect"
	"testing"

	"github.com/watchbench/watchbench/internal/cluster"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestSiteTellsWatchersApart: each watcher has a name, a label or an instance of storage of its own, and only those that
// a fault is for reach the apiserver through the proxy.
func TestSiteTellsWatchersApart(t *testing.T) {
	s := &spec.Scenario{Watcher: spec.Watcher{LeaderElection: true, PodQueueNum: 3, Replicas: 2}, Watch: spec.Watch{Leader: true}}
	c := &site{
		r: &Runner{short: "x", cluster: &cluster.Cluster{Kubeconfig: "direct"}}, s: s, record: history.Cell{ID: "only"},
		storage: &party.Storage{Endpoints: []string{"a", "b"}}, proxy: &party.Proxy{Kubeconfig: "proxied"},
	}
	for i, want := range []party.WatcherSetup{
		{Name: "k8s-watch", Kubeconfig: "proxied", Endpoints: []string{"a"}},
		{Name: "k8s-watch-2", Kubeconfig: "direct", Endpoints: []string{"b"}, Instance: 1},
	} {
		got := c.watcherSetup(7 * i)
		c.all = append(c.all, &party.Watcher{Process: &party.Process{}, Instance: got.Instance})
		if got.Name != want.Name || got.Kubeconfig != want.Kubeconfig || got.Instance != want.Instance ||
			!reflect.DeepEqual(got.Endpoints, want.Endpoints) || got.Selectors != nil {
			t.Errorf("watcher %d: %+v, want %+v", i+1, got, want)
		}
		if queues := []int{3, 7}[i]; got.Spec.PodQueueNum != queues || got.Lease != faults.Lease("x") {
			t.Errorf("watcher %d: %d queues and lease %q, want %d", i+1, got.Spec.PodQueueNum, got.Lease, queues)
		}
	}
	s.Watcher.LeaderElection, s.Load.LabelShards = false, 3
	for _, want := range []string{" in (0,2)", " in (1)"} {
		if got := c.watcherSetup(0).Selectors["Pod"]; got != party.ShardLabel+want {
			t.Errorf("labels %q, want %q", got, want)
		}
	}
	c.setup.Kubeconfig = "of the fault"
	if got := c.kubeconfig(); got != c.setup.Kubeconfig {
		t.Errorf("a fault's kubeconfig is not used, but %q", got)
	}
}
