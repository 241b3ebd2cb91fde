package storagemock

import (
	"net/url"
	"strings"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/storagemock/store"
)

// endpoint is what a path stands for.
type endpoint uint8

const (
	unknownPath      endpoint = iota
	oneObject                 // E1–E3, E6–E8
	objectList                // E4, E5, E9, E10, E17
	events                    // E11–E13
	eventWatch                // E14
	watchObject               // E15, E16
	watchList                 // E16
	multiclusterList          // E18
)

// allowed are the methods of an endpoint.
var allowed = [...][]string{
	oneObject:        {"GET", "PUT", "DELETE"},
	objectList:       {"GET", "DELETE"},
	events:           {"GET", "PUT", "POST"},
	eventWatch:       {"POST"},
	watchObject:      {"GET", "PUT", "DELETE"},
	watchList:        {"GET"},
	multiclusterList: {"POST"},
}

// route is a path, understood. Unused parts of key are empty.
type route struct {
	endpoint endpoint
	db       store.Database
	key      store.Key
}

// parseRoute understands a raw path. Segments may be escaped or, as the original
// client sends them, not.
func parseRoute(path string) route {
	rest, ok := strings.CutPrefix(path, bcsapi.Base)
	if !ok {
		return route{}
	}
	if tail, ok := strings.CutPrefix(rest, bcsapi.NamespaceResources); ok {
		return namespaced(tail, oneObject, objectList, store.Dynamic)
	}
	if tail, ok := strings.CutPrefix(rest, bcsapi.ClusterResources); ok {
		cluster, tail, _ := strings.Cut(tail, "/")
		kind, name, hasName := strings.Cut(tail, "/")
		return found(oneObject, objectList, store.Dynamic, hasName, cluster, kind, name)
	}
	if tail, ok := strings.CutPrefix(rest, bcsapi.AllResources); ok {
		cluster, kind, _ := strings.Cut(tail, "/")
		return found(unknownPath, objectList, store.Dynamic, false, cluster, kind, "")
	}
	if tail, ok := strings.CutPrefix(rest, bcsapi.WatchResources); ok {
		return namespaced(tail, watchObject, watchList, store.Watch)
	}
	if kind, ok := strings.CutPrefix(rest, bcsapi.MulticlusterResources); ok {
		return found(unknownPath, multiclusterList, store.Dynamic, false, "*", kind, "")
	}
	switch rest {
	case bcsapi.Events:
		return route{endpoint: events, key: store.Key{Kind: bcsapi.KindEvent}}
	case bcsapi.EventsWatch:
		return route{endpoint: eventWatch, key: store.Key{Kind: bcsapi.KindEvent}}
	}
	return route{}
}

// namespaced understands {cluster}/namespaces/{ns}/{kind}[/{name}].
func namespaced(tail string, one, list endpoint, db store.Database) route {
	cluster, tail, _ := strings.Cut(tail, "/")
	tail, ok := strings.CutPrefix(tail, "namespaces/")
	namespace, tail, _ := strings.Cut(tail, "/")
	kind, name, hasName := strings.Cut(tail, "/")
	r := found(one, list, db, hasName, cluster, kind, name)
	if r.key.Namespace = unescape(namespace); !ok || namespace == "" {
		return route{}
	}
	return r
}

// found is a route if none of its segments is empty or has a slash.
func found(one, list endpoint, db store.Database, hasName bool, cluster, kind, name string) route {
	r := route{endpoint: list, db: db, key: store.Key{Cluster: unescape(cluster), Kind: unescape(kind), Name: unescape(name)}}
	if hasName {
		r.endpoint = one
	}
	if cluster == "" || kind == "" || hasName != (name != "") || strings.Contains(name, "/") || !hasName && strings.Contains(kind, "/") {
		return route{}
	}
	return r
}

func unescape(segment string) string {
	if strings.IndexByte(segment, '%') < 0 {
		return segment
	}
	plain, err := url.PathUnescape(segment)
	if err != nil {
		return segment
	}
	return plain
}
