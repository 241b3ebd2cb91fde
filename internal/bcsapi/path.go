package bcsapi

import "strings"

// Base is the path below which all v1 endpoints live.
const Base = "/bcsstorage/v1"

// Endpoint paths below Base. Segments are joined without escaping, as the original client does; names that Kubernetes
// accepts need none except ":" in RBAC names, which is legal in a path segment.
const (
	NamespaceResources = "/k8s/dynamic/namespace_resources/clusters/"
	ClusterResources   = "/k8s/dynamic/cluster_resources/clusters/"
	WatchResources     = "/k8s/watch/clusters/"
	Events             = "/events"
)

// Kinds that do not go to the dynamic resource endpoints.
const (
	KindEvent         = "Event"
	KindExportService = "ExportService"
)

// ObjectPath is the path, Base included, of one object for PUT, DELETE and GET: E1/E2 for a namespaced object, E6/E7
// for a cluster-scoped one (empty namespace), E15 for ExportService. Events have no object path; they are PUT to
// EventsPath.
func ObjectPath(cluster, namespace, kind, name string) string {
	if kind == KindExportService {
		return Base + WatchResources + cluster + "/namespaces/" + namespace + "/" + strings.ToLower(kind) + "/" + name
	}
	return ListPath(cluster, namespace, kind) + "/" + name
}

// ListPath is the path, Base included, of a kind in one namespace (E4) or, with
// an empty namespace, in the cluster scope (E9).
func ListPath(cluster, namespace, kind string) string {
	if namespace != "" {
		return Base + NamespaceResources + cluster + "/namespaces/" + namespace + "/" + kind
	}
	return Base + ClusterResources + cluster + "/" + kind
}

// EventsPath is the path, Base included, of E11 (PUT) and E12 (GET).
func EventsPath() string { return Base + Events }
