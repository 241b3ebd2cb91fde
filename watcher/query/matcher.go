package query

import (
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
)

// matcher decides which objects a list or watch is about. It is for one goroutine.
type matcher struct {
	namespace, name string          // that an object must have; empty: any
	labels          labels.Selector // nil: none
	fields          fields.Selector // nil: none that needs more than the name
	paths           *paths          // to what the selectors ask for
	seen            attributes
}

func newMatcher(namespace string, o *options, s *selectable) *matcher {
	m := &matcher{namespace: namespace}
	if name, exact := o.FieldSelector.RequiresExactMatch(kubeapi.NameField); exact {
		m.name = name
	}
	if !o.LabelSelector.Empty() {
		m.labels = o.LabelSelector
	}
	var asked []kubeapi.Field
	for _, r := range o.FieldSelector.Requirements() {
		if f, ok := s.find(r.Field); ok && !slices.Contains(asked, f) {
			asked = append(asked, f)
		}
	}
	if !o.FieldSelector.Empty() {
		m.fields = o.FieldSelector
	}
	m.paths = newPaths(asked)
	return m
}

// place reports whether an object is where the list or watch looks.
func (m *matcher) place(k object.Key) bool {
	return (m.namespace == "" || m.namespace == k.Namespace) && (m.name == "" || m.name == k.Name)
}

// selects reports whether attributes can matter.
func (m *matcher) selects() bool { return m.labels != nil || m.fields != nil }

func (m *matcher) attributes(a *attributes) bool {
	return (m.labels == nil || m.labels.Matches(asLabels{a})) && (m.fields == nil || m.fields.Matches(asFields{a}))
}

// object reports whether an object with that content matches.
func (m *matcher) object(k object.Key, raw []byte) bool {
	if !m.place(k) {
		return false
	}
	if !m.selects() {
		return true
	}
	m.seen.read(m.paths, k, raw)
	return m.attributes(&m.seen)
}
