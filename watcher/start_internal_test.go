package watcher

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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

// TestUnwatchableKinds: a kind that exists and cannot be listed and watched is named as such.
func TestUnwatchableKinds(t *testing.T) {
	kind := func(plural, kind, verbs string) string {
		return fmt.Sprintf(`{"resource":%q,"responseKind":{"kind":%q},"scope":"Namespaced","verbs":["%s"]}`, plural, kind, strings.ReplaceAll(verbs, " ", `","`))
	}
	group := func(name string, kinds ...string) string {
		return fmt.Sprintf(`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":%q},`+
			`"versions":[{"version":"v1","freshness":"Current","resources":[%s]}]}]}`, name, strings.Join(kinds, ","))
	}
	answers := map[string]string{
		"/api":  group("", kind("pods", "Pod", "get list watch"), kind("bindings", "Binding", "create"), kind("secrets", "Secret", "get list watch")),
		"/apis": group("metrics.io", kind("podmetrics", "PodMetrics", "get list"), kind("asks", "Ask", "create"), kind("things", "Thing", "list watch")),
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		_, _ = fmt.Fprint(w, answers[r.URL.Path])
	}))
	defer api.Close()
	const metrics, ask = "metrics.io/v1/PodMetrics exists and cannot be watched: the apiserver does not offer the verb watch for it",
		"metrics.io/v1/Ask exists and cannot be watched: the apiserver does not offer the verb watch for it"
	white := []string{"v1", "metrics.io/v1"}
	for name, tc := range map[string]struct {
		filter config.Filter
		want   []string
	}{
		"all kinds": {config.Filter{K8sResourceWhiteList: white}, []string{metrics, ask}},
		"named": {
			config.Filter{K8sResourceWhiteList: white, APIResourceSpecification: []config.GroupKinds{
				{GroupVersion: "v1", ResourceKinds: []string{"Pod", "Binding"}}, {GroupVersion: "metrics.io/v1", ResourceKinds: []string{"PodMetrics"}},
			}},
			[]string{"v1/Binding exists and cannot be watched: k8s-watch leaves it out", metrics},
		},
		"left out": {config.Filter{K8sResourceWhiteList: white, APIResourceException: []config.GroupKinds{
			{GroupVersion: "v1", ResourceKinds: []string{"Binding"}}, {GroupVersion: "metrics.io/v1", ResourceKinds: []string{"PodMetrics", "Ask"}},
		}}, nil},
		"no such kind": {config.Filter{K8sResourceWhiteList: white, APIResourceSpecification: []config.GroupKinds{
			{GroupVersion: "v1", ResourceKinds: []string{"Pod"}}, {GroupVersion: "metrics.io/v1", ResourceKinds: []string{"Nothing"}},
		}}, []string{`apiResourceSpecification[1]: metrics.io/v1 has no kind "Nothing"`}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := standard(t, "http://127.0.0.1:1")
			cfg.K8s.Master = api.URL
			p, err := MakePlan(t.Context(), cfg, tc.filter)
			if err != nil || p.Unknown != nil {
				t.Fatal(err, p.Unknown)
			}
			if !slices.Equal(p.Useless, tc.want) {
				t.Errorf("got  %q\nwant %q", p.Useless, tc.want)
			}
		})
	}
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
