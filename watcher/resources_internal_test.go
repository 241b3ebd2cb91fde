package watcher

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/notify"
	"github.com/watchbench/watchbench/watcher/watches"
)

func withResources(t *testing.T) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Default.ClusterID = "c"
	cfg.BCS.CustomStorageEndpoints = []string{"http://h"}
	cfg.WatchResource.DisableNetService = true
	cfg.ResourceWatcher.Enabled = true
	return cfg
}

// TestPlanOfResources: a plan is made outside of the cluster, too, where its apiserver is not
// known, and holds nothing open.
func TestPlanOfResources(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg := withResources(t)
	cfg.ResourceWatcher.Server.Authentication = access.TokenReview
	cfg.ResourceWatcher.Notify.DeadLetters = notify.DeadLetters{Policy: notify.DeadFile, Directory: dir, Bytes: 1 << 20}
	if _, err := MakePlan(t.Context(), cfg, config.Filter{}); err != nil {
		t.Fatal(err)
	}
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(open) == 0 {
		t.Skip("what is open is not known here")
	}
	for _, fd := range open {
		if to, _ := os.Readlink(fd); to == dir {
			t.Errorf("%s is still open", dir)
		}
	}
}

// TestSubscriptionsThatNobodyFollows are named where that is known before the cluster was
// asked: lazy watches are off, and neither pinned nor the filter file names the kind.
func TestSubscriptionsThatNobodyFollows(t *testing.T) {
	for name, tc := range map[string]struct {
		resource string
		change   func(*config.Config, *config.Filter)
		want     string
	}{
		"lazy": {"example.com/v1/things", func(c *config.Config, _ *config.Filter) { c.ResourceWatcher.Watches.Lazy = true }, ""},
		"pinned": {"example.com/v1/things", func(c *config.Config, _ *config.Filter) {
			c.ResourceWatcher.Watches.Pinned = []string{"example.com/v1/things"}
		}, ""},
		"collected":      {"v1/pods", nil, ""},
		"custom":         {"x.io/v1/games", nil, ""},
		"neither":        {"example.com/v1/things", nil, "nobody follows example.com/v1/things"},
		"other version":  {"apps/v1beta1/deployments", nil, "nobody follows"},
		"no definitions": {"x.io/v1/games", func(c *config.Config, _ *config.Filter) { c.WatchResource.DisableCRD = true }, "nobody follows"},
		"one namespace":  {"v1/pods", func(c *config.Config, _ *config.Filter) { c.WatchResource.Namespace = "shop" }, "nobody follows"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, filter := withResources(t), config.Filter{K8sResourceWhiteList: []string{"v1", "apps/v1"}, CRDResourceWhiteList: []string{"x.io/v1"}}
			cfg.K8s.Master = "http://127.0.0.1:1"
			cfg.ResourceWatcher.Watches.Lazy = false
			telling(t, &cfg, "ns", &told{Server: &httptest.Server{URL: "http://127.0.0.1:1"}})
			r, err := watches.ParseGVR(tc.resource)
			if err != nil {
				t.Fatal(err)
			}
			cfg.ResourceWatcher.Notify.Subscriptions[0].Resource = notify.Resource(r)
			if tc.change != nil {
				tc.change(&cfg, &filter)
			}
			w, err := New(cfg, filter, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			w.resources.notifier.Close()
			a := &advice{wanted: w.wanted}
			a.unfollowed()
			got := strings.Join(a.useless, "; ")
			if tc.want == "" && got != "" || tc.want != "" && !strings.HasPrefix(got, "resourceWatcher.notify.subscriptions[0].resource: "+tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestUncleanPaths: they reach the API, which answers with a Status, and no redirect.
func TestUncleanPaths(t *testing.T) {
	cfg := withResources(t)
	cfg.K8s.Master = "http://127.0.0.1:1"
	w, err := New(cfg, config.Filter{}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.resources.notifier.Close()
	for _, path := range []string{"/api/v1//pods", "/api/../api/v1/pods", "//v1/relations"} {
		answer := httptest.NewRecorder()
		w.resources.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
		if answer.Code/100 == 3 || answer.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", path, answer.Code, answer.Header())
		}
	}
}
