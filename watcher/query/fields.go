package query

import (
	"slices"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

type options struct {
	*kubeapi.Options
	// indexed is an index that narrows a list, and the value to look up; the zero field: none.
	indexed kubeapi.Field
	value   string
}

func (h *Handler) parseList(q *request) (err error) {
	all, o := fieldsOf(q.gvr), &options{}
	limits := kubeapi.Limits{Selector: h.config.MaxSelectorBytes, Page: int64(h.config.MaxPage)}
	if o.Options, err = kubeapi.ParseOptions(q.query, q.namespace, limits); err != nil {
		return err
	}
	if err := all.Check(o.FieldSelector); err != nil {
		return err
	}
	for _, f := range all {
		if value, exact := o.FieldSelector.RequiresExactMatch(f.Name); exact && f.Index {
			o.indexed, o.value = f, value
		}
	}
	q.options, q.matcher = o, newMatcher(q.namespace, o.Options, all)
	return nil
}

func fieldsOf(r watches.GVR) kubeapi.Fields {
	return kubeapi.BuiltInFields[kubeapi.ResourceKey(r.Group, r.Resource)]
}

type indexKey string

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
