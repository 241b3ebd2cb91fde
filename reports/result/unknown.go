package result

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// unknownField finds the first field that the format does not have and names its
// path. encoding/json refuses it too, but says only the last name, which occurs
// in every cell.
func unknownField(data []byte) error {
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return place(data, err)
	}
	return walkUnknown(doc, reflect.TypeFor[Results](), "")
}

func walkUnknown(value any, t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := value.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			return walkUnknownStruct(v, t, path)
		case reflect.Map:
			for _, k := range sortedKeys(v) {
				if err := walkUnknown(v[k], t.Elem(), fmt.Sprintf("%s[%q]", path, k)); err != nil {
					return err
				}
			}
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, e := range v {
				if err := walkUnknown(e, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func walkUnknownStruct(v map[string]any, t reflect.Type, path string) error {
	fields := jsonFields(t)
	for _, k := range sortedKeys(v) {
		f, ok := fields[k]
		if !ok {
			where := "at the top"
			if path != "" {
				where = "in " + path
			}
			return fmt.Errorf("unknown field %q %s; known are %s", k, where, strings.Join(sortedKeys(fields), ", "))
		}
		if err := walkUnknown(v[k], f, strings.TrimPrefix(path+"."+k, ".")); err != nil {
			return err
		}
	}
	return nil
}

// jsonFields maps the JSON names of a struct to the types of their values.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	return fields
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
