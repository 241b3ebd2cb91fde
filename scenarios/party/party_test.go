package party

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func TestRenderedConfig(t *testing.T) {
	dir := t.TempDir()
	w := spec.Default().Watcher
	w.Strategy = "unordered"
	path, err := WatcherSetup{
		Cell: dir, Logs: dir, Kubeconfig: "/k", Endpoints: []string{"http://a:1", "http://b:2"}, Ignore: []string{"kube-system"},
		Spec: w, Kinds: []string{"Pod", "ConfigMap", "Deployment"},
	}.renderConfig([]int{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		BCS    map[string]any `json:"bcs"`
		K8s    map[string]any `json:"k8s"`
		Filter string         `json:"filterConfigPath"`
		Port   int            `json:"port"`
	}
	read(t, path, &config)
	if config.BCS["custom-storage-endpoints"] != "http://a:1,http://b:2" || config.BCS["allowUnordered"] != true ||
		config.BCS["podQueueNum"] != 30.0 || config.K8s["kubeconfig"] != "/k" || config.Port != 1 {
		t.Errorf("%+v", config)
	}
	var filter map[string]any
	read(t, config.Filter, &filter)
	want := map[string]any{
		"k8sResourceWhiteList": []any{"v1", "apps/v1"},
		"apiResourceSpecification": []any{
			map[string]any{"groupVersion": "v1", "resourceKinds": []any{"Pod", "ConfigMap"}},
			map[string]any{"groupVersion": "apps/v1", "resourceKinds": []any{"Deployment"}},
		},
		"resourceNamespaceFilters": []any{"kube-system"},
		"isFilterManagedFields":    false,
	}
	if d := cmp.Diff(want, filter); d != "" {
		t.Error(d)
	}
	if path, err = (WatcherSetup{Cell: dir, Spec: w, Kinds: []string{"Pod"}, Customs: []string{"g/v1", "g/v2"}}).renderConfig([]int{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	var follows struct {
		Watch struct {
			NoCRDs bool `json:"disable_crd"`
		} `json:"watch_resource"`
		Filter string `json:"filterConfigPath"`
	}
	read(t, path, &follows)
	filter = nil
	read(t, follows.Filter, &filter)
	if d := cmp.Diff([]any{"g/v1", "g/v2"}, filter["crdResourceWhiteList"]); d != "" || follows.Watch.NoCRDs {
		t.Errorf("custom resources are not followed: disable_crd %v\n%s", follows.Watch.NoCRDs, d)
	}
	_, err = WatcherSetup{Cell: dir, Spec: w, Kinds: []string{"Gizmo"}}.renderConfig([]int{1, 2, 3})
	if err == nil || !badinput.Is(err) {
		t.Errorf("a kind of an unknown group: %v", err)
	}
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

const podJSON = `{"metadata":{"name":"%s","namespace":"ns1","uid":"u-%s","resourceVersion":"%d"},"spec":{}}`

// pages is an apiserver that serves its pods two at a time.
func pages(t *testing.T) *APIServer {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/api/v1/namespaces/broken/pods":
			http.Error(w, `<html>no</html>`, http.StatusBadGateway)
		case r.URL.Path == "/api/v1/namespaces/html/pods":
			fmt.Fprint(w, "<html>hello</html>")
		case r.URL.Query().Get("continue") == "":
			fmt.Fprintf(w, `{"metadata":{"continue":"2"},"items":[`+podJSON+","+podJSON+`]}`, "a", "a", 1, "b", "b", 2)
		default:
			fmt.Fprintf(w, `{"items":[`+podJSON+`]}`, "c", "c", 3)
		}
	}))
	t.Cleanup(srv.Close)
	client := srv.Client()
	t.Cleanup(client.CloseIdleConnections)
	return &APIServer{Base: srv.URL, http: client}
}

// TestStorageState: what a watcher keeps in storage for itself is no state of the cluster.
func TestStorageState(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"kind":"K8sWatchState","name":"k8s-watch","data":{"kinds":["Pod"]}}
{"kind":"Pod","namespace":"a","name":"web","data":{"kind":"Pod","metadata":{"namespace":"a","name":"web","uid":"u"}}}
`)
	}))
	defer srv.Close()
	m := &Storage{admin: admin{base: srv.URL, http: srv.Client()}}
	got, err := m.State(t.Context(), check.Rules{})
	if err != nil || len(got) != 1 || got[0].Name != "web" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAPIServerState(t *testing.T) {
	a := pages(t)
	rules := check.Rules{Kinds: []string{"Pod"}}
	got, err := a.State(t.Context(), []string{"Pod"}, []string{"ns1"}, rules)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got {
		names = append(names, fmt.Sprint(r.Kind, " ", r.Namespace, "/", r.Name, " ", r.UID, " ", r.ResourceVersion))
	}
	if d := cmp.Diff([]string{"Pod ns1/a u-a 1", "Pod ns1/b u-b 2", "Pod ns1/c u-c 3"}, names); d != "" {
		t.Error(d)
	}
	for ns, want := range map[string]string{"broken": "it answers 502 Bad Gateway: <html>no</html>", "html": "read the answer: invalid JSON at byte 0: '<'"} {
		if _, err := a.State(t.Context(), []string{"Pod"}, []string{ns}, rules); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", ns, err, want)
		}
	}
}
