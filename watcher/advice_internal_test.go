package watcher

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/watches"
)

// TestUnservedNames: what names no resource is found, with what was meant.
func TestUnservedNames(t *testing.T) {
	kind := func(name string) []watches.Kind { return []watches.Kind{{Resource: collector.Resource{Name: name}}} }
	served := &watches.Catalogue{Groups: []watches.Group{
		{Versions: []watches.Version{{Name: "v1", Kinds: kind("pods")}}},
		{Name: "apps", Versions: []watches.Version{{Name: "v1", Kinds: kind("deployments")}}},
	}}
	c := config.Default().ResourceWatcher
	if got := unservedNames(c, served); len(got) > 0 {
		t.Errorf("defaults: %q", got)
	}
	c.Watches.Pinned = []string{"v1/pods", "v1/podz", "apps/v1/deployments", "metrics.io/v1/podmetrics"}
	served.Withheld = kind("secrets")
	served.Unwatchable = []watches.Kind{{Resource: collector.Resource{Group: "metrics.io", Version: "v1", Name: "podmetrics"}}}
	c.Watches.Deny = []string{"v1/secrets", "*/secrets", "v1/secret", "*/secret", "example.com/*", "apps/deployment"}
	for _, r := range []notify.Resource{{Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "podz"}, {Version: "v1", Resource: "secrets"}} {
		c.Notify.Subscriptions = append(c.Notify.Subscriptions, notify.Subscription{Resource: r})
	}
	c.Relations.Kinds = []string{"pods", "podz", "deployments.apps", "jobs.batch", "podmetrics.metrics.io"}
	c.Query.FieldIndexes = map[string][]string{"podz": {"spec.a"}, "deployments.apps": {"spec.a"}}
	want := []string{
		`resourceWatcher.watches.pinned[1]: "v1/podz" is not served, or withheld, did you mean "v1/pods"?`,
		`resourceWatcher.watches.pinned[3]: "metrics.io/v1/podmetrics" exists and cannot be watched: the apiserver does not offer list and watch for it`,
		`resourceWatcher.watches.deny[2]: "v1/secret" withholds nothing that is served, did you mean "v1/secrets"?`,
		`resourceWatcher.watches.deny[3]: "*/secret" withholds nothing that is served, did you mean "*/secrets"?`,
		`resourceWatcher.watches.deny[5]: "apps/deployment" withholds nothing that is served, did you mean "apps/deployments"?`,
		`resourceWatcher.notify.subscriptions[1].resource: "v1/podz" is not served, or withheld, did you mean "v1/pods"?`,
		`resourceWatcher.notify.subscriptions[2].resource: "v1/secrets" is not served, or withheld`,
		`resourceWatcher.relations.kinds[1]: "podz" is not served, or withheld, did you mean "pods"?`,
		`resourceWatcher.relations.kinds[4]: "podmetrics.metrics.io" exists and cannot be watched: the apiserver does not offer list and watch for it`,
		`resourceWatcher.query.fieldIndexes: "podz" is not served, or withheld, did you mean "pods"?`,
	}
	if got := unservedNames(c, served); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestWarnUnserved: the names are logged once discovery has said what is served.
func TestWarnUnserved(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items := ""
		if r.URL.Path == "/api" {
			items = `{"metadata":{"name":""},"versions":[{"version":"v1","freshness":"Current","resources":[{"resource":"pods","responseKind":{"kind":"Pod"},"scope":"Namespaced","verbs":["list","watch"]}]}]}`
		}
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		_, _ = io.WriteString(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[`+items+`]}`)
	}))
	defer api.Close()
	cfg := config.Default()
	cfg.BCS.CustomStorageEndpoints = config.List{"http://127.0.0.1:1"}
	cfg.Default.ClusterID = "c"
	cfg.WatchResource.DisableNetService = true
	cfg.ResourceWatcher.Enabled = true
	cfg.ResourceWatcher.Watches.Pinned = []string{"v1/podz"}
	w, err := New(cfg, config.Filter{}, Settings{Kube: &rest.Config{Host: api.URL}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	said := make(chan string, 10)
	log := slog.New(slog.NewTextHandler(lines(said), nil))
	var running sync.WaitGroup
	running.Go(func() { _ = w.discover(ctx) })
	running.Go(func() { _ = w.resources.watches.Run(ctx) })
	running.Go(func() { _ = w.resources.warnUnserved(ctx, log) })
	select {
	case line := <-said:
		if !strings.Contains(line, "podz") {
			t.Error(line)
		}
	case <-ctx.Done():
		t.Error("nothing was logged")
	}
	cancel()
	running.Wait()
	w.resources.notifier.Close()
}

// lines takes what a logger writes.
type lines chan<- string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
