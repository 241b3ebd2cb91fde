package spec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/expr"
	"github.com/watchbench/watchbench/internal/strictyaml"
)

// MaxCells bounds the matrix; at some ten seconds a cell this is an hour.
const MaxCells = 400

// axis is one key of the matrix: the path it sets and the points it takes.
type axis struct {
	path   string
	named  bool // points are named mappings rather than values
	points []point
	node   *yaml.Node
}

type point struct {
	label string
	value *yaml.Node
}

type assignment struct {
	path  string
	value *yaml.Node
}

// notSwept are sections that hold for the run as a whole.
var notSwept = []string{"apiVersion", "kind", "metadata", "cluster", "repeat", "repeatOnce", "only", "ladder", "matrix", "expect", "thresholds", "seed", "events", "extra"}

func (f *File) parseMatrix(n *yaml.Node) ([]axis, error) {
	if n == nil || strictyaml.IsNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, f.tree.Fail(n, "matrix", "not a mapping", "write a field's path and its values, for example watcher.strategy: [single, keyed]")
	}
	var axes []axis
	for i := 0; i+1 < len(n.Content); i += 2 {
		a, err := f.parseAxis(n.Content[i], n.Content[i+1])
		if err != nil {
			return nil, err
		}
		axes = append(axes, a)
	}
	return axes, nil
}

func (f *File) parseAxis(key, val *yaml.Node) (axis, error) {
	field := "matrix." + key.Value
	a := axis{path: key.Value, node: key}
	leaf, err := f.checkPath(key, key.Value, field)
	if err != nil {
		return axis{}, err
	}
	switch {
	case leaf && val.Kind == yaml.SequenceNode:
		for _, p := range val.Content {
			if p.Kind != yaml.ScalarNode || strictyaml.IsNull(p) {
				return axis{}, f.tree.Fail(p, field, "a point that is not one value", "write a list of values, for example [1, 2]")
			}
			a.points = append(a.points, point{label: p.Value, value: p})
		}
	case !leaf && val.Kind == yaml.MappingNode:
		a.named = true
		for j := 0; j+1 < len(val.Content); j += 2 {
			name, fields := val.Content[j], val.Content[j+1]
			if fields.Kind != yaml.MappingNode || len(fields.Content) == 0 {
				return axis{}, f.tree.Fail(fields, field+"."+name.Value, "a point without fields",
					"write the fields of "+key.Value+" it sets, for example "+name.Value+": {threads: 10}")
			}
			a.points = append(a.points, point{label: name.Value, value: fields})
		}
	case leaf:
		return axis{}, f.tree.Fail(val, field, "not a list", "write the values of "+key.Value+" in brackets, for example ["+val.Value+"]")
	default:
		return axis{}, f.tree.Fail(val, field, key.Value+" is a section, so its points need names", "write "+key.Value+": {a: {…}, b: {…}}")
	}
	return a, f.checkPoints(a)
}

func (f *File) checkPoints(a axis) error {
	field := "matrix." + a.path
	if len(a.points) == 0 {
		return f.tree.Fail(a.node, field, "no points, so there is nothing to run", "give it at least one, or take the axis away")
	}
	seen := map[string]bool{}
	for _, p := range a.points {
		if seen[p.label] {
			return f.tree.Fail(p.value, field, fmt.Sprintf("the point %q is there twice", p.label), "keep one; use repeat to measure again")
		}
		seen[p.label] = true
		if slug(p.label) == "" {
			return f.tree.Fail(p.value, field, fmt.Sprintf("the point %q has neither letters nor digits", p.label), "rename it")
		}
	}
	return nil
}

// checkPath says whether a dotted path names a single value (true) or a section.
func (f *File) checkPath(n *yaml.Node, path, field string) (bool, error) {
	typ := reflect.TypeFor[Scenario]()
	done := ""
	for _, part := range strings.Split(path, ".") {
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return false, f.tree.Fail(n, field, done+" has no fields", "give the path of a field of the scenario")
		}
		at, ok := strictyaml.FieldByName(typ, part)
		if !ok {
			return false, f.tree.Fail(n, field, "unknown field", strictyaml.UnknownField(typ, done, part))
		}
		done = strings.TrimPrefix(done+"."+part, ".")
		if slices.Contains(notSwept, done) {
			return false, f.tree.Fail(n, field, done+" holds for the whole run", "it cannot be swept; set it outside of matrix")
		}
		typ = at.Type
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return typ.Kind() != reflect.Struct && typ.Kind() != reflect.Map, nil
}

// checkOverlap refuses two axes that set the same field: one would silently win.
func (f *File) checkOverlap() error {
	owner := map[string]string{}
	for _, a := range f.axes {
		paths := map[string]*yaml.Node{}
		for _, p := range a.points {
			leaves(a.path, p.value, paths)
		}
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			for _, other := range slices.Sorted(maps.Keys(owner)) {
				by := owner[other]
				if path == other || strings.HasPrefix(path, other+".") || strings.HasPrefix(other, path+".") {
					return f.tree.Fail(paths[path], "matrix."+a.path, fmt.Sprintf("%s is set by the axis %s as well", path, by),
						"let one axis set it")
				}
			}
		}
		for path := range paths {
			owner[path] = a.path
		}
	}
	return nil
}

func leaves(path string, n *yaml.Node, into map[string]*yaml.Node) {
	if n.Kind != yaml.MappingNode {
		if into[path] == nil {
			into[path] = n
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		leaves(path+"."+n.Content[i].Value, n.Content[i+1], into)
	}
}

// choose applies --set matrix.<axis>=a,b: of named points the ones to keep, of a
// plain axis its new values; an axis that is not there is added.
func (f *File) choose(at *yaml.Node, name, text string) error {
	field := "matrix." + name
	var values []string
	for _, v := range expr.Split(strings.Trim(text, "[]"), ',') {
		if v = strings.TrimSpace(v); v != "" {
			values = append(values, v)
		}
	}
	i := slices.IndexFunc(f.axes, func(a axis) bool { return a.path == name })
	if i >= 0 && f.axes[i].named {
		var keep []point
		var names []string
		for _, p := range f.axes[i].points {
			names = append(names, p.label)
		}
		for _, v := range values {
			j := slices.Index(names, v)
			if j < 0 {
				return f.tree.Fail(at, field, fmt.Sprintf("no point is called %q", v), oneOf(names))
			}
			keep = append(keep, f.axes[i].points[j])
		}
		f.axes[i].points = keep
		return f.checkPoints(axis{path: name, points: keep, node: at})
	}
	leaf, err := f.checkPath(at, name, field)
	if err != nil {
		return err
	}
	if !leaf {
		return f.tree.Fail(at, field, "the file has no named points for it", "add them to the file's matrix")
	}
	a := axis{path: name, node: at}
	for _, v := range values {
		a.points = append(a.points, point{label: v, value: &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v, Line: at.Line}})
	}
	if err := f.checkPoints(a); err != nil {
		return err
	}
	if i >= 0 {
		f.axes[i] = a
	} else {
		f.axes = append(f.axes, a)
	}
	return nil
}

// slug makes a label safe as part of a folder's name.
func slug(label string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(label) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
		if b.Len() >= 40 {
			break
		}
	}
	return strings.Trim(b.String(), "_.")
}
