package pseudonym

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func core(kind string) schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind(kind) }

// TestNamesOfFieldsAsData: a key that is called like a field of Kubernetes changes nothing
// where it is data, a label or an annotation.
func TestNamesOfFieldsAsData(t *testing.T) {
	keys := append([]string{"fieldsV1", "managedFields", "env", "labels", "selector", "annotations", "data", "value", "args"}, "limits", "storage", "min", "max", "default")
	for _, key := range keys {
		for kind, object := range map[string]string{
			"Secret":    `{"data":{%q:"31415926"},"metadata":{"name":"a"}}`,
			"ConfigMap": `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}},"binaryData":{%q:"31415926"}}`,
		} {
			for _, all := range []bool{false, true} {
				got, err := New(salt, all).Object(nil, core(kind), fmt.Appendf(nil, object, key))
				if err != nil || strings.Contains(string(got), "31415926") {
					t.Errorf("%s, anonymised %v: %s, %v", kind, all, got, err)
				}
			}
		}
		got, err := New(salt, false).Object(nil, core("Secret"), fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"31415926"}}}`, key))
		if err != nil || strings.Contains(string(got), "31415926") {
			t.Errorf("annotation of a Secret: %s, %v", got, err)
		}
		got, err = New(salt, true).Object(nil, core("Pod"), fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"default secret token"}}}`, key))
		if err != nil || strings.Contains(string(got), "secret token") {
			t.Errorf("annotation: %s, %v", got, err)
		}
	}
	got, err := New(salt, false).Object(nil, core("Secret"), []byte(`{"data":{"token":"eA=="},"stringData":{"username":"x"},"metadata":{"managedFields":[{"fieldsV1":{"f:data":{".":{},"f:token":{}},"f:stringData":{"f:username":{}}}}]}}`))
	if err != nil || strings.Contains(string(got), "token") || strings.Contains(string(got), "username") || !strings.Contains(string(got), `"f:data":{".":{}`) {
		t.Errorf("keys of a Secret: %s, %v", got, err)
	}
	got, err = New(salt, true).Object(nil, core("Invoice"), []byte(`{"spec":{"fieldsV1":{"initech":1}},"metadata":{"managedFields":[{"fieldsV1":{"initech":{}}}]}}`))
	if err != nil || strings.Contains(string(got), "initech") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestLabelsStaySelectable: whatever a label is called, what selects by it still does.
func TestLabelsStaySelectable(t *testing.T) {
	type expression struct {
		Key    string
		Values []string
	}
	type terms struct {
		MatchLabels      map[string]string
		MatchExpressions []expression
	}
	for _, key := range []string{"storage", "limits", "min", "default", "used", "command", "env", "annotations", "fieldsV1", "selector", "apiVersion", "resourceVersion"} {
		for _, value := range []string{"4111111", "default", "v7", "node/v1"} {
			object := strings.NewReplacer("K", key, "V", value).Replace(`{"metadata":{"labels":{"K":"V"}},"spec":{"selector":{"matchLabels":{"K":"V"}},"nodeSelector":{"K":"V"},"affinity":{"matchExpressions":[{"key":"K","values":["V"]}]}}}`)
			data, err := New(salt, true).Object(nil, core("Pod"), []byte(object))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Metadata struct{ Labels map[string]string }
				Spec     struct {
					Selector, Affinity terms
					NodeSelector       map[string]string
				}
			}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			e := got.Spec.Affinity.MatchExpressions[0]
			label, ok := got.Metadata.Labels[e.Key]
			if !ok || !slices.Contains(e.Values, label) || got.Spec.Selector.MatchLabels[e.Key] != label || got.Spec.NodeSelector[e.Key] != label || label == "4111111" {
				t.Errorf("%s becomes %s", object, data)
			}
		}
	}
}

// TestAPIVersions: objects and the header name a resource alike.
func TestAPIVersions(t *testing.T) {
	p := New(salt, true)
	for _, version := range []string{"v1", "v2alpha1", "v1beta4", "v12", "stable"} {
		want := p.Text("acme.example") + "/" + p.APIVersion(version)
		got, err := p.Object(nil, core("Invoice"), fmt.Appendf(nil, `{"apiVersion":"acme.example/%s"}`, version))
		if err != nil || string(got) != fmt.Sprintf(`{"apiVersion":%q}`, want) || strings.Contains(want, version) != (version[0] == 'v') {
			t.Errorf("%s: %s, %v, want %s", version, got, err, want)
		}
	}
	for _, kind := range []string{"customresourcedefinitions", "CustomResourceDefinition", "apiservices", "APIService", "endpointslices", "ingresses"} {
		if got := p.Text(kind); got != kind {
			t.Errorf("%s becomes %s", kind, got)
		}
	}
}

// TestDigestsAmongThemselves: only a digest has a pseudonym that looks like one, lest two
// words share it.
func TestDigestsAmongThemselves(t *testing.T) {
	w := newWords(newPermutation(salt), nil)
	for i := range 200 {
		word := fmt.Sprintf("%011dz", i)
		if got := string(w.appendText(nil, word)); isDigest(got) {
			t.Fatalf("%s becomes %s", word, got)
		}
	}
}

// TestFillersNeedTheSalt: without it nobody can try likely passwords.
func TestFillersNeedTheSalt(t *testing.T) {
	filled := func(salt string) string {
		got, err := New([]byte(salt), false).Object(nil, core("Secret"), []byte(`{"data":{"a":"aHVudGVyMg=="}}`))
		if err != nil {
			t.Fatal(err)
		}
		var o struct{ Data map[string]string }
		if err := json.Unmarshal(got, &o); err != nil || len(o.Data) != 1 {
			t.Fatalf("%s, %v", got, err)
		}
		for _, value := range o.Data {
			return value
		}
		return ""
	}
	if a, again, b := filled("one"), filled("one"), filled("two"); a != again || a == b {
		t.Errorf("%q and %q with one salt, %q with another", a, again, b)
	}
}
