package watcher

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/config"
)

// memoryStorage is the part of bcs-storage that a watcher with a synchronizer
// needs, in memory.
type memoryStorage struct {
	*httptest.Server
	mu   sync.Mutex                 // guards rows
	rows map[string]json.RawMessage // kind/namespace/name → data
}

func newMemoryStorage(t *testing.T) *memoryStorage {
	m := &memoryStorage{rows: map[string]json.RawMessage{}}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *memoryStorage) serve(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path[strings.Index(r.URL.Path, "/clusters/")+len("/clusters/"):]
	parts := strings.Split(path, "/")[1:] // without the cluster id
	ns := ""
	if parts[0] == "namespaces" {
		ns, parts = parts[1], parts[2:]
	}
	b, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case len(parts) == 1:
		m.list(w, parts[0], ns, r)
	case r.Method == http.MethodPut:
		var body struct{ Data json.RawMessage }
		_ = json.Unmarshal(b, &body)
		m.rows[parts[0]+"/"+ns+"/"+parts[1]] = body.Data
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":{}}`)
	case r.Method == http.MethodDelete:
		delete(m.rows, parts[0]+"/"+ns+"/"+parts[1])
		_, _ = io.WriteString(w, `{"result":true,"code":0,"message":"success","data":{}}`)
	default:
		row, ok := m.rows[parts[0]+"/"+ns+"/"+parts[1]]
		if !ok {
			_, _ = io.WriteString(w, `{"result":false,"code":1405087,"message":"missing","data":{}}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"result":true,"code":0,"message":"","data":{"namespace":%q,"resourceName":%q,"data":%s}}`, ns, parts[1], row)
	}
}

func (m *memoryStorage) list(w http.ResponseWriter, kind, ns string, r *http.Request) {
	var out []string
	for k, row := range m.rows {
		p := strings.SplitN(k, "/", 3)
		if p[0] == kind && (ns == "" || ns == p[1]) {
			out = append(out, fmt.Sprintf(`{"namespace":%q,"resourceName":%q,"data":%s}`, p[1], p[2], row))
		}
	}
	if r.URL.Query().Get("offset") != "0" {
		out = nil
	}
	_, _ = fmt.Fprintf(w, `{"result":true,"code":0,"message":"","data":[%s]}`, strings.Join(out, ","))
}

func (m *memoryStorage) get(key string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	row, ok := m.rows[key]
	return string(row), ok
}

func (m *memoryStorage) set(key, row string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if row == "" {
		delete(m.rows, key)
	} else {
		m.rows[key] = json.RawMessage(row)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 20 s: " + what)
		}
	}
}

// Rows that were removed, edited or left over are repaired within a period.
func TestSynchronizerHeals(t *testing.T) {
	env := clustertest.Start(t)
	client := kubernetes.NewForConfigOrDie(env.Config)
	ns := clustertest.Namespace(t, env.Config)
	storage := newMemoryStorage(t)
	storage.set("ConfigMap/gone-namespace/left", `{"kind":"ConfigMap"}`) // from before the start
	for _, name := range []string{"a", "b", "c"} {
		must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "v"}}, metav1.CreateOptions{}))
	}
	w := startWatcher(t, env.Kubeconfig, storage.URL, func(c *config.Config, _ *config.Filter) {
		c.Synchronizer.Period = config.Duration(time.Second)
	})
	key := func(name string) string { return "ConfigMap/" + ns + "/" + name }
	sound := func(name string) bool {
		row, ok := storage.get(key(name))
		return ok && strings.Contains(row, `"k":"v"`)
	}
	eventually(t, "all stored", func() bool { return sound("a") && sound("b") && sound("c") })
	eventually(t, "the leftover is gone", func() bool { _, ok := storage.get("ConfigMap/gone-namespace/left"); return !ok })
	row, _ := storage.get(key("b"))
	repairs := func() float64 { return metricSum(t, w, metric.SyncRepairs) }
	before, rounds := repairs(), metricSum(t, w, metric.SyncRuns)
	eventually(t, "two more comparisons", func() bool { return metricSum(t, w, metric.SyncRuns) >= rounds+2 })
	if after := repairs(); after != before {
		t.Errorf("%v repairs of what is equal", after-before)
	}
	storage.set(key("a"), "")
	storage.set(key("b"), strings.Replace(row, `"k":"v"`, `"k":"w"`, 1))
	storage.set(key("stranger"), `{"kind":"ConfigMap"}`)
	eventually(t, "the removed row is back", func() bool { return sound("a") })
	eventually(t, "the edited row is as it was", func() bool { return sound("b") })
	eventually(t, "the stranger is gone", func() bool { _, ok := storage.get(key("stranger")); return !ok })
}

// metricSum is the value of a metric over all its series.
func metricSum(t *testing.T, w *Watcher, name string) float64 {
	t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// gameDeployments is a definition of the shipped white list.
func gameDeployments() *apiextensions.CustomResourceDefinition {
	free := true
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gamedeployments.tkex.tencent.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "tkex.tencent.com", Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "gamedeployments", Kind: "GameDeployment"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &free}},
			}},
		},
	}
}

// A custom resource is watched from the moment its definition is established, and
// its rows go when the definition goes.
func TestCustomResources(t *testing.T) {
	env := clustertest.Start(t)
	definitions := apiextensionsclient.NewForConfigOrDie(env.Config).ApiextensionsV1().CustomResourceDefinitions()
	ns := clustertest.Namespace(t, env.Config)
	storage := newMemoryStorage(t)
	startWatcher(t, env.Kubeconfig, storage.URL, func(c *config.Config, f *config.Filter) {
		c.Synchronizer.Period = config.Duration(time.Second)
		f.K8sResourceWhiteList = []string{"v1"}
		f.CRDResourceWhiteList = []string{"tkex.tencent.com/v1alpha1"}
		f.ResourceMaskers = []config.Masker{{Kind: "GameDeployment", Path: []string{"spec", "secret"}}}
	})
	must[*apiextensions.CustomResourceDefinition](t)(definitions.Create(t.Context(), gameDeployments(), metav1.CreateOptions{}))
	resource := dynamic.NewForConfigOrDie(env.Config).
		Resource(schema.GroupVersionResource{Group: "tkex.tencent.com", Version: "v1alpha1", Resource: "gamedeployments"}).Namespace(ns)
	game := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "tkex.tencent.com/v1alpha1", "kind": "GameDeployment",
		"metadata": map[string]any{"name": "g"}, "spec": map[string]any{"replicas": int64(3), "secret": "canary"},
	}}
	eventually(t, "the definition is served", func() bool {
		_, err := resource.Create(t.Context(), game, metav1.CreateOptions{})
		return err == nil
	})
	key := "GameDeployment/" + ns + "/g"
	eventually(t, "the custom object is stored", func() bool { _, ok := storage.get(key); return ok })
	if row, _ := storage.get(key); strings.Contains(row, "canary") || !strings.Contains(row, `"replicas":3`) {
		t.Errorf("stored %s", row)
	}
	storage.set("GameDeployment/"+ns+"/left", `{"kind":"GameDeployment"}`)
	if err := definitions.Delete(t.Context(), "gamedeployments.tkex.tencent.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	defer eventually(t, "the definition is gone", func() bool {
		_, err := definitions.Get(t.Context(), "gamedeployments.tkex.tencent.com", metav1.GetOptions{})
		return err != nil
	})
	eventually(t, "its rows are gone", func() bool {
		_, a := storage.get(key)
		_, b := storage.get("GameDeployment/" + ns + "/left")
		return !a && !b
	})
}

// The requests for a custom resource equal the contract's, from its definition to
// its end.
func TestTrafficOfCustomResources(t *testing.T) {
	env := clustertest.Start(t)
	definitions := apiextensionsclient.NewForConfigOrDie(env.Config).ApiextensionsV1().CustomResourceDefinitions()
	resource := dynamic.NewForConfigOrDie(env.Config).
		Resource(schema.GroupVersionResource{Group: "tkex.tencent.com", Version: "v1alpha1", Resource: "gamedeployments"}).Namespace("default")
	storage := newRecorder(t)
	startWatcher(t, env.Kubeconfig, storage.URL, func(_ *config.Config, f *config.Filter) {
		f.CRDResourceWhiteList = []string{"tkex.tencent.com/v1alpha1"}
	})
	must[*apiextensions.CustomResourceDefinition](t)(definitions.Create(t.Context(), gameDeployments(), metav1.CreateOptions{}))
	game := func(replicas int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "tkex.tencent.com/v1alpha1", "kind": "GameDeployment",
			"metadata": map[string]any{"name": "traffic-g"}, "spec": map[string]any{"replicas": replicas},
		}}
	}
	eventually(t, "the definition is served", func() bool {
		_, err := resource.Create(t.Context(), game(3), metav1.CreateOptions{})
		return err == nil
	})
	storage.await(t, http.MethodPut, "/GameDeployment/traffic-g")
	if err := resource.Delete(t.Context(), "traffic-g", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	storage.await(t, http.MethodDelete, "/GameDeployment/traffic-g")
	if err := definitions.Delete(t.Context(), "gamedeployments.tkex.tencent.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the definition is gone", func() bool {
		_, err := definitions.Get(t.Context(), "gamedeployments.tkex.tencent.com", metav1.GetOptions{})
		return err != nil
	})
	storage.equalGolden(t, "traffic-crd.json")
}
