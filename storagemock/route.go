package storagemock

import (
	"net/url"
	"strings"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock/store"
)

// endpoint is the resource that a path names.
type endpoint uint8

const (
	unknownPath endpoint = iota
	oneObject            // E1–E3, E6–E8
	objectList           // E4, E9
	events               // E11, E12
	watchObject          // E15
)

// allowed are the methods of an endpoint.
var allowed = [...][]string{
	oneObject:   {"GET", "PUT", "DELETE"},
	objectList:  {"GET"},
	events:      {"GET", "PUT"},
	watchObject: {"PUT", "DELETE"},
}

// route is a parsed path. Unused parts of key are empty.
type route struct {
	endpoint endpoint
	key      store.Key
}

// parseRoute parses a raw path. Segments may be escaped or, as the original client sends them, not.
func parseRoute(path string) route {
	rest, ok := strings.CutPrefix(path, bcsapi.Base)
	if !ok {
		return route{}
	}
	if tail, ok := strings.CutPrefix(rest, bcsapi.NamespaceResources); ok {
		return namespaced(tail, oneObject, objectList)
	}
	if tail, ok := strings.CutPrefix(rest, bcsapi.ClusterResources); ok {
		cluster, tail, _ := strings.Cut(tail, "/")
		kind, name, hasName := strings.Cut(tail, "/")
		return found(oneObject, objectList, hasName, store.Key{Cluster: cluster, Kind: kind, Name: name})
	}
	if tail, ok := strings.CutPrefix(rest, bcsapi.WatchResources); ok {
		return namespaced(tail, watchObject, unknownPath)
	}
	if rest == bcsapi.Events {
		return route{events, store.Key{Kind: bcsapi.KindEvent}}
	}
	return route{}
}

// namespaced parses {cluster}/namespaces/{ns}/{kind}[/{name}].
func namespaced(tail string, one, list endpoint) route {
	cluster, tail, _ := strings.Cut(tail, "/")
	tail, ok := strings.CutPrefix(tail, "namespaces/")
	namespace, tail, _ := strings.Cut(tail, "/")
	kind, name, hasName := strings.Cut(tail, "/")
	if !ok || namespace == "" {
		return route{}
	}
	return found(one, list, hasName, store.Key{Cluster: cluster, Kind: kind, Namespace: namespace, Name: name})
}

// found returns the route of a key whose parts are still escaped, none if one of them is missing or holds a slash.
func found(one, list endpoint, hasName bool, k store.Key) route {
	if k.Cluster == "" || k.Kind == "" || hasName != (k.Name != "") || strings.Contains(k.Name, "/") {
		return route{}
	}
	r := route{list, store.Key{Cluster: unescape(k.Cluster), Kind: unescape(k.Kind), Namespace: unescape(k.Namespace),
		Name: unescape(k.Name)}}
	if hasName {
		r.endpoint = one
	}
	return r
}

func unescape(segment string) string {
	if plain, err := url.PathUnescape(segment); err == nil {
		return plain
	}
	return segment
}
