package watcher

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/notify"
)

// told is a webhook that notes the names of the objects it is told of.
type told struct {
	*httptest.Server
	mu    sync.Mutex
	names []string // guarded by mu
}

func newTold(t *testing.T) *told {
	r := &told{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var e struct {
			Object struct{ Metadata struct{ Name string } }
		}
		if err := json.NewDecoder(req.Body).Decode(&e); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.names = append(r.names, e.Object.Metadata.Name)
		r.mu.Unlock()
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *told) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.names, name)
}

// telling has a replica of an election tell r of the ConfigMaps of a namespace.
func telling(t *testing.T, c *config.Config, ns string, r *told) {
	t.Helper()
	c.LeaderElection.Enabled, c.LeaderElection.Namespace, c.LeaderElection.Name = true, ns, "replicas"
	c.ResourceWatcher.Enabled = true
	c.ResourceWatcher.Server.Port = freePort(t)
	var s notify.Subscription
	text := fmt.Sprintf(`{"name":"s","resource":"v1/configmaps","namespaces":[%q],"initial":"list",
		"target":{"webhook":{"url":%q,"allow":["127.0.0.0/8"]}}}`, ns, r.URL)
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	c.ResourceWatcher.Notify.Subscriptions = []notify.Subscription{s}
}

// TestOnlyTheLeaderNotifies: of two replicas that have a subscription one delivers, and after
// it the other one.
func TestOnlyTheLeaderNotifies(t *testing.T) {
	env := clustertest.Start(t)
	client, ns, storage := kubernetes.NewForConfigOrDie(env.Config), clustertest.Namespace(t, env.Config), newMemoryStorage(t)
	create := func(name string) {
		must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
	}
	var watchers [2]*Watcher
	var targets [2]*told
	var ends [2]func()
	for i := range watchers {
		targets[i] = newTold(t)
		watchers[i], ends[i] = startStoppable(t, env.Kubeconfig, storage.URL, func(c *config.Config, f *config.Filter) {
			f.K8sResourceWhiteList = []string{"v1"}
			telling(t, c, ns, targets[i])
		})
	}
	for _, name := range []string{"first", "next"} { // by then the other one would have told of the first
		create(name)
		eventually(t, "the leader tells of it", func() bool { return targets[0].has(name) })
	}
	if targets[1].has("first") {
		t.Error("who does not lead tells of it, too")
	}
	ends[0]()
	eventually(t, "the other one leads", func() bool { return watchers[1].elector.Leading() })
	create("second")
	eventually(t, "the other one tells of it", func() bool { return targets[1].has("second") })
	if targets[0].has("second") {
		t.Error("the former leader tells of it, too")
	}
	if !targets[1].has("first") { // of its initial list
		t.Error("the list was not sent")
	}
}

// TestNoNotificationWithoutLease: whichever goroutines of a replica run, as those of one that
// wakes after its lease has passed, it delivers nothing while it does not lead.
func TestNoNotificationWithoutLease(t *testing.T) {
	env := clustertest.Start(t)
	ns, r := clustertest.Namespace(t, env.Config), newTold(t)
	cfg := withResources(t)
	cfg.K8s.Kubeconfig = env.Kubeconfig
	telling(t, &cfg, ns, r)
	cfg.ResourceWatcher.Notify.DrainTimeout = 0
	w, err := New(cfg, config.Filter{}, Settings{Logger: NewLogger(t.Output(), 0)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- lifecycle.Run(ctx, lifecycle.Stage{Name: "discovery", Run: w.discover},
			lifecycle.Stage{Name: "watches", Run: w.resources.watches.Run}, lifecycle.Stage{Name: "notify", Run: w.resources.notifier.Run})
	}()
	must[*corev1.ConfigMap](t)(kubernetes.NewForConfigOrDie(env.Config).CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "old"}}, metav1.CreateOptions{}))
	eventually(t, "a delivery was refused, or made", func() bool { return w.elector.Refused() > 0 || r.has("old") })
	if r.has("old") {
		t.Error("it was delivered")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestNotifiesFromThePipeline: a subscription reads what is collected for storage, and costs
// the apiserver no watch of its own.
func TestNotifiesFromThePipeline(t *testing.T) {
	env := clustertest.Start(t)
	client, ns := kubernetes.NewForConfigOrDie(env.Config), clustertest.Namespace(t, env.Config)
	must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}))
	target := newTold(t)
	storage := newMemoryStorage(t)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(200 * time.Millisecond) // time enough to know what the cluster serves
		storage.serve(w, r)
	}))
	t.Cleanup(slow.Close)
	w := startWatcher(t, env.Kubeconfig, slow.URL, func(c *config.Config, f *config.Filter) {
		telling(t, c, ns, target)
		c.LeaderElection.Enabled = false
		f.K8sResourceWhiteList = []string{"v1"}
		f.APIResourceSpecification = []config.GroupKinds{{GroupVersion: "v1", ResourceKinds: []string{"ConfigMap"}}}
	})
	eventually(t, "the subscription is told", func() bool { return target.has("a") })
	if n := metricSum(t, w, "k8swatch_lazy_watches"); n != 0 {
		t.Errorf("%v kinds are followed for readers only, want none", n)
	}
}

// TestSubscriptionsAwaitThePipeline, but do without it where it does not come, as while storage
// is away.
func TestSubscriptionsAwaitThePipeline(t *testing.T) {
	for name, tc := range map[string]struct {
		begin func(c *copying, cancel func())
		want  time.Duration
	}{
		"it comes":  {func(c *copying, _ func()) { close(c.started) }, time.Second},
		"the end":   {func(_ *copying, cancel func()) { cancel() }, time.Second},
		"otherwise": {func(*copying, func()) {}, collectsWithin},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &copying{started: make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				time.AfterFunc(time.Second, func() { tc.begin(c, cancel) })
				c.awaitStart(ctx, collectsWithin)
				if took := time.Since(began); took != tc.want {
					t.Errorf("waited for %s, want %s", took, tc.want)
				}
			})
		})
	}
}
