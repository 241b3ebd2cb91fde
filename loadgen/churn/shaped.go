package churn

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/shape"
)

// ErrSkipped is the outcome of an operation that was not sent.
var ErrSkipped = errors.New("not sent: an operation before it, on the object or its owner, was given up")

func request(client rest.Interface, r shape.Request) (*rest.Request, error) {
	path := path(r.Resource, r.Namespace)
	if r.Verb == shape.VerbDelete { // which has no field manager
		return client.Delete().AbsPath(path, r.Name).Body(r.Delete), nil
	}
	out := client.Post()
	switch r.Verb {
	case shape.VerbUpdate:
		out = client.Put()
	case shape.VerbPatch:
		out = client.Patch(r.PatchType)
	}
	if r.Verb != shape.VerbCreate || r.Subresource != "" {
		path += "/" + r.Name
	}
	if r.Subresource != "" {
		path += "/" + r.Subresource
	}
	out = out.AbsPath(path).Param("fieldManager", r.FieldManager)
	if r.Verb == shape.VerbPatch {
		return out.Body(r.Body), nil
	}
	if u, ok := r.Object.(*unstructured.Unstructured); ok { // no protobuf for custom resources
		body, err := json.Marshal(u.Object)
		if err != nil {
			return nil, fmt.Errorf("encoding %s %s: %w", r.Resource.Resource, r.Name, err)
		}
		return out.SetHeader("Content-Type", "application/json").Body(body), nil
	}
	return out.Body(r.Object), nil
}

func path(r schema.GroupVersionResource, namespace string) string {
	at := "/api/"
	if r.Group != "" {
		at = "/apis/" + r.Group + "/"
	}
	at += r.Version
	if namespace != "" {
		at += "/namespaces/" + namespace
	}
	return at + "/" + r.Resource
}
