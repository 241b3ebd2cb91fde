package config

import "reflect"

// Changed lists the keys, such as bcs.strategy, in which two configurations, or two
// filters, differ.
func Changed[T Config | Filter](a, b T) []string {
	return changed("", reflect.ValueOf(a), reflect.ValueOf(b))
}

func changed(path string, a, b reflect.Value) []string {
	if a.Kind() != reflect.Struct {
		// A list that is not there and one without elements mean the same.
		if (a.Kind() == reflect.Slice || a.Kind() == reflect.Map) && a.Len()+b.Len() == 0 ||
			reflect.DeepEqual(a.Interface(), b.Interface()) {
			return nil
		}
		return []string{path}
	}
	var keys []string
	for i := range a.NumField() {
		keys = append(keys, changed(join(path, tagOf(a.Type().Field(i))), a.Field(i), b.Field(i))...)
	}
	return keys
}
