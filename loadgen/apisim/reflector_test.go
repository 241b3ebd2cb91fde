package apisim_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/watchbench/watchbench/loadgen/apisim"
)

// mirror runs client-go's reflector, as informers do, into a store.
func mirror(ctx context.Context, t *testing.T, s *apisim.Server) (cache.Store, func()) {
	t.Helper()
	client, err := dynamic.NewForConfig(&rest.Config{Host: "http://apisim", Transport: apisim.Direct(s), QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	resource := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return resource.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			return resource.Watch(ctx, o)
		},
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	quiet := logr.FromSlogHandler(slog.NewTextHandler(io.Discard, nil))
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, quiet))
	r := cache.NewReflectorWithOptions(lw, &unstructured.Unstructured{}, store, cache.ReflectorOptions{Name: "test", Logger: &quiet})
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.RunWithContext(ctx)
	}()
	return store, func() { cancel(); <-done }
}

func mirrored(store cache.Store) map[string]string {
	m := map[string]string{}
	for _, obj := range store.List() {
		u := obj.(*unstructured.Unstructured)
		m[u.GetNamespace()+"/"+u.GetName()] = string(u.GetUID()) + "@" + u.GetResourceVersion()
	}
	return m
}

func truth(s *apisim.Server) map[string]string {
	m := map[string]string{}
	for _, o := range s.Objects("pods") {
		m[o.Namespace+"/"+o.Name] = fmt.Sprintf("%s@%d", o.UID, o.ResourceVersion)
	}
	return m
}

// disturb changes objects at random for d, one change per step.
func disturb(t *testing.T, s *apisim.Server, d, step time.Duration) {
	rng := rand.New(rand.NewPCG(1, 2))
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(step) {
		path := fmt.Sprintf("a/p%d", rng.IntN(60))
		switch rng.IntN(4) {
		case 0:
			_, _ = s.Delete("pods", "a", path[2:]) // or it is not there
		case 1: // made again under its name
			_, _ = s.Delete("pods", "a", path[2:])
			put(t, s, path, "")
		default:
			put(t, s, path, "")
		}
	}
}

// TestReflectorConverges: under every fault, client-go's reflector ends with what the
// server has.
func TestReflectorConverges(t *testing.T) {
	for _, faults := range []string{
		"", "close(1s,5s)", "reset(1s,5s)", "silent(20s)", "silent(after=10s)", "pace(2KiB)", "no-bookmark", "no-stream",
		"410(start,max=20), close(2s)", "410(start,verb=stream,max=5)", "410(mid):5%", "error:5%", "truncate:5%", "unknown:5%", "junk:5%", "older(20), close(2s)",
		"410:30%, close(2s)", "429(retry-after=2s):50%, close(2s)", "500(max=10), close(2s)", "html(max=5), close(2s)", "stall(3s), close(5s)",
		"blackhole(from=20s), close(5s)", "gone(20s,from=10s)", "gone(1s,every=10s)", "reset(verb=list|watch|stream):30%, close(1s)",
		"no-stream, 410(page,max=3), 410(start):50%, close(5s)",
		"close(1s,2s), 410(mid):0.3%, error:0.3%, truncate:0.3%, unknown:0.3%, junk:0.3%, 503:20%, reset(500ms):50%",
	} {
		t.Run(faults, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, apisim.Config{NoWatchCache: true, Window: 2000})
				for i := range 700 { // more than a reflector's page
					put(t, s, fmt.Sprintf("b/p%d", i), "")
				}
				if err := s.Faults().Add(faults); err != nil {
					t.Fatal(err)
				}
				store, stop := mirror(t.Context(), t, s)
				defer stop()
				span := time.Minute
				if strings.Count(faults, ":") > 4 { // rare ones need their time
					span = 10 * time.Minute
				}
				disturb(t, s, span, 50*time.Millisecond)
				for _, f := range s.Faults().List() {
					if f.Fired == 0 {
						t.Errorf("%s never fired", f.Spec)
					}
				}
				if err := s.Faults().Remove(0); err != nil {
					t.Fatal(err)
				}
				healed := time.Now()
				for cmp.Diff(truth(s), mirrored(store)) != "" {
					if time.Since(healed) > 10*time.Minute {
						t.Fatalf("no convergence (-server +client):\n%s", cmp.Diff(truth(s), mirrored(store)))
					}
					time.Sleep(time.Second)
				}
				t.Logf("converged %s after the faults, %+v", time.Since(healed), s.Stats("pods"))
			})
		})
	}
}
