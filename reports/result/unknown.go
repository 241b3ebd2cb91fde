package result

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// unknownField finds the first field in a decoded document that type t does not have
// and names its path. encoding/json refuses it too, but says only the last name, which
// occurs in every cell.
func unknownField(doc any, t reflect.Type) error {
	where, err := unknownIn(doc, t)
	switch where = strings.TrimPrefix(where, "."); {
	case err == nil:
		return nil
	case where == "":
		where = "at the top"
	default:
		where = "in " + where
	}
	return fmt.Errorf("unknown field %q %s; known are %s", err.name, where, strings.Join(err.known, ", "))
}

type unknownName struct {
	name  string
	known []string
}

// unknownIn finds the first by the order of keys. The path is put together on the way back: a
// record has thousands of places, and seldom an unknown field.
func unknownIn(doc any, t reflect.Type) (path string, found *unknownName) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	// curves have thousands
	if list, ok := doc.([]any); ok && t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Float64 {
		for i, e := range list {
			if inside, found := unknownIn(e, t.Elem()); found != nil {
				return fmt.Sprintf("[%d]%s", i, inside), found
			}
		}
	}
	object, ok := doc.(map[string]any)
	if !ok || t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return "", nil
	}
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = jsonFields(t)
	}
	first := ""
	for k, v := range object {
		if found != nil && k > first {
			continue
		}
		var inside string
		var here *unknownName
		switch field, known := fields[k]; {
		case fields == nil:
			if inside, here = unknownIn(v, t.Elem()); here != nil {
				inside = fmt.Sprintf("[%q]%s", k, inside)
			}
		case known:
			if inside, here = unknownIn(v, field); here != nil {
				inside = "." + k + inside
			}
		default:
			here = &unknownName{k, slices.Sorted(maps.Keys(fields))}
		}
		if here != nil {
			first, path, found = k, inside, here
		}
	}
	return path, found
}

// fieldsOf keeps what jsonFields found: a record has thousands of objects of a few types.
var fieldsOf sync.Map // reflect.Type to map[string]reflect.Type

// jsonFields maps the JSON names of a struct to the types of their values.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	if known, ok := fieldsOf.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		fields[jsonName(f)] = f.Type
	}
	delete(fields, "")
	fieldsOf.Store(t, fields)
	return fields
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
