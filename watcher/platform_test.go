package watcher

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/config"
)

// register makes a server findable below a path in ZooKeeper.
func register(t *testing.T, c *zk.Conn, path, server string) {
	t.Helper()
	for i := 1; i < len(path); i++ {
		if path[i] == '/' || i == len(path)-1 {
			p := path[:i]
			if i == len(path)-1 {
				p = path
			}
			if _, err := c.Create(p, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				t.Fatal(err)
			}
		}
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	data := fmt.Appendf(nil, `{"ip":%q,"port":%s,"scheme":"http"}`, host, port)
	if _, err := c.CreateProtectedEphemeralSequential(path+"/"+host, data, zk.DigestACL(zk.PermAll, "bcs", "secret")); err != nil {
		t.Fatal(err)
	}
}

// Storage and netservice are found in a real ZooKeeper, though one of its hosts does not resolve and its nodes are
// for one user only; the pool of the netservice is stored.
func TestPlatform(t *testing.T) {
	env := clustertest.Start(t)
	addr := clustertest.ZooKeeper(t)
	conn := clustertest.ZooKeeperClient(t, addr)
	storage := newMemoryStorage(t)
	netservice := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		typ := 9
		if r.URL.RawQuery == "info=detail" {
			typ = 5
		}
		_, _ = fmt.Fprintf(w, `{"type":%d,"code":0,"message":"ok","data":{"poolnum":2}}`, typ)
	}))
	defer netservice.Close()
	register(t, conn, "/bcs/services/endpoints/storage", storage.URL)
	register(t, conn, "/bcs/services/endpoints/netservice", netservice.URL)
	startWatcher(t, env.Kubeconfig, "", func(c *config.Config, _ *config.Filter) {
		c.BCS.CustomStorageEndpoints = nil
		hosts := "no-such-host.invalid:2181," + addr
		c.BCS.ZK, c.BCS.NetServiceZooKeepers = hosts, hosts
		c.BCS.ZKUser, c.BCS.ZKPassword = "bcs", "secret"
		c.WatchResource.DisableNetService = false
	})
	for _, kind := range []string{"IPPoolStatic", "IPPoolStaticDetail"} {
		eventually(t, kind+" is stored", func() bool {
			row, ok := storage.get(kind + "//" + kind + "-BCS-K8S-90001")
			return ok && row == `{"poolnum":2}`
		})
	}
}

// Every metric of the original is there, and ours are, under their names.
func TestMetricNames(t *testing.T) {
	env := clustertest.Start(t)
	storage := newMemoryStorage(t)
	w := startWatcher(t, env.Kubeconfig, storage.URL, nil)
	eventually(t, "something was sent", func() bool { return metricSum(t, w, metric.EventsSent) > 0 })
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, f := range families {
		have[f.GetName()] = true
	}
	for _, name := range []string{
		metric.StorageRequests, metric.StorageLatency, metric.HandlerQueue, metric.HandlerDiscards, metric.QueueLatency,
		metric.CacheKeys, metric.WatcherQueue,
		metric.EventsReceived, metric.EventsSent, metric.EventsCoalesced, metric.EventsFiltered, metric.EventsDropped,
		metric.EventsRetried, metric.EventsParked, metric.EventsQueued, metric.QueueDepth, metric.QueueCapacity,
		metric.QueueHandled, metric.QueueWaitSeconds, metric.QueueDepthTime, metric.WriterFull, metric.InFlight,
		metric.OldestUnsent, metric.WatchSilent, metric.Lag, metric.KindCollisions, metric.Freshness, metric.Relists, metric.Lists, metric.Watches, metric.Synced,
		metric.NetBytes, metric.StorageUp, metric.StorageConns, metric.SyncRuns, metric.SyncLast,
	} {
		if !have[name] {
			t.Errorf("no metric %s", name)
		}
	}
}
