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
func unknownField(doc any, t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if list, ok := doc.([]any); ok && t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Float64 { // curves have thousands
		for i, e := range list {
			if err := unknownField(e, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	object, ok := doc.(map[string]any)
	if !ok || t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		var field reflect.Type
		var inside string
		if t.Kind() == reflect.Map {
			field, inside = t.Elem(), fmt.Sprintf("%s[%q]", path, k)
		} else {
			fields := jsonFields(t)
			inside = strings.TrimPrefix(path+"."+k, ".")
			if field, ok = fields[k]; !ok {
				where := "at the top"
				if path != "" {
					where = "in " + path
				}
				return fmt.Errorf("unknown field %q %s; known are %s", k, where, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
			}
		}
		if err := unknownField(object[k], field, inside); err != nil {
			return err
		}
	}
	return nil
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
