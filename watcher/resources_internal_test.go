package watcher

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/config"
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

// TestPlanOfResources: a plan is made outside of the cluster, too, where its apiserver is not known.
func TestPlanOfResources(t *testing.T) {
	cfg := withResources(t)
	cfg.ResourceWatcher.Server.Authentication = access.TokenReview
	if _, err := MakePlan(t.Context(), cfg, config.Filter{}); err != nil {
		t.Fatal(err)
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
