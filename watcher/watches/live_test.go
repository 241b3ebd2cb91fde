package watches_test

import (
	"context"
	"sync"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/watchbench/watchbench/internal/cluster/clustertest"
	"github.com/watchbench/watchbench/watcher/watches"
)

// widgets defines a kind with an open schema, in versions of which the first is stored.
func widgets(scope apiextensions.ResourceScope, versions ...string) *apiextensions.CustomResourceDefinition {
	open := true
	d := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.live.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "live.example.com", Scope: scope,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ShortNames: []string{"wi"}},
		},
	}
	for i, name := range versions {
		d.Spec.Versions = append(d.Spec.Versions, apiextensions.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: i == 0,
			Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}},
		})
	}
	return d
}

// TestLiveDefinitions: a real apiserver's custom kinds come and go, and readers learn of it.
func TestLiveDefinitions(t *testing.T) {
	env := clustertest.Start(t)
	definitions := apiextensionsclient.NewForConfigOrDie(env.Config).ApiextensionsV1().CustomResourceDefinitions()
	h := run(t, newCluster(t), env.Config, nil)
	<-h.Known()
	gvr := func(version string) watches.GVR {
		return watches.GVR{Group: "live.example.com", Version: version, Resource: "widgets"}
	}
	served := func(r watches.GVR) bool { _, ok := h.Served().Find(r); return ok }
	established := func() {
		t.Helper()
		h.eventually(20*time.Second, "established", func() bool {
			d, err := definitions.Get(t.Context(), "widgets.live.example.com", metav1.GetOptions{})
			if err != nil {
				return false
			}
			for _, c := range d.Status.Conditions {
				if c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue {
					return true
				}
			}
			return false
		})
	}
	create := func(scope apiextensions.ResourceScope) {
		t.Helper()
		h.eventually(20*time.Second, "created", func() bool {
			_, err := definitions.Create(t.Context(), widgets(scope, "v1beta1", "v1"), metav1.CreateOptions{})
			return err == nil
		})
		established()
		h.eventually(20*time.Second, "it is served", func() bool {
			w, err := h.Open(t.Context(), gvr("v1"), watches.Wait{})
			if err == nil {
				w.Close()
			}
			return err == nil && served(gvr("v1beta1"))
		})
	}
	create(apiextensions.NamespaceScoped)

	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			w, err := h.Open(context.Background(), gvr("v1"), watches.Wait{})
			if err != nil {
				t.Error(err)
				return
			}
			w.Close()
		})
	}
	all.Wait()
	beta, stable := h.open(gvr("v1beta1")), h.open(gvr("v1"))
	defer beta.Close()
	defer stable.Close()
	if s, _ := h.status(gvr("v1")); s.State != watches.Synced || s.Relists != 0 {
		t.Errorf("%+v", s)
	}
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "live.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}}}
	resource := dynamic.NewForConfigOrDie(env.Config).Resource(schema.GroupVersionResource(gvr("v1"))).Namespace("default")
	if _, err := resource.Create(t.Context(), widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.eventually(2*time.Second, "both versions have the object", func() bool { return len(names(t, stable.View)) == 1 && len(names(t, beta.View)) == 1 })

	d := must(definitions.Get(t.Context(), "widgets.live.example.com", metav1.GetOptions{}))
	d.Spec.Versions[1].Served = false
	if _, err := definitions.Update(t.Context(), d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.eventually(20*time.Second, "v1 is not served", func() bool { return !served(gvr("v1")) })
	ended(t, h, stable)
	h.eventually(20*time.Second, "the other version goes on", func() bool { return beta.Health().Broken == nil })
	if err := definitions.Delete(t.Context(), "widgets.live.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.eventually(20*time.Second, "deleted", func() bool {
		_, err := definitions.Get(t.Context(), "widgets.live.example.com", metav1.GetOptions{})
		return err != nil
	})
	ended(t, h, beta)
	create(apiextensions.ClusterScoped)
	now := h.open(gvr("v1"))
	defer now.Close()
	if now.Kind.Namespaced || len(names(t, now.View)) != 0 {
		t.Errorf("%+v with %v", now.Kind, names(t, now.View))
	}
	if err := definitions.Delete(t.Context(), "widgets.live.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	ended(t, h, now)
}
