package spec

import (
	"cmp"
	"encoding"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/strictyaml"
	"github.com/watchbench/watchbench/internal/units"
)

// fixed are the fields that no axis can set, as each holds for the whole run: why, and what
// to do instead. What is below one of them is as fixed.
var fixed = map[string]struct{ why, remedy string }{
	"apiVersion": {"it is that of the file", "set it outside of matrix"},
	"kind":       {"it is that of the file", "set it outside of matrix"},
	"metadata": {"it names the run, not a cell",
		"set it outside of matrix; the points of an axis name the cells"},
	"cluster.provider":    {oneCluster, oneRunEach},
	"cluster.fsync":       {oneCluster, oneRunEach},
	"cluster.controllers": {oneCluster, oneRunEach},
	"repeat": {"it says how often the matrix is run",
		"set it outside of matrix; with repeatOnce a point is run once"},
	"repeatOnce": {"it says how often the matrix is run", "set it outside of matrix"},
	"decide":     {"it says how often the matrix is run", "set it outside of matrix"},
	"only":       {"it says which points of the matrix are run", "set it outside of matrix"},
	"pair":       {"it says in which order the matrix is run", "set it outside of matrix"},
	"ladder":     {"it says in which order the matrix is run", "set it outside of matrix"},
	"seed": {"the order of the cells is drawn with it, and each repetition of a point has a seed of its own",
		"use repeat"},
	"thresholds": {"it judges the points, all by the same bounds",
		"set it outside of matrix, and choose the points with --set"},
	"expect": {"it judges the cells and changes none",
		"set it outside of matrix, by strategy where they differ"},
}

const (
	oneCluster = "a run has one cluster, which is up before its first cell"
	oneRunEach = "set it outside of matrix, and run the scenario once for each value"
)

// whole says of which fixed field a path is, or which it sets, and why that cannot be swept;
// why is empty for a field that can.
func whole(path string) (field, why, remedy string) {
	for f, x := range fixed {
		if path == f || strings.HasPrefix(path, f+".") {
			return f, x.why, x.remedy
		}
	}
	return "", "", ""
}

// shape is how a field is written, and so how its points are.
type shape int

const (
	oneValue     shape = iota // points are values
	listOfValues              // points have names, and each is a list
	section                   // points have names, and each sets some fields
)

// checkPath says what a dotted path names, and of which type it is.
func (f *File) checkPath(n *yaml.Node, path, field string) (shape, reflect.Type, error) {
	typ := reflect.TypeFor[Scenario]()
	done := ""
	for _, part := range strings.Split(path, ".") {
		switch shapeOf(typ) {
		case listOfValues:
			return 0, nil, f.tree.Fail(n, field, done+" is a list, of which no part can be swept alone",
				"name whole lists: "+done+": {a: [], b: […]}")
		case oneValue:
			return 0, nil, f.tree.Fail(n, field, done+" has no fields", "give the path of a field of the scenario")
		}
		at, ok := strictyaml.FieldByName(typ, part)
		if !ok {
			return 0, nil, f.tree.Fail(n, field, "unknown field", cmp.Or(retired[path],
				strictyaml.UnknownField(typ, done, part)))
		}
		done = strings.TrimPrefix(done+"."+part, ".")
		if name, why, remedy := whole(done); why != "" {
			return 0, nil, f.tree.Fail(n, field, name+" cannot be swept: "+why, remedy)
		}
		if typ = at.Type; typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
	}
	return shapeOf(typ), typ, nil
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

// latencyPath is a text that may be a duration, and then counts like one.
const latencyPath = "storage.latency"

var quantities = map[reflect.Type]units.Quantity{
	reflect.TypeFor[Duration](): units.Durations, reflect.TypeFor[Size](): units.Sizes,
	reflect.TypeFor[Share]():       units.Shares,
	reflect.TypeFor[units.Speed](): units.Speeds,
	reflect.TypeFor[int]():         units.WholeNumbers, reflect.TypeFor[int64](): units.WholeNumbers,
	reflect.TypeFor[uint64]():  units.WholeNumbers,
	reflect.TypeFor[float64](): units.Numbers,
}

// quantityOf is a field's unit, so that a range can expand to several of its values.
func quantityOf(path string, typ reflect.Type) (units.Quantity, bool) {
	if path == latencyPath {
		return units.Durations, true
	}
	q, ok := quantities[typ]
	return q, ok
}
