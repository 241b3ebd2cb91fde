package shape

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sameVersion converts nothing: all objects are of the version that is stored.
type sameVersion struct{}

func (sameVersion) Convert(in, out, _ any) error { return nil }

func (sameVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (sameVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// noDefaults leaves objects as they are: they have their defaults.
type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

type unstructuredMaker struct{}

func (unstructuredMaker) make(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(gvk)
	return u
}

func (m unstructuredMaker) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	return m.make(gvk), nil
}
