package query_test

import (
	"context"
	"maps"
	"net"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/query"
	"github.com/watchbench/watchbench/watcher/setting"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

func TestMain(m *testing.M) {
	// The last one sleeps until a time of the real clock.
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	goleak.VerifyTestMain(clustertest.Shared(m))
}

type nobody struct{}

func (nobody) Enqueue(context.Context, pipeline.Event) error { return nil }

// run runs something long-lived until the end of the test.
func run(t testing.TB, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// live serves a real cluster: Pods from the pipeline's collector, others from watches that
// queries start. upstream is how the cluster is reached.
func live(t testing.TB, upstream *rest.Config, window view.Config) (*rest.Config, *watches.Watches) {
	t.Helper()
	col, err := collector.New(collector.Config{Resources: []collector.Resource{{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}}}, collector.Settings{
		Client: upstream, Sink: nobody{}, View: func(collector.Resource) *view.View { return view.New(window) },
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, col.Run)
	c := watches.Default()
	c.Wait = setting.Duration(20 * time.Second)
	lookout := must(collector.NewLookout(upstream, func(string) bool { return true }))
	w := must(watches.New(c, watches.Settings{Client: upstream, Collected: col, View: window, Lookout: lookout}))
	run(t, w.Run)
	run(t, func(ctx context.Context) error { return lookout.Run(ctx, w.NotFound()...) })
	h := must(query.New(query.Default(), query.Settings{Kinds: w, Guard: access.Open(), Version: w.Version}))
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	select {
	case <-w.Known():
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was discovered")
	}
	return &rest.Config{Host: srv.URL, QPS: -1}, w
}

// unsteady makes connections to the cluster that can be cut all at once.
type unsteady struct {
	mu    sync.Mutex
	conns map[net.Conn]bool // guarded by mu
}

func (u *unsteady) config(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.conns[conn] = true
		}
		return conn, err
	}
	return c
}

func (u *unsteady) cut() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.conns {
		_ = c.Close()
	}
	clear(u.conns)
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// TestInformers of client-go end with what the cluster has, whatever happens meanwhile.
func TestInformers(t *testing.T) {
	env := clustertest.Start(t)
	ns := clustertest.Namespace(t, env.Config)
	wires := &unsteady{conns: map[net.Conn]bool{}}
	served, _ := live(t, wires.config(env.Config), view.Config{})
	upstream := kubernetes.NewForConfigOrDie(env.Config)
	ctx, cancel := context.WithCancel(t.Context())
	typed := informers.NewSharedInformerFactoryWithOptions(kubernetes.NewForConfigOrDie(served), 0, informers.WithNamespace(ns))
	untyped := dynamicinformer.NewFilteredDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(served), 0, ns, nil)
	partial := metadatainformer.NewFilteredSharedInformerFactory(metadata.NewForConfigOrDie(served), 0, ns, nil)
	all := map[string]cache.SharedIndexInformer{
		"typed": typed.Core().V1().ConfigMaps().Informer(), "dynamic": untyped.ForResource(configMaps).Informer(), "metadata": partial.ForResource(configMaps).Informer(),
		"pods": typed.Core().V1().Pods().Informer(),
	}
	var running sync.WaitGroup
	for _, i := range all {
		running.Go(func() { i.RunWithContext(ctx) })
	}
	t.Cleanup(func() { cancel(); running.Wait() })
	for name, i := range all {
		if !cache.WaitForCacheSync(ctx.Done(), i.HasSynced) {
			t.Fatalf("%s did not sync", name)
		}
	}
	for n := range 60 {
		name := string(rune('a' + n%7))
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"n": string(rune('a' + n%26))}}
		switch _, err := upstream.CoreV1().ConfigMaps(ns).Create(ctx, cm, metav1.CreateOptions{}); {
		case err == nil:
		case n%5 == 0:
			_ = upstream.CoreV1().ConfigMaps(ns).Delete(ctx, name, metav1.DeleteOptions{})
		default:
			if _, err := upstream.CoreV1().ConfigMaps(ns).Update(ctx, cm, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if n%20 == 10 {
			wires.cut()
		}
	}
	if _, err := upstream.CoreV1().Pods(ns).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{}); err != nil {
		t.Logf("no pod: %v", err)
	}
	want := func(resource string) map[string]string {
		versions := map[string]string{}
		l := must(dynamic.NewForConfigOrDie(env.Config).Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(ns).List(ctx, metav1.ListOptions{}))
		for _, o := range l.Items {
			versions[o.GetName()] = o.GetResourceVersion()
		}
		return versions
	}
	for name, i := range all {
		resource := "configmaps"
		if name == "pods" {
			resource = name
		}
		var has map[string]string
		within(t, name+" has what the cluster has", func() bool {
			has = map[string]string{}
			for _, o := range i.GetStore().List() {
				m := must(meta.Accessor(o))
				has[m.GetName()] = m.GetResourceVersion()
			}
			return maps.Equal(has, want(resource))
		})
		if len(has) == 0 {
			t.Errorf("%s: nothing", name)
		}
	}
	if cm, err := kubernetes.NewForConfigOrDie(served).CoreV1().ConfigMaps(ns).Get(ctx, slices.Sorted(maps.Keys(want("configmaps")))[0], metav1.GetOptions{}); err != nil || len(cm.Data) != 1 {
		t.Errorf("%+v %v", cm, err)
	}
}
