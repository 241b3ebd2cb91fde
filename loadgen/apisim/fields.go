package apisim

import (
	"cmp"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
)

// selectable are the fields of a kind, found by the members that lead to them.
type selectable struct {
	all   []kubeapi.Field
	index map[string]int // by name, into the values of a version
	outer map[string][]inner
}

// inner is a member of an outer one, which it is itself if its name is empty.
type inner struct {
	name  string
	index int
}

func newSelectable(r Resource) *selectable {
	f := &selectable{all: r.Fields, index: map[string]int{}, outer: map[string][]inner{}}
	if f.all == nil {
		f.all = kubeapi.BuiltInFields[r.Key()]
	}
	for i, field := range f.all {
		f.index[field.Name] = i
		first, second, _ := strings.Cut(cmp.Or(field.Path, field.Name), ".")
		f.outer[first] = append(f.outer[first], inner{second, i})
	}
	return f
}

func (f *selectable) has(name string) bool {
	_, ok := f.index[name]
	return ok || name == kubeapi.NameField || name == kubeapi.NamespaceField
}

// absent are the values of an empty object.
func (f *selectable) absent() []string {
	if len(f.all) == 0 {
		return nil
	}
	values := make([]string, len(f.all))
	for i := range f.all {
		values[i] = f.all[i].Absent
	}
	return values
}

// read takes from one member of an object what leads to fields.
func (f *selectable) read(values []string, member string, value []byte) {
	wanted := f.outer[member]
	if len(wanted) == 0 {
		return
	}
	for _, w := range wanted {
		if w.name == "" {
			values[w.index] = literal(value)
		}
	}
	for name, v := range jsonscan.Members(value) {
		i := slices.IndexFunc(wanted, func(w inner) bool { return w.name != "" && w.name == string(name[1:len(name)-1]) })
		if i >= 0 {
			values[wanted[i].index] = literal(v)
		}
	}
}

// literal is a value as selectors write it: strings without quotes, others as in JSON.
func literal(v []byte) string {
	if jsonscan.IsString(v) {
		return shared(jsonscan.Unquote(v))
	}
	return shared(string(v))
}
