package jsonscan

import (
	"reflect"
	"strings"
)

// FieldsOf returns, for Decode, the fields of the struct that record points to, by their names in JSON. It is fastest
// for members in the struct's order.
func FieldsOf(record any) func(key []byte) any {
	v := reflect.ValueOf(record).Elem()
	names, fields, next := make([]string, v.NumField()), make([]any, v.NumField()), 0
	for i := range fields {
		field := v.Field(i).Addr()
		if v.Field(i).Kind() == reflect.String {
			field = field.Convert(reflect.TypeFor[*string]())
		}
		names[i], _, _ = strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields[i] = field.Interface()
	}
	return func(key []byte) any {
		for range names {
			if next == len(names) {
				next = 0
			}
			if next++; names[next-1] == string(key) {
				return fields[next-1]
			}
		}
		return nil
	}
}
