package strictyaml

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/watchbench/watchbench/internal/badinput"
)

// NodeDecoder is a type with more than one notation. It fails with d.Fail and
// records the places of its parts with d.Mark.
type NodeDecoder interface {
	DecodeYAML(d *Decoder, n *yaml.Node, path string) error
}

// Decoder fills typed values from a tree and remembers where each field is written.
type Decoder struct {
	*Tree
	at map[string]*yaml.Node
}

// Mark records that the field of that path is written at n.
func (d *Decoder) Mark(path string, n *yaml.Node) { d.at[path] = n }

// Written reports whether the field of that path is in the tree.
func (d *Decoder) Written(path string) bool { return d.at[path] != nil }

// Decode fills the value that into points at, over what it holds already, from a
// mapping of the tree. Errors are *Error.
func (t *Tree) Decode(root *yaml.Node, into any) (*Decoder, error) {
	d := &Decoder{Tree: t, at: map[string]*yaml.Node{}}
	return d, d.decode(root, reflect.ValueOf(into).Elem(), "")
}

// Locate turns a *FieldError in err into an *Error with its place: that of the field,
// or of the nearest section around it that is written. Other errors stay as they are.
func (d *Decoder) Locate(err error) error {
	fe, ok := errors.AsType[*FieldError](err)
	if !ok {
		return err
	}
	path := fe.Path
	for d.at[path] == nil && path != "" {
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return &Error{Place: d.place(d.at[path]), Field: fe.Path, Problem: fe.Problem, Remedy: fe.Remedy}
}

func (d *Decoder) decode(n *yaml.Node, v reflect.Value, path string) error {
	if path != "" {
		d.Mark(path, n)
	}
	switch x := v.Addr().Interface().(type) {
	case NodeDecoder:
		return x.DecodeYAML(d, n, path)
	case encoding.TextUnmarshaler:
		return d.decodeText(n, x, path)
	}
	if v.Kind() == reflect.Pointer && !IsNull(n) {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return d.decode(n, v.Elem(), path)
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.SetZero()
		return nil
	case reflect.Struct, reflect.Map, reflect.Slice:
		if IsNull(n) {
			return nil // an empty section keeps its defaults
		}
	}
	switch v.Kind() {
	case reflect.Struct:
		return d.decodeStruct(n, v, path)
	case reflect.Map:
		return d.decodeMap(n, v, path)
	case reflect.Slice:
		return d.decodeSlice(n, v, path)
	}
	return d.decodeScalar(n, v, path)
}

func (d *Decoder) decodeText(n *yaml.Node, dst encoding.TextUnmarshaler, path string) error {
	if n.Kind != yaml.ScalarNode {
		return d.Fail(n, path, "not one value", "write one value there")
	}
	if err := dst.UnmarshalText([]byte(n.Value)); err != nil {
		problem, remedy, _ := strings.Cut(err.Error(), "; ")
		return d.Fail(n, path, problem, remedy)
	}
	return nil
}

func (d *Decoder) decodeStruct(n *yaml.Node, v reflect.Value, path string) error {
	if n.Kind != yaml.MappingNode {
		return d.Fail(n, path, "not a mapping", "write fields below it: "+strings.Join(FieldNames(v.Type()), ", "))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		field, ok := FieldByName(v.Type(), key.Value)
		if !ok {
			at, prefix := join(path, key.Value), ""
			if key.Line < 0 { // an override, whose path is whole
				prefix = path
			}
			return d.Fail(key, at, "unknown field", cmp.Or(d.format.Retired[at], d.format.Retired["*."+key.Value],
				UnknownField(v.Type(), prefix, key.Value)))
		}
		if err := d.decode(val, v.FieldByIndex(field.Index), join(path, key.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) decodeMap(n *yaml.Node, v reflect.Value, path string) error {
	if n.Kind != yaml.MappingNode {
		return d.Fail(n, path, "not a mapping", "write key: value pairs below it")
	}
	sections := v.Type().Elem().Kind() == reflect.Struct // each keeps what is not written
	if !sections {
		v.SetZero() // an empty mapping is the same as none
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		elem := reflect.New(v.Type().Elem()).Elem()
		if was := v.MapIndex(reflect.ValueOf(key.Value)); sections && was.IsValid() {
			elem.Set(was)
		}
		if err := d.decode(val, elem, join(path, key.Value)); err != nil {
			return err
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(key.Value), elem)
	}
	return nil
}

func (d *Decoder) decodeSlice(n *yaml.Node, v reflect.Value, path string) error {
	if n.Kind != yaml.SequenceNode {
		return d.Fail(n, path, "not a list", "write [a, b]")
	}
	v.SetZero() // an empty list is the same as none
	for i, c := range n.Content {
		elem := reflect.New(v.Type().Elem()).Elem()
		if err := d.decode(c, elem, path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
		v.Set(reflect.Append(v, elem))
	}
	return nil
}

func (d *Decoder) decodeScalar(n *yaml.Node, v reflect.Value, path string) error {
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		what := map[yaml.Kind]string{yaml.SequenceNode: "a list", yaml.MappingNode: "a mapping",
			yaml.ScalarNode: "nothing"}[n.Kind]
		remedy := "write one value"
		if n.Kind == yaml.SequenceNode && d.format.Several != nil {
			remedy += "; " + d.format.Several(path)
		}
		return d.Fail(n, path, what+" where one value is wanted", remedy)
	}
	switch v.Kind() {
	case reflect.String:
		if d.format.QuotedText && n.Tag != "!!str" {
			return d.Fail(n, path, n.Value+" is not text", "put it in quotes")
		}
		v.SetString(n.Value)
	case reflect.Bool:
		b, err := strconv.ParseBool(n.Value)
		if err != nil {
			return d.Fail(n, path, fmt.Sprintf("%q is neither true nor false", n.Value), "write true or false")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if err != nil {
			return d.Fail(n, path, fmt.Sprintf("%q is not a whole number", n.Value), "write digits only, for example 30")
		}
		v.SetInt(i)
	case reflect.Uint64:
		u, err := strconv.ParseUint(n.Value, 10, 64)
		if err != nil {
			return d.Fail(n, path, fmt.Sprintf("%q is not a whole number from 0", n.Value), "write digits only, for example 42")
		}
		v.SetUint(u)
	case reflect.Float64:
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			remedy := "write for example 2.5"
			if percent, err := strconv.ParseFloat(strings.TrimSuffix(n.Value, "%"), 64); err == nil &&
				strings.HasSuffix(n.Value, "%") {
				remedy = fmt.Sprintf("write a part of a whole as a fraction, here %v", percent/100)
			}
			return d.Fail(n, path, fmt.Sprintf("%q is not a number", n.Value), remedy)
		}
		v.SetFloat(f)
	default:
		panic("strictyaml: field " + path + " has a type the decoder does not read: " + v.Type().String())
	}
	return nil
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// UnknownField is the advice to a user who wrote name where t has no such field: the
// one that was probably meant, with the prefix before it, or all that there are.
func UnknownField(t reflect.Type, prefix, name string) string {
	names := FieldNames(t)
	if near := badinput.Nearest(name, names); near != "" {
		return "did you mean " + join(prefix, near) + "?"
	}
	return "the fields there are " + strings.Join(names, ", ")
}

// FieldNames lists the fields of a struct as files name them, in the order of their
// declaration; those of an embedded struct take its place.
func FieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if name := fieldName(f); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// FieldByName finds the field of a struct that files name so.
func FieldByName(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		if name != "" && fieldName(f) == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
