package kubeapi

// Names that every kind can be selected by.
const (
	NameField      = "metadata.name"
	NamespaceField = "metadata.namespace"
)

// Field can be used to select objects of a kind, as their name and namespace can.
type Field struct {
	Name   string // in selectors, such as spec.nodeName
	Path   string // where the value is; empty: Name
	Absent string // the value of an object without it
	Or     string // where the value is of an object without it, or with an empty one
	Index  bool   // the watcher has an index of it
}

// BuiltInFields are those that an apiserver selects by, by resource: the field label conversions and registry
// strategies of Kubernetes 1.36.
var BuiltInFields = map[string]Fields{
	"pods": {
		{Name: "spec.nodeName", Index: true}, {Name: "spec.restartPolicy"}, {Name: "spec.schedulerName"},
		{Name: "spec.serviceAccountName"}, {Name: "spec.hostNetwork", Absent: "false"},
		{Name: "status.phase"}, {Name: "status.podIP"}, {Name: "status.nominatedNodeName"},
	},
	"nodes":                  {{Name: "spec.unschedulable", Absent: "false"}},
	"namespaces":             {{Name: "status.phase"}},
	"secrets":                {{Name: "type"}},
	"services":               {{Name: "spec.clusterIP"}, {Name: "spec.type"}},
	"replicationcontrollers": {{Name: "status.replicas", Absent: "0"}},
	"events": {
		{Name: "involvedObject.kind"}, {Name: "involvedObject.namespace"}, {Name: "involvedObject.name"},
		{Name: "involvedObject.uid"}, {Name: "involvedObject.apiVersion"},
		{Name: "involvedObject.resourceVersion"}, {Name: "involvedObject.fieldPath"},
		{Name: "reason"}, {Name: "reportingComponent"}, {Name: "type"},
		{Name: "source", Path: "source.component", Or: "reportingComponent"},
	},
	"events.events.k8s.io": {
		{Name: "regarding.kind"}, {Name: "regarding.namespace"}, {Name: "regarding.name"},
		{Name: "regarding.uid"}, {Name: "regarding.apiVersion"}, {Name: "regarding.resourceVersion"},
		{Name: "regarding.fieldPath"},
		{Name: "reason"}, {Name: "reportingController"}, {Name: "type"},
	},
	"replicasets.apps": {{Name: "status.replicas", Absent: "0"}},
	"jobs.batch":       {{Name: "status.successful", Path: "status.succeeded", Absent: "0"}},
	"certificatesigningrequests.certificates.k8s.io": {{Name: "spec.signerName"}},
}

// ResourceKey names a resource without its version: pods, or deployments.apps.
func ResourceKey(group, resource string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// GroupVersion is v1, or apps/v1.
func GroupVersion(group, version string) string {
	if group == "" {
		return version
	}
	return group + "/" + version
}
