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

// TestSiteTellsWatchersApart: each watcher has a name, a shard or an instance of storage of its own, and only those that
// a fault is for reach the apiserver through the proxy.
func TestSiteTellsWatchersApart(t *testing.T) {
	s := &spec.Scenario{Watcher: spec.Watcher{LeaderElection: true, PodQueueNum: 3}, Watch: spec.Watch{Leader: true}}
	s.Load.LabelShards = 2
	c := &site{
		r: &Runner{short: "x", cluster: &cluster.Cluster{Kubeconfig: "direct"}}, s: s, record: history.Cell{ID: "only"},
		storage: &party.Storage{Endpoints: []string{"a", "b"}}, proxy: &party.Proxy{Kubeconfig: "proxied"},
	}
	for i, want := range []party.WatcherSetup{
		{Name: "k8s-watch", Kubeconfig: "proxied", Endpoints: []string{"a"}, Selectors: map[string]string{"Pod": party.ShardLabel + " in (0)"}},
		{Name: "k8s-watch-2", Kubeconfig: "direct", Endpoints: []string{"b"}, Instance: 1, Selectors: map[string]string{"Pod": party.ShardLabel + " in (1)"}},
	} {
		got := c.watcherSetup(7 * i)
		c.all = append(c.all, &party.Watcher{Process: &party.Process{}, Instance: got.Instance})
		if got.Name != want.Name || got.Kubeconfig != want.Kubeconfig || got.Instance != want.Instance ||
			!reflect.DeepEqual(got.Endpoints, want.Endpoints) || !reflect.DeepEqual(got.Selectors, want.Selectors) {
			t.Errorf("watcher %d: %+v, want %+v", i+1, got, want)
		}
		if queues := []int{3, 7}[i]; got.Spec.PodQueueNum != queues || got.Lease != faults.Lease("x") {
			t.Errorf("watcher %d: %d queues and lease %q, want %d", i+1, got.Spec.PodQueueNum, got.Lease, queues)
		}
	}
	c.setup.Kubeconfig = "of the fault"
	if got := c.kubeconfig(); got != c.setup.Kubeconfig {
		t.Errorf("a fault's kubeconfig is not used, but %q", got)
	}
}
