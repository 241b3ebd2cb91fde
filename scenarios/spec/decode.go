package spec

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/spelling"
)

// decoder fills typed values from a tree and remembers where each came from, so
// that a later check can name the line.
type decoder struct {
	*tree
	places map[string]*yaml.Node
	out    Scenario
}

// nodeDecoder is a type with more than one notation.
type nodeDecoder interface {
	decodeNode(d *decoder, n *yaml.Node, path string) error
}

func (d *decoder) decode(n *yaml.Node, v reflect.Value, path string) error {
	if path != "" {
		d.places[path] = n
	}
	switch x := v.Addr().Interface().(type) {
	case nodeDecoder:
		return x.decodeNode(d, n, path)
	case encoding.TextUnmarshaler:
		if n.Kind != yaml.ScalarNode {
			return d.fail(n, path, "not one value", "write one value there")
		}
		if err := x.UnmarshalText([]byte(n.Value)); err != nil {
			problem, remedy, _ := strings.Cut(err.Error(), "; ")
			return d.fail(n, path, problem, remedy)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if isNull(n) {
			v.SetZero()
			return nil
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.decode(n, v.Elem(), path)
	case reflect.Struct:
		return d.decodeStruct(n, v, path)
	case reflect.Map:
		return d.decodeMap(n, v, path)
	case reflect.Slice:
		return d.decodeSlice(n, v, path)
	}
	return d.decodeScalar(n, v, path)
}

func (d *decoder) decodeStruct(n *yaml.Node, v reflect.Value, path string) error {
	if isNull(n) {
		return nil // an empty section keeps its defaults
	}
	if n.Kind != yaml.MappingNode {
		return d.fail(n, path, "not a mapping", "write fields below it: "+strings.Join(fieldNames(v.Type()), ", "))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		idx, ok := fieldIndex(v.Type(), key.Value)
		if !ok {
			names := fieldNames(v.Type())
			remedy := "the fields there are " + strings.Join(names, ", ")
			if near := spelling.Nearest(key.Value, names); near != "" {
				remedy = "did you mean " + near + "?"
			}
			return d.fail(key, join(path, key.Value), "unknown field", remedy)
		}
		if err := d.decode(val, v.Field(idx), join(path, key.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) decodeMap(n *yaml.Node, v reflect.Value, path string) error {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return d.fail(n, path, "not a mapping", "write key: value pairs below it")
	}
	m := reflect.MakeMap(v.Type())
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(val, elem, join(path, key.Value)); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(key.Value), elem)
	}
	v.Set(m)
	return nil
}

func (d *decoder) decodeSlice(n *yaml.Node, v reflect.Value, path string) error {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return d.fail(n, path, "not a list", "write [a, b]")
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		if err := d.decode(c, out.Index(i), path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

func (d *decoder) decodeScalar(n *yaml.Node, v reflect.Value, path string) error {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		what := map[yaml.Kind]string{yaml.SequenceNode: "a list", yaml.MappingNode: "a mapping", yaml.ScalarNode: "nothing"}[n.Kind]
		remedy := "write one value"
		if n.Kind == yaml.SequenceNode {
			remedy += "; to try several, use matrix with the key " + path
		}
		return d.fail(n, path, what+" where one value is wanted", remedy)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(n.Value)
	case reflect.Bool:
		b, err := strconv.ParseBool(n.Value)
		if err != nil {
			return d.fail(n, path, fmt.Sprintf("%q is neither true nor false", n.Value), "write true or false")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if err != nil {
			return d.fail(n, path, fmt.Sprintf("%q is not a whole number", n.Value), "write digits only, for example 30")
		}
		v.SetInt(i)
	case reflect.Uint64:
		u, err := strconv.ParseUint(n.Value, 10, 64)
		if err != nil {
			return d.fail(n, path, fmt.Sprintf("%q is not a whole number from 0", n.Value), "write digits only, for example 42")
		}
		v.SetUint(u)
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return d.fail(n, path, fmt.Sprintf("%q is not a number", n.Value), "write for example 2.5")
		}
		v.SetFloat(f)
	default:
		panic("spec: field " + path + " has a type the decoder does not read: " + v.Type().String())
	}
	return nil
}

// locate turns a problem found in typed values into one with its place.
func (d *decoder) locate(err error) error {
	var fe *fieldError
	if !errors.As(err, &fe) {
		return err
	}
	n := d.places[fe.path]
	for path := fe.path; n == nil; n = d.places[path] {
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			break
		}
		path = path[:i]
	}
	return d.fail(n, fe.path, fe.problem, fe.remedy)
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		names = append(names, fieldName(t.Field(i)))
	}
	return names
}

func fieldIndex(t reflect.Type, name string) (int, bool) {
	i := slices.Index(fieldNames(t), name)
	return i, i >= 0 && name != ""
}

func sortedKeys[M ~map[string]V, V any](m M) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
