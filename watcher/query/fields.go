package query

import (
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// selectable are the fields of a kind.
type selectable struct {
	all   []kubeapi.Field
	paths *paths // to all of them
}

// labelsOnly is of kinds without fields of their own.
var labelsOnly = newSelectable(nil)

func newSelectable(all []kubeapi.Field) *selectable { return &selectable{all, newPaths(all)} }

// allSelectable are the fields of all kinds that have any, by resource.
func allSelectable(indexes map[string][]string) map[string]*selectable {
	all := map[string][]kubeapi.Field{}
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
	selectables := make(map[string]*selectable, len(all))
	for r, fields := range all {
		selectables[r] = newSelectable(fields)
	}
	return selectables
}

func (s *selectable) find(name string) (kubeapi.Field, bool) {
	i := slices.IndexFunc(s.all, func(f kubeapi.Field) bool { return f.Name == name })
	if i < 0 {
		return kubeapi.Field{}, false
	}
	return s.all[i], true
}

// names are all that a selector may use, for an error.
func (s *selectable) names() string {
	names := []string{kubeapi.NameField, kubeapi.NamespaceField}
	for _, f := range s.all {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
