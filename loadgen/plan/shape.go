package plan

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// checkShape holds a YAML tree against the Go type it will be decoded into. The
// decoder itself would cut 2.5 to 2, and its errors about sizes and durations have
// no line. Errors begin with the line number.
func checkShape(node ast.Node, t reflect.Type, field string) error {
	if t.Kind() == reflect.Pointer {
		if node.Type() == ast.NullType {
			return nil
		}
		return checkShape(node, t.Elem(), field)
	}
	if _, ok := reflect.New(t).Interface().(encoding.TextUnmarshaler); ok {
		return checkText(node, t, field)
	}
	switch t.Kind() {
	case reflect.Struct:
		return checkStruct(node, t, field)
	case reflect.Slice:
		list, ok := node.(*ast.SequenceNode)
		if !ok {
			return shapeError(node, field, "a list")
		}
		for i, item := range list.Values {
			if err := checkShape(item, t.Elem(), fmt.Sprintf("%s[%d]", field, i)); err != nil {
				return err
			}
		}
		return nil
	case reflect.String:
		return wantType(node, field, "text (in quotes if it looks like a number)", ast.StringType, ast.LiteralType)
	case reflect.Float64:
		return wantType(node, field, "a number", ast.IntegerType, ast.FloatType, ast.NanType)
	default:
		return wantType(node, field, "a whole number", ast.IntegerType)
	}
}

func checkText(node ast.Node, t reflect.Type, field string) error {
	scalar, ok := node.(ast.ScalarNode)
	if !ok || node.Type() == ast.NullType || node.Type() == ast.TagType {
		return shapeError(node, field, "a number with a unit")
	}
	text := scalar.GetToken().Value
	if err := reflect.New(t).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		return fmt.Errorf("%d: %s: %w", line(node), field, err)
	}
	return nil
}

func checkStruct(node ast.Node, t reflect.Type, field string) error {
	var entries []*ast.MappingValueNode
	switch m := node.(type) {
	case *ast.MappingNode:
		entries = m.Values
	case *ast.MappingValueNode:
		entries = []*ast.MappingValueNode{m}
	default:
		return shapeError(node, field, "a mapping of field: value")
	}
	types := map[string]reflect.Type{}
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		types[name] = t.Field(i).Type
		names = append(names, name)
	}
	for _, entry := range entries {
		name := entry.Key.GetToken().Value
		path := strings.TrimPrefix(field+"."+name, ".")
		fieldType, ok := types[name]
		if !ok {
			return fmt.Errorf("%d: unknown field %q: use one of %s", line(entry.Key), path, strings.Join(names, ", "))
		}
		if err := checkShape(entry.Value, fieldType, path); err != nil {
			return err
		}
	}
	return nil
}

func wantType(node ast.Node, field, want string, types ...ast.NodeType) error {
	for _, t := range types {
		if node.Type() == t {
			return nil
		}
	}
	return shapeError(node, field, want)
}

func shapeError(node ast.Node, field, want string) error {
	if field == "" {
		field = "the plan"
	}
	switch node.Type() {
	case ast.NullType:
		return fmt.Errorf("%d: %s is empty: it has to be %s", line(node), field, want)
	case ast.AliasType, ast.AnchorType, ast.TagType, ast.MergeKeyType:
		return fmt.Errorf("%d: %s: anchors, aliases and tags are not supported: write the value out", line(node), field)
	}
	return fmt.Errorf("%d: %s is %q: it has to be %s", line(node), field, abbreviate(oneLine(node.String())), want)
}

const maxQuoted = 40

func abbreviate(s string) string {
	if len(s) > maxQuoted {
		return s[:maxQuoted] + "…"
	}
	return s
}

func line(node ast.Node) int {
	if token := node.GetToken(); token != nil && token.Position != nil {
		return token.Position.Line
	}
	return 0
}
