package query

import (
	"slices"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

// allFields are the fields of all kinds that have any, by resource; those of the configuration have an index.
func allFields(indexes map[string][]string) map[string]kubeapi.Fields {
	all := map[string]kubeapi.Fields{}
	for r, fields := range kubeapi.BuiltInFields {
		all[r] = slices.Clone(fields)
	}
	for r, names := range indexes {
		for _, name := range names {
			if name == kubeapi.NameField || name == kubeapi.NamespaceField {
				continue // they need none
			}
			if i := slices.IndexFunc(all[r], func(f kubeapi.Field) bool { return f.Name == name }); i >= 0 {
				all[r][i].Index = true
			} else {
				all[r] = append(all[r], kubeapi.Field{Name: name, Index: true})
			}
		}
	}
	return all
}

// indexKey is a field's.
type indexKey string

// index is a view's index of a field.
func index(v *view.View, f kubeapi.Field) *view.Index {
	return v.IndexBy(indexKey(f.Name), func(o *object.Object) []string { return kubeapi.Fields{f}.Values(o.Raw) })
}

// matcher decides which objects a list or watch is about.
type matcher struct {
	namespace, name string           // that an object must have; empty: any
	options         *kubeapi.Options // nil: no selectors
	fields          kubeapi.Fields   // that they ask for
}

func newMatcher(namespace string, o *kubeapi.Options, all kubeapi.Fields) *matcher {
	m := &matcher{namespace: namespace}
	m.name, _ = o.FieldSelector.RequiresExactMatch(kubeapi.NameField)
	if !o.Everything() {
		m.options = o
	}
	for _, r := range o.FieldSelector.Requirements() {
		if f, ok := all.Find(r.Field); ok && !slices.Contains(m.fields, f) {
			m.fields = append(m.fields, f)
		}
	}
	return m
}

// place reports whether an object is where the list or watch looks.
func (m *matcher) place(k object.Key) bool {
	return (m.namespace == "" || m.namespace == k.Namespace) && (m.name == "" || m.name == k.Name)
}

// take reports whether an object matches, and leaves its content in b if it looked at it.
func (m *matcher) take(o *object.Object, b *buffer) bool {
	if !m.place(o.Key) {
		return false
	}
	if m.options == nil {
		return true
	}
	b.raw, b.next = o.Content(b.next)
	b.seen.Fields = m.fields
	b.seen.Read(view.NameOf(o), b.raw)
	return m.options.Selects(&b.seen)
}
