package kperf

import (
	"errors"
	"strings"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/loadgen/trace"
)

// target is what a path names.
type target struct {
	resource    trace.Resource // without Kind
	namespace   string
	name        string
	subresource string
	generate    string // the prefix of a name that the apiserver makes
}

// parsePath reads /api/v1/namespaces/NS/pods/NAME/status and its like. A query is left
// out.
func parsePath(path string) (target, error) {
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "&") // which kperf takes for the beginning of a query, too
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var t target
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		t.resource.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		t.resource.Group, t.resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return t, errPath
	}
	if t.resource.Version == "" {
		return t, errPath
	}
	// /namespaces/NS is an object, as are its subresources; /namespaces/NS/pods is not.
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" && parts[2] != "finalize" {
		t.namespace, t.resource.Namespaced, parts = parts[1], true, parts[2:]
	}
	for _, part := range parts {
		if part == "" || part == ".." {
			return t, errPath
		}
	}
	t.resource.Name = parts[0]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = strings.Join(parts[2:], "/")
	}
	return t, nil
}

var errPath = errors.New("no path of a resource")

// target is what the request is for, if its fields agree.
func (r Request) target(at string) (target, error) {
	t, err := parsePath(r.APIPath)
	switch {
	case err != nil:
		return t, strictyaml.Bad(at+".apiPath", "write it like /api/v1/namespaces/a/pods/b", "%q is %v", r.APIPath, err)
	case r.Namespace != "" && t.namespace != "" && r.Namespace != t.namespace:
		return t, strictyaml.Bad(at+".namespace", "make them agree", "%q, and the path has %q", r.Namespace, t.namespace)
	case r.Name != "" && t.name != "" && r.Name != t.name:
		return t, strictyaml.Bad(at+".name", "make them agree", "%q, and the path has %q", r.Name, t.name)
	}
	if t.name == "" {
		t.name = r.Name
	}
	t.resource.Kind = r.ResourceKind
	return t, nil
}
