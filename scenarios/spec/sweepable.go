package spec

import (
	"cmp"
	"encoding"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/strictyaml"
)

// fixed are the fields that no axis can set, as each holds for the whole run. What is below one of them is as fixed.
var fixed = []string{
	"apiVersion", "kind", "metadata", "cluster.provider", "cluster.fsync", "cluster.controllers", "repeat", "repeatOnce",
	"decide", "only", "pair", "ladder", "seed", "thresholds", "expect",
}

// whole says which fixed field a path is in; empty for one that can be swept.
func whole(path string) string {
	for _, f := range fixed {
		if path == f || strings.HasPrefix(path, f+".") {
			return f
		}
	}
	return ""
}

func (f *File) failWhole(n *yaml.Node, field, name string) error {
	return f.tree.Fail(n, field, name+" cannot be swept: it holds for the whole run",
		"set it outside of matrix, and run the scenario once for each value")
}

// shape is how a field is written, and so how its points are.
type shape int

const (
	oneValue     shape = iota // points are values
	listOfValues              // points have names, and each is a list
	section                   // points have names, and each sets some fields
)

// checkPath says how the field is written that a dotted path names.
func (f *File) checkPath(n *yaml.Node, path, field string) (shape, error) {
	typ := reflect.TypeFor[Scenario]()
	done := ""
	for _, part := range strings.Split(path, ".") {
		switch shapeOf(typ) {
		case listOfValues:
			return 0, f.tree.Fail(n, field, done+" is a list, of which no part can be swept alone",
				"name whole lists: "+done+": {a: [], b: […]}")
		case oneValue:
			return 0, f.tree.Fail(n, field, done+" has no fields", "give the path of a field of the scenario")
		}
		at, ok := strictyaml.FieldByName(typ, part)
		if !ok {
			return 0, f.tree.Fail(n, field, "unknown field", cmp.Or(retired[path],
				strictyaml.UnknownField(typ, done, part)))
		}
		done = strings.TrimPrefix(done+"."+part, ".")
		if name := whole(done); name != "" {
			return 0, f.failWhole(n, field, name)
		}
		if typ = at.Type; typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
	}
	return shapeOf(typ), nil
}

// shapeOf is how values of a type are written. A struct with a notation of its own, such as a
// distribution, is one value.
func shapeOf(typ reflect.Type) shape {
	_, text := reflect.New(typ).Interface().(encoding.TextUnmarshaler)
	_, node := reflect.New(typ).Interface().(strictyaml.NodeDecoder)
	switch {
	case text || node:
		return oneValue
	case typ.Kind() == reflect.Slice:
		return listOfValues
	case typ.Kind() == reflect.Struct || typ.Kind() == reflect.Map:
		return section
	}
	return oneValue
}
