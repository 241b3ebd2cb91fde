package object

import (
	"fmt"
	"slices"
	"strings"
)

// Mask is a field that must not leave: it is deleted before an object is cached.
type Mask struct {
	Kind      string
	Namespace string // empty: all
	Path      []string
}

// identity are the paths that identify an object.
var identity = [][]string{
	{"apiVersion"}, {"kind"}, {"metadata"},
	{"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "uid"}, {"metadata", "resourceVersion"},
}

// Validate refuses a mask that could not work.
func (m Mask) Validate() error {
	switch {
	case m.Kind == "":
		return fmt.Errorf("mask %s: no kind", strings.Join(m.Path, "."))
	case len(m.Path) == 0:
		return fmt.Errorf("mask for kind %s: empty path", m.Kind)
	case slices.Contains(m.Path, ""):
		return fmt.Errorf("mask for kind %s: empty segment in path %q", m.Kind, m.Path)
	}
	for _, path := range identity {
		if slices.Equal(path, m.Path) {
			return fmt.Errorf("mask for kind %s: %s identifies the object and cannot be removed", m.Kind,
				strings.Join(path, "."))
		}
	}
	return nil
}
