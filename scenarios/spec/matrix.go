package spec

import (
	"cmp"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/expr"
	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/internal/units"
)

// MaxCells bounds the points of the matrix, whatever repeat says; at some ten seconds a cell
// this is an hour for each repetition.
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

func (f *File) parseMatrix(n *yaml.Node) ([]axis, error) {
	if n == nil || strictyaml.IsNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, f.tree.Fail(n, "matrix", "not a mapping",
			"write a field's path and its values, for example watcher.strategy: [single, keyed]")
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
	kind, err := f.checkPath(key, key.Value, field)
	if err != nil {
		return axis{}, err
	}
	switch {
	case kind == oneValue && val.Kind == yaml.SequenceNode:
		for _, n := range val.Content {
			if n.Kind != yaml.ScalarNode || strictyaml.IsNull(n) {
				return axis{}, f.tree.Fail(n, field, "a point that is not one value", "write a list of values, for example [1, 2]")
			}
			a.points = append(a.points, point{label: n.Value, value: n})
		}
	case kind == oneValue && val.Kind == yaml.ScalarNode && rangeForm.MatchString(val.Value):
		a.points = []point{{label: val.Value, value: val}} // refused below
	case kind != oneValue && val.Kind == yaml.MappingNode:
		a.named = true
		for j := 0; j+1 < len(val.Content); j += 2 {
			name, value := val.Content[j], val.Content[j+1]
			if err := f.checkNamed(kind, key.Value, name.Value, value); err != nil {
				return axis{}, err
			}
			a.points = append(a.points, point{label: name.Value, value: value})
		}
	case kind == oneValue:
		return axis{}, f.tree.Fail(val, field, "not a list",
			"write the values of "+key.Value+" in brackets, for example ["+val.Value+"]")
	case kind == listOfValues:
		return axis{}, f.tree.Fail(val, field, key.Value+" is a list, so its points need names",
			"write "+key.Value+": {a: [], b: […]}")
	default:
		return axis{}, f.tree.Fail(val, field, key.Value+" is a section, so its points need names",
			"write "+key.Value+": {a: {…}, b: {…}}")
	}
	return a, f.checkPoints(a)
}

// checkNamed looks at a named point of a section or of a list.
func (f *File) checkNamed(kind shape, path, name string, value *yaml.Node) error {
	field := "matrix." + path + "." + name
	if kind == listOfValues {
		if value.Kind != yaml.SequenceNode {
			return f.tree.Fail(value, field, "not a list", "write "+name+": [a, b]")
		}
		return nil
	}
	if value.Kind != yaml.MappingNode || len(value.Content) == 0 {
		return f.tree.Fail(value, field, "a point without fields",
			"write the fields of "+path+" it sets, for example "+name+": {threads: 10}")
	}
	set := map[string]*yaml.Node{}
	leaves(path, value, set)
	for _, leaf := range slices.Sorted(maps.Keys(set)) {
		if name := whole(leaf); name != "" {
			return f.failWhole(set[leaf], field, name)
		}
	}
	return nil
}

// rangeForm is how former versions wrote several values.
var rangeForm = regexp.MustCompile(`^\s*[\d.]+\S*\.\.\s*[\d.]+\S*\s*[*+]\s*[\d.]+\S*$`)

// checkPoints refuses indistinguishable points, of an axis of values those as well that are written differently.
func (f *File) checkPoints(a axis) error {
	field := "matrix." + a.path
	if len(a.points) == 0 {
		return f.tree.Fail(a.node, field, "no points, so there is nothing to run",
			"give it at least one, or take the axis away")
	}
	values, seen := map[string]string{}, map[string]bool{}
	for _, p := range a.points {
		value := valueOf(p.label)
		switch {
		case rangeForm.MatchString(p.label):
			return f.tree.Fail(p.value, field, "the range "+p.label+" is not read", "write its values, for example [1, 2, 4, 8]")
		case seen[p.label]:
			return f.tree.Fail(p.value, field, fmt.Sprintf("the point %q is there twice", p.label),
				"keep one; use repeat to measure again")
		case slug(p.label) == "":
			return f.tree.Fail(p.value, field, fmt.Sprintf("the point %q has neither letters nor digits", p.label), "rename it")
		case !a.named && values[value] != "":
			return f.tree.Fail(p.value, field, fmt.Sprintf("the points %s and %s are the same", values[value], p.label),
				"keep one; use repeat to measure again")
		}
		seen[p.label], values[value] = true, p.label
	}
	return nil
}

// valueOf is a text that is equal for values that are, however they are written.
func valueOf(label string) string {
	for i, q := range []units.Quantity{units.Numbers, units.Durations, units.Sizes, units.Shares, units.Speeds} {
		if v, ok := q.Value(label); ok {
			return fmt.Sprint(i, v)
		}
	}
	return label
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

// choose applies --set matrix.AXIS=a,b: the named points to keep, or an axis' new values.
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
		return f.checkPoints(axis{path: name, named: true, points: keep, node: at})
	}
	kind, err := f.checkPath(at, name, field)
	if err != nil {
		return err
	}
	if kind != oneValue {
		return f.tree.Fail(at, field, "the file has no named points for it", "add them to the file's matrix")
	}
	a := axis{path: name, node: at}
	for _, v := range values {
		a.points = append(a.points, point{v, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v, Line: at.Line}})
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

// setInPoint applies --set matrix.AXIS.POINT.FIELD=value, and reports whether there is such a point.
func (f *File) setInPoint(i int, name, text string) (bool, error) {
	at := &yaml.Node{Line: strictyaml.OverrideLine(i)}
	for j, a := range f.axes {
		for k, p := range a.points {
			field, ok := strings.CutPrefix(name, a.path+"."+p.label+".")
			if !ok || p.value.Kind != yaml.MappingNode {
				continue
			}
			if _, err := f.checkPath(at, a.path+"."+field, "matrix."+name); err != nil {
				return true, err
			}
			value, err := f.tree.ParseOverride(i, text)
			if err != nil {
				return true, f.tree.Fail(at, "matrix."+name, "the value is not YAML", "quote it: --set 'matrix."+name+"=…'")
			}
			p.value = strictyaml.Clone(p.value)
			strictyaml.Put(p.value, field, value)
			f.axes[j].points = slices.Clone(a.points)
			f.axes[j].points[k] = p
			return true, nil
		}
	}
	return false, nil
}

// fillCommand gives the points with an OpenCommand the one of an override. It reports whether there are any.
func (f *File) fillCommand(command *yaml.Node) (filled bool) {
	for i, a := range f.axes {
		f.axes[i].points = slices.Clone(a.points)
		for j, p := range a.points {
			set := map[string]*yaml.Node{}
			leaves(a.path, p.value, set)
			if c := set[commandPath]; c != nil && c.Value == OpenCommand {
				if p.value = strictyaml.Clone(p.value); a.path == commandPath {
					p.value = command
				} else {
					strictyaml.Put(p.value, "command", command)
				}
				f.axes[i].points[j], filled = p, true
			}
		}
	}
	return filled
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

// fixed are the fields that no axis can set, as each holds for the whole run. What is below one of them is as fixed.
var fixed = []string{
	"apiVersion", "kind", "metadata", "cluster.provider", "cluster.fsync", "cluster.controllers", "cluster.gates",
	"repeat", "repeatOnce",
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
