package query

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
)

// paths find the labels and some fields of an object in one pass, which ends when all
// are found.
type paths struct {
	fields []kubeapi.Field
	root   node
}

// node is a member that leads to what is sought, or is it.
type node struct {
	name     string
	leaf     int // into the values: 0 are the labels, others a field; -1: none
	children []node
}

func newPaths(all []kubeapi.Field) *paths {
	for _, f := range all {
		if f.Or != "" && !slices.ContainsFunc(all, func(other kubeapi.Field) bool { return other.Name == f.Or }) {
			all = append(slices.Clip(all), kubeapi.Field{Name: f.Or})
		}
	}
	p := &paths{fields: all, root: node{leaf: -1}}
	p.root.add([]string{"metadata", "labels"}, 0)
	for i, f := range all {
		p.root.add(strings.Split(cmp.Or(f.Path, f.Name), "."), i+1)
	}
	return p
}

func (n *node) add(path []string, leaf int) {
	if len(path) == 0 {
		n.leaf = leaf
		return
	}
	i := slices.IndexFunc(n.children, func(c node) bool { return c.name == path[0] })
	if i < 0 {
		i = len(n.children)
		n.children = append(n.children, node{name: path[0], leaf: -1})
	}
	n.children[i].add(path[1:], leaf)
}

// attributes are the labels and fields of one object. They share the memory of the JSON
// that they were read from.
type attributes struct {
	paths *paths
	key   object.Key
	raw   []byte
	at    []jsonscan.Range // the labels, then the fields of paths
	left  int              // how many are not found yet
}

// read takes the attributes from an object. One that cannot be read has none: only this
// program writes what is read here, and that has been checked.
func (a *attributes) read(p *paths, key object.Key, raw []byte) {
	n := len(p.fields) + 1
	a.paths, a.key, a.raw, a.left = p, key, raw, n
	a.at = slices.Grow(a.at[:0], n)[:n]
	clear(a.at)
	s := jsonscan.New(raw)
	_ = a.walk(&s, &p.root)
}

func (a *attributes) walk(s *jsonscan.Scanner, n *node) error {
	more, err := s.EnterObject()
	for seen := 0; err == nil && more; more, err = s.NextMember() {
		key, err := s.Key()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(n.children, func(c node) bool { return key.Is(a.raw, c.name) })
		if i < 0 {
			if _, err := s.Value(); err != nil {
				return err
			}
			continue
		}
		if err := a.member(s, &n.children[i]); err != nil {
			return err
		}
		seen++
		if a.left == 0 || n == &a.paths.root && seen == len(n.children) {
			return nil
		}
	}
	return err
}

// member passes a value that is sought, or leads to others that are.
func (a *attributes) member(s *jsonscan.Scanner, to *node) error {
	c, err := s.Peek()
	if err != nil {
		return err
	}
	inner := len(to.children) > 0 && c == '{'
	if inner && to.leaf < 0 {
		return a.walk(s, to)
	}
	v, err := s.Value()
	if err != nil {
		return err
	}
	if to.leaf >= 0 {
		if a.at[to.leaf].Empty() {
			a.left--
		}
		a.at[to.leaf] = v
	}
	if inner {
		in := jsonscan.At(a.raw, v.Start)
		return a.walk(&in, to)
	}
	return nil
}

// kept copies a into memory of its own.
func (a *attributes) kept() attributes {
	own := attributes{paths: a.paths, key: a.key, at: make([]jsonscan.Range, len(a.at))}
	size := 0
	for _, r := range a.at {
		size += r.End - r.Start
	}
	own.raw = make([]byte, 0, size)
	for i, r := range a.at {
		if !r.Empty() {
			from := len(own.raw)
			own.raw = append(own.raw, r.Of(a.raw)...)
			own.at[i] = jsonscan.Range{Start: from, End: len(own.raw)}
		}
	}
	return own
}

// value is a field as selectors write it: a string without quotes, numbers and booleans
// as in JSON.
func (a *attributes) value(i int) string {
	text := a.text(i)
	if or := a.paths.fields[i].Or; text == "" && or != "" {
		return a.text(slices.IndexFunc(a.paths.fields, func(f kubeapi.Field) bool { return f.Name == or }))
	}
	return text
}

// text is value without regard to another place.
func (a *attributes) text(i int) string {
	r := a.at[i+1]
	if r.Empty() {
		return a.paths.fields[i].Absent
	}
	switch a.raw[r.Start] {
	case '"':
		s := jsonscan.At(a.raw, r.Start)
		text, err := s.String()
		if err != nil {
			return ""
		}
		return text.Text(a.raw)
	case '{', '[', 'n':
		return a.paths.fields[i].Absent
	}
	return jsonscan.Str{Range: r}.Text(a.raw)
}

// asLabels shows a to a label selector.
type asLabels struct{ *attributes }

var _ labels.Labels = asLabels{}

// Lookup returns the value of a label and whether it is there.
func (a asLabels) Lookup(label string) (value string, exists bool) {
	r := a.at[0]
	if r.Empty() || a.raw[r.Start] != '{' {
		return "", false
	}
	s := jsonscan.At(a.raw, r.Start)
	more, err := s.EnterObject()
	for ; err == nil && more; more, err = s.NextMember() {
		key, err := s.Key()
		if err != nil {
			break
		}
		if !key.Is(a.raw, label) {
			if _, err := s.Value(); err != nil {
				break
			}
			continue
		}
		text, err := s.String()
		if err != nil {
			break
		}
		return text.Text(a.raw), true
	}
	return "", false
}

// Has reports whether a label is there.
func (a asLabels) Has(label string) bool {
	_, ok := a.Lookup(label)
	return ok
}

// Get returns the value of a label, "" if it is not there.
func (a asLabels) Get(label string) string {
	value, _ := a.Lookup(label)
	return value
}

// asFields shows a to a field selector.
type asFields struct{ *attributes }

var _ fields.Fields = asFields{}

// Has reports whether a field can be selected by.
func (a asFields) Has(name string) bool {
	return name == kubeapi.NameField || name == kubeapi.NamespaceField ||
		slices.ContainsFunc(a.paths.fields, func(f kubeapi.Field) bool { return f.Name == name })
}

// Get returns the value of a field.
func (a asFields) Get(name string) string {
	switch name {
	case kubeapi.NameField:
		return a.key.Name
	case kubeapi.NamespaceField:
		return a.key.Namespace
	}
	for i := range a.paths.fields {
		if a.paths.fields[i].Name == name {
			return a.value(i)
		}
	}
	return ""
}
