package kubeapi

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Fields are the ones that objects of a kind can be selected by, besides name and namespace.
type Fields []Field

// Find returns the field of that name.
func (all Fields) Find(name string) (Field, bool) {
	if i := all.index(name); i >= 0 {
		return all[i], true
	}
	return Field{}, false
}

func (all Fields) index(name string) int {
	return slices.IndexFunc(all, func(f Field) bool { return f.Name == name })
}

// Check refuses a selector by other fields.
func (all Fields) Check(s fields.Selector) error {
	for _, r := range s.Requirements() {
		if r.Field == NameField || r.Field == NamespaceField || all.index(r.Field) >= 0 {
			continue
		}
		names := []string{NameField, NamespaceField}
		for _, f := range all {
			names = append(names, f.Name)
		}
		slices.Sort(names)
		return BadRequest("field label not supported: %s; supported are %s", r.Field, strings.Join(names, ", "))
	}
	return nil
}

// Values returns an object's fields as selectors write them: strings without quotes, numbers and booleans as in JSON.
func (all Fields) Values(raw []byte) []string {
	return all.appendValues(make([]string, 0, len(all)), raw)
}

func (all Fields) appendValues(values []string, raw []byte) []string {
	for i, f := range all {
		values = append(values, f.Absent)
		switch v := jsonscan.First(raw, cmp.Or(f.Path, f.Name)); {
		case jsonscan.IsString(v):
			values[i] = jsonscan.Unquote(v)
		case len(v) > 0 && v[0] != '{' && v[0] != '[' && v[0] != 'n':
			values[i] = string(v)
		}
		if values[i] == "" && f.Or != "" {
			values[i] = Fields{{Name: f.Or}}.Values(raw)[0]
		}
	}
	return values
}

// Attributes are the fields of one object that selectors can match.
type Attributes struct {
	Name   Name
	Labels RawLabels
	Values []string // of Fields
	Fields Fields
}

var _ fields.Fields = (*Attributes)(nil)

// Of reads the attributes of an object. Its labels share memory with it.
func (all Fields) Of(n Name, raw []byte) *Attributes {
	a := &Attributes{Fields: all}
	a.Read(n, raw)
	return a
}

// Read makes a the attributes of another object.
func (a *Attributes) Read(n Name, raw []byte) {
	a.Name, a.Labels, a.Values = n, jsonscan.First(raw, "metadata.labels"), a.Fields.appendValues(a.Values[:0], raw)
}

// Has reports whether a field can be selected by.
func (a *Attributes) Has(field string) bool {
	return field == NameField || field == NamespaceField || a.Fields.index(field) >= 0
}

// Get is the value of a field.
func (a *Attributes) Get(field string) string {
	switch i := a.Fields.index(field); {
	case field == NameField:
		return a.Name.Name
	case field == NamespaceField:
		return a.Name.Namespace
	case i >= 0:
		return a.Values[i]
	}
	return ""
}

// Selects reports whether the selectors take an object.
func (o *Options) Selects(a *Attributes) bool {
	return (o.LabelSelector.Empty() || o.LabelSelector.Matches(&a.Labels)) &&
		(o.FieldSelector.Empty() || o.FieldSelector.Matches(a))
}

// RawLabels are an object's labels in their original JSON; nil has none.
type RawLabels []byte

var _ labels.Labels = RawLabels(nil)

// Lookup finds a label.
func (l RawLabels) Lookup(label string) (string, bool) {
	v := jsonscan.Lookup(l, label)
	return jsonscan.Unquote(v), v != nil
}

// Has reports whether a label is there.
func (l RawLabels) Has(label string) bool { _, ok := l.Lookup(label); return ok }

// Get is the value of a label, empty if it is not there.
func (l RawLabels) Get(label string) string { v, _ := l.Lookup(label); return v }
