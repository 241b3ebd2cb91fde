package watcher

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/config"
)

// text is what is logged.
type text struct {
	mu sync.Mutex
	b  strings.Builder // guarded by mu
}

func (l *text) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *text) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// standard is a configuration of one storage.
func standard(t *testing.T, storage string) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Default.ClusterID, cfg.BCS.CustomStorageEndpoints = "c", config.List{storage}
	cfg.WatchResource.DisableNetService = true
	cfg.Port, cfg.MetricPort = freePort(t), freePort(t)
	return cfg
}

// TestEndWhileWaiting: a watcher that ends while storage or the apiserver is away does not say
// what it would only know with both.
func TestEndWhileWaiting(t *testing.T) {
	storage := newMemoryStorage(t)
	for waits, address := range map[string]string{"waiting for storage": "http://127.0.0.1:1", "waiting for the apiserver": storage.URL} {
		t.Run(waits, func(t *testing.T) {
			log := &text{}
			w, err := New(standard(t, address), config.Filter{K8sResourceWhiteList: []string{"v1"}},
				Settings{Kube: &rest.Config{Host: "http://127.0.0.1:1"}, Logger: NewLogger(log, 0)})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			done := make(chan error, 1)
			go func() { done <- w.Run(ctx) }()
			eventually(t, waits, func() bool { return strings.Contains(log.String(), waits) })
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if strings.Contains(log.String(), "nothing is watched") || strings.Contains(log.String(), `"watching"`) {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}
