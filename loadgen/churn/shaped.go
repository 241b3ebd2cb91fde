package churn

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// shaper makes the requests of operations.
type shaper interface {
	Request(op plan.Op, refs shape.Refs, intended time.Time) shape.Request
}

var _ shaper = (*shape.Maker)(nil)

// ErrSkipped is the outcome of an operation that was not sent.
var ErrSkipped = errors.New("not sent: an operation before it, on the object or its owner, was given up")

// request makes the HTTP request.
func request(client rest.Interface, r shape.Request) (*rest.Request, error) {
	path := path(r.Resource, r.Namespace)
	var out *rest.Request
	switch r.Verb {
	case shape.VerbCreate:
		out = client.Post()
	case shape.VerbUpdate:
		out = client.Put()
	case shape.VerbPatch:
		out = client.Patch(r.PatchType)
	case shape.VerbDelete:
		// A deletion has no field manager.
		return client.Delete().AbsPath(path, r.Name).Body(r.Delete), nil
	default:
		return nil, fmt.Errorf("a request with the verb %q", r.Verb)
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

// path is where the objects of a resource are.
func path(r schema.GroupVersionResource, namespace string) string {
	var b strings.Builder
	if r.Group == "" {
		b.WriteString("/api/")
	} else {
		b.WriteString("/apis/" + r.Group + "/")
	}
	b.WriteString(r.Version)
	if namespace != metav1.NamespaceNone {
		b.WriteString("/namespaces/" + namespace)
	}
	b.WriteString("/" + r.Resource)
	return b.String()
}
