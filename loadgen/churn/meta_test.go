package churn

import (
	"bytes"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// protobufOf is obj as an apiserver answers with it.
func protobufOf(t testing.TB, obj runtime.Object, gvk schema.GroupVersionKind) []byte {
	t.Helper()
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	var b bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestReadMetadata(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "p", UID: "u-1", ResourceVersion: "42", Annotations: map[string]string{OpAnnotation: "7"}}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "n"}}
	for name, body := range map[string][]byte{
		"metadata alone": protobufOf(t, &metav1.PartialObjectMetadata{ObjectMeta: meta}, schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}),
		"a whole object": protobufOf(t, pod, corev1.SchemeGroupVersion.WithKind("Pod")),
		"JSON":           []byte(`{"kind":"Pod","metadata":{"name":"p","uid":"u-1","resourceVersion":"42","annotations":{"watchbench.dev/op":"7"}},"spec":{}}`),
	} {
		m, ok, err := readMetadata(body)
		if err != nil || !ok || m.Name != "p" || m.UID != "u-1" || m.ResourceVersion != "42" || m.Annotations[OpAnnotation] != "7" {
			t.Errorf("%s: %+v, %t, %v", name, m, ok, err)
		}
	}
	for name, body := range map[string][]byte{
		"protobuf": protobufOf(t, &metav1.Status{Status: metav1.StatusSuccess}, schema.GroupVersionKind{Version: "v1", Kind: "Status"}),
		"JSON":     []byte(`{"kind":"Status","metadata":{},"status":"Success"}`),
	} {
		if _, ok, err := readMetadata(body); ok || err != nil {
			t.Errorf("a Status in %s: %t, %v", name, ok, err)
		}
	}
}

func FuzzReadMetadata(f *testing.F) {
	f.Add([]byte(`{"kind":"Pod","metadata":{"uid":"u"}}`))
	f.Add(protobufOf(f, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, corev1.SchemeGroupVersion.WithKind("Pod")))
	f.Add([]byte("k8s\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, ok, err := readMetadata(body); err != nil && (ok || !errors.Is(err, errNoObject)) {
			t.Errorf("%t, %v", ok, err)
		}
	})
}
