package watcher

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/config"
)

// Under the profile legacy and a storage that refuses for a while, and Events always,
// objects arrive in the end and Events are lost; the account is exact, and no connection is used twice.
func TestLegacyFailures(t *testing.T) {
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	ns := clustertest.Namespace(t, env.Config)
	storage := newMemoryStorage(t)
	var refuses atomic.Bool
	var requests, again, refused, lost atomic.Int64
	peers := make(map[string]bool)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			storage.serve(w, r)
			return
		case refuses.Load() && strings.Contains(r.URL.Path, "/"+ns+"/"), strings.HasSuffix(r.URL.Path, "/events"):
			refused.Add(1)
			if strings.HasSuffix(r.URL.Path, "/events") {
				lost.Add(1)
			}
			_, _ = io.WriteString(w, `{"result":false,"code":1405082,"message":"refused","data":{}}`)
		default:
			storage.serve(w, r)
		}
		requests.Add(1)
		storage.mu.Lock()
		if peers[r.RemoteAddr] || !r.Close {
			again.Add(1)
		}
		peers[r.RemoteAddr] = true
		storage.mu.Unlock()
	}))
	t.Cleanup(front.Close)
	w := startWatcher(t, env.Kubeconfig, front.URL, func(c *config.Config, f *config.Filter) {
		c.Profile = config.ProfileLegacy
		c.Synchronizer.Disabled = true
		f.K8sResourceWhiteList = []string{"v1"}
		f.ResourceNamespaceFilters = []string{"kube-system", "default"} // whose objects change unasked
		f.APIResourceSpecification = []config.GroupKinds{{GroupVersion: "v1", ResourceKinds: []string{"ConfigMap", "Event"}}}
	})
	refuses.Store(true)
	configMaps := client.CoreV1().ConfigMaps(ns)
	for i := range 5 {
		must[*corev1.ConfigMap](t)(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", i)}}, metav1.CreateOptions{}))
	}
	must[*corev1.Event](t)(client.CoreV1().Events(ns).Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: ns, Name: "p"},
	}, metav1.CreateOptions{}))
	eventually(t, "six refusals", func() bool { return refused.Load() >= 6 })
	if err := configMaps.Delete(t.Context(), "c0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	refuses.Store(false)
	stored := func(name string) bool { _, ok := storage.get("ConfigMap/" + ns + "/" + name); return ok }
	eventually(t, "the others are stored", func() bool { return stored("c1") && stored("c2") && stored("c3") && stored("c4") })
	sum := func(name string) float64 { return metricSum(t, w, name) }
	eventually(t, "nothing is queued", func() bool { return sum(metric.EventsQueued) == 0 })
	if stored("c0") {
		t.Error("the deleted object is stored")
	}
	received, sent := sum(metric.EventsReceived), sum(metric.EventsSent)
	if rest := sent + sum(metric.EventsCoalesced) + sum(metric.EventsFiltered) + sum(metric.EventsDropped); received != rest {
		t.Errorf("%g events received, %g accounted for", received, rest)
	}
	if want := float64(requests.Load() - refused.Load()); sent != want {
		t.Errorf("%g events sent, storage took %g", sent, want)
	}
	if n := sum(metric.EventsDropped); n != float64(lost.Load()) || n == 0 {
		t.Errorf("%g events dropped, want the %d Events refused", n, lost.Load())
	}
	if opened := sum(metric.StorageConns); opened != float64(requests.Load()) || again.Load() != 0 {
		t.Errorf("%g connections for %d requests, %d used again", opened, requests.Load(), again.Load())
	}
}
