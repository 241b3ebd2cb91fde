package watcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

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

// Storage, netservice and bcs-health are found in a real ZooKeeper, though one of its hosts
// does not resolve and its nodes are for one user only; the pool of
// the netservice is stored, and a warning on an owned Pod reaches bcs-health.
func TestPlatform(t *testing.T) {
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	ns := clustertest.Namespace(t, env.Config)
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
	told := make(chan map[string]any, 8) // more than the test causes
	people := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var body any
		if err := json.Unmarshal(b, &body); err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		told <- map[string]any{"path": r.URL.Path, "body": body}
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":{}}`)
	}))
	defer people.Close()
	register(t, conn, "/bcs/services/endpoints/storage", storage.URL)
	register(t, conn, "/bcs/services/endpoints/netservice", netservice.URL)
	register(t, conn, "/bcs/services/endpoints/health/master", people.URL)
	w := startWatcher(t, env.Kubeconfig, "", func(c *config.Config, _ *config.Filter) {
		c.BCS.CustomStorageEndpoints = nil
		hosts := "no-such-host.invalid:2181," + addr
		c.BCS.ZK, c.BCS.NetServiceZooKeepers = hosts, hosts
		c.BCS.ZKUser, c.BCS.ZKPassword = "bcs", "secret"
		c.WatchResource.DisableNetService = false
		c.Alertor.BCSHealth = true
	})
	for _, kind := range []string{"IPPoolStatic", "IPPoolStaticDetail"} {
		eventually(t, kind+" is stored", func() bool {
			row, ok := storage.get(kind + "//" + kind + "-BCS-K8S-90001")
			return ok && row == `{"poolnum":2}`
		})
	}

	yes := true
	must[*corev1.Pod](t)(client.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "11111111-1111-1111-1111-111111111111", Controller: &yes}}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}, metav1.CreateOptions{}))
	eventually(t, "the pod is stored", func() bool { _, ok := storage.get("Pod/" + ns + "/web-1"); return ok })
	now := metav1.Now()
	for _, name := range []string{"web-1.1", "web-1.2"} { // the second converges
		must[*corev1.Event](t)(client.CoreV1().Events(ns).Create(t.Context(), &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "web-1"},
			Reason:         "BackOff", Message: "Back-off restarting", Type: "Warning", LastTimestamp: now, FirstTimestamp: now,
		}, metav1.CreateOptions{}))
	}
	select {
	case m := <-told:
		b, _ := json.Marshal(m["body"])
		if m["path"] != "/bcshealth/v1/create" || !strings.Contains(string(b), "[Pod web-1]BackOff:Back-off restarting") {
			t.Errorf("told %v", m)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was told within 20 s")
	}
	eventually(t, "the second warning converges", func() bool { return metricSum(t, w, metric.Alerts) == 2 })
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
