package watcher

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/config"
)

// TestVersionOfTheCluster: /version says what the cluster's does, of what clients compare.
func TestVersionOfTheCluster(t *testing.T) {
	env := clustertest.Start(t)
	want, err := kubernetes.NewForConfigOrDie(env.Config).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	w := startWatcher(t, env.Kubeconfig, newMemoryStorage(t).URL, func(c *config.Config, _ *config.Filter) {
		c.ResourceWatcher.Enabled = true
		c.ResourceWatcher.Server.Port = freePort(t)
	})
	var got version.Info
	eventually(t, "/version says "+want.GitVersion, func() bool {
		answer := httptest.NewRecorder()
		w.resources.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://localhost/version", nil))
		if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		return got.GitVersion == want.GitVersion
	})
	if got.Major != want.Major || got.Minor != want.Minor {
		t.Errorf("%+v, want %+v", got, want)
	}
}
