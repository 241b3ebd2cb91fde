package apisim

import (
	"net/http"
	"net/url"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// options is the query of a LIST or WATCH, and the scope of its path.
type options struct {
	*kubeapi.Options
	path    kubeapi.Path
	fields  *selectable // of the kind
	partial bool        // only metadata is shown
	asked   named
}

// parse reads the query by the rules of an apiserver.
func (o *options) parse(q url.Values) (err error) {
	o.Options, err = kubeapi.ParseOptions(q, o.path.Namespace, kubeapi.Limits{})
	switch {
	case err != nil && o.Options != nil && o.Watch: // a watch finds a bad version out later, where errors have no reason
		return kubeapi.Status(http.StatusInternalServerError, "", "%v", err)
	case err != nil:
		return err
	}
	for _, r := range o.FieldSelector.Requirements() {
		if !o.fields.has(r.Field) {
			return kubeapi.BadRequest("field label not supported: %s", r.Field)
		}
	}
	return nil
}

func (o *options) matches(v *version) bool {
	return v != nil && (o.path.Namespace == "" || o.path.Namespace == v.Namespace) &&
		(o.LabelSelector.Empty() || o.LabelSelector.Matches(&v.labels)) &&
		(o.FieldSelector.Empty() || o.FieldSelector.Matches(o.ask(v)))
}

// ask is v as a field selector asks it, until the next one.
func (o *options) ask(v *version) *named {
	o.asked = named{v, o.fields}
	return &o.asked
}

// named answers a field selector for one object.
type named struct {
	v *version
	f *selectable
}

var _ fields.Fields = (*named)(nil)

// Has reports whether a field can be selected by.
func (n *named) Has(field string) bool { return n.f.has(field) }

// Get is the value of a field.
func (n *named) Get(field string) string {
	switch field {
	case kubeapi.NameField:
		return n.v.Name
	case kubeapi.NamespaceField:
		return n.v.Namespace
	}
	if i, ok := n.f.index[field]; ok {
		return n.v.fields[i]
	}
	return ""
}

// pairs is what a selector asks, as key and value in turn: a map would take several times the memory at a million
// objects.
type pairs []string

var _ labels.Labels = (*pairs)(nil) // by pointer, which is asked without an allocation

// Lookup finds a label.
func (p *pairs) Lookup(label string) (string, bool) {
	for i := 0; i < len(*p); i += 2 {
		if (*p)[i] == label {
			return (*p)[i+1], true
		}
	}
	return "", false
}

// Has reports whether a label is there.
func (p *pairs) Has(label string) bool { _, ok := p.Lookup(label); return ok }

// Get is the value of a label, empty if it is not there.
func (p *pairs) Get(label string) string { v, _ := p.Lookup(label); return v }
