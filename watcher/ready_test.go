package watcher

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	coordination "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/config"
)

// cut lets no requests through whose path ends with jobs, while it is closed.
type cut struct {
	http.RoundTripper
	closed *atomic.Bool
}

func (c cut) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.closed.Load() && strings.HasSuffix(r.URL.Path, "/jobs") {
		return nil, http.ErrServerClosed
	}
	return c.RoundTripper.RoundTrip(r)
}

// WrappedRoundTripper is for client-go, which looks for the connections.
func (c cut) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

// TestReadyAwaitsPinned: a kind that is pinned for readers counts as those of the pipeline do,
// whether this replica leads or stands by.
func TestReadyAwaitsPinned(t *testing.T) {
	env := clustertest.Start(t)
	storage := newMemoryStorage(t)
	for _, name := range []string{"leads", "stands by"} {
		t.Run(name, func(t *testing.T) {
			cfg := withResources(t)
			cfg.BCS.CustomStorageEndpoints = config.List{storage.URL}
			cfg.Port, cfg.MetricPort, cfg.ResourceWatcher.Server.Port = freePort(t), freePort(t), freePort(t)
			cfg.ResourceWatcher.Watches.Pinned = []string{"batch/v1/jobs"}
			if name == "stands by" {
				ns, other, long := clustertest.Namespace(t, env.Config), "another", int32(600)
				must[*coordination.Lease](t)(kubernetes.NewForConfigOrDie(env.Config).CoordinationV1().Leases(ns).Create(t.Context(), &coordination.Lease{
					ObjectMeta: metav1.ObjectMeta{Name: "pinned"}, Spec: coordination.LeaseSpec{HolderIdentity: &other, LeaseDurationSeconds: &long},
				}, metav1.CreateOptions{}))
				cfg.LeaderElection.Enabled, cfg.LeaderElection.Namespace, cfg.LeaderElection.Name = true, ns, "pinned"
			}
			var closed atomic.Bool
			closed.Store(true)
			kube := *env.Config
			kube.Wrap(func(next http.RoundTripper) http.RoundTripper { return cut{next, &closed} })
			w, err := New(cfg, config.Filter{K8sResourceWhiteList: []string{"v1"}}, Settings{Kube: &kube, Logger: NewLogger(t.Output(), 0)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- w.Run(ctx) }()
			defer func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}()
			eventually(t, "only the pinned kind is missing", func() bool {
				err := w.ready()
				if err == nil {
					t.Fatal("ready without the pinned kind")
				}
				return err.Error() == "not synced: [batch/v1/jobs]"
			})
			closed.Store(false)
			eventually(t, "ready", func() bool { return w.ready() == nil })
		})
	}
}
