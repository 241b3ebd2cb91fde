package query

import (
	"slices"
	"strings"

	"github.com/watchbench/watchbench/watcher/watches"
)

// field is what objects of a kind can be selected by, besides metadata.name and
// metadata.namespace.
type field struct {
	name   string // in selectors
	path   string // where the value is; empty: name
	absent string // the value of an object without it
	or     string // where the value is of an object without it, or with an empty one
	index  bool
}

const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// builtInFields are those that an apiserver selects by, by resource: the field label
// conversions and registry strategies of Kubernetes 1.36.
var builtInFields = map[string][]field{
	"pods": {
		{name: "spec.nodeName"}, {name: "spec.restartPolicy"}, {name: "spec.schedulerName"}, {name: "spec.serviceAccountName"},
		{name: "spec.hostNetwork", absent: "false"}, {name: "status.phase"}, {name: "status.podIP"}, {name: "status.nominatedNodeName"},
	},
	"nodes":                  {{name: "spec.unschedulable", absent: "false"}},
	"namespaces":             {{name: "status.phase"}},
	"secrets":                {{name: "type"}},
	"services":               {{name: "spec.clusterIP"}, {name: "spec.type"}},
	"replicationcontrollers": {{name: "status.replicas", absent: "0"}},
	"events": {
		{name: "involvedObject.kind"}, {name: "involvedObject.namespace"}, {name: "involvedObject.name"}, {name: "involvedObject.uid"},
		{name: "involvedObject.apiVersion"}, {name: "involvedObject.resourceVersion"}, {name: "involvedObject.fieldPath"},
		{name: "reason"}, {name: "reportingComponent"}, {name: "source", path: "source.component", or: "reportingComponent"}, {name: "type"},
	},
	"events.events.k8s.io": {
		{name: "regarding.kind"}, {name: "regarding.namespace"}, {name: "regarding.name"}, {name: "regarding.uid"},
		{name: "regarding.apiVersion"}, {name: "regarding.resourceVersion"}, {name: "regarding.fieldPath"},
		{name: "reason"}, {name: "reportingController"}, {name: "type"},
	},
	"replicasets.apps": {{name: "status.replicas", absent: "0"}},
	"jobs.batch":       {{name: "status.successful", path: "status.succeeded", absent: "0"}},
	"certificatesigningrequests.certificates.k8s.io": {{name: "spec.signerName"}},
}

// selectable are the fields of a kind.
type selectable struct {
	all   []field
	paths *paths // to all of them
}

// labelsOnly is of kinds without fields of their own.
var labelsOnly = newSelectable(nil)

func newSelectable(all []field) *selectable { return &selectable{all, newPaths(all)} }

// allSelectable are the fields of all kinds that have any, by resource.
func allSelectable(indexes map[string][]string) map[string]*selectable {
	all := map[string][]field{}
	for r, fields := range builtInFields {
		all[r] = slices.Clone(fields)
	}
	for r, names := range indexes {
		for _, name := range names {
			if name == nameField || name == namespaceField {
				continue // they need none
			}
			if i := slices.IndexFunc(all[r], func(f field) bool { return f.name == name }); i >= 0 {
				all[r][i].index = true
			} else {
				all[r] = append(all[r], field{name: name, index: true})
			}
		}
	}
	selectables := make(map[string]*selectable, len(all))
	for r, fields := range all {
		selectables[r] = newSelectable(fields)
	}
	return selectables
}

// resourceKey names a resource without its version, as in the configuration.
func resourceKey(r watches.GVR) string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

func (s *selectable) find(name string) (field, bool) {
	i := slices.IndexFunc(s.all, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return s.all[i], true
}

// names are all that a selector may use, for an error.
func (s *selectable) names() string {
	names := []string{nameField, namespaceField}
	for _, f := range s.all {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
