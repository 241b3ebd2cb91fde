package pseudonym

import (
	_ "embed" // the list
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
)

//go:embed vocabulary.txt
var vocabularyText string

// vocabulary is the words that stay. It is not written to afterwards.
var vocabulary = sync.OnceValue(func() map[string]struct{} {
	keep := map[string]struct{}{}
	for line := range strings.Lines(vocabularyText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range strings.Fields(line) {
			keep[word] = struct{}{}
		}
	}
	seen := map[reflect.Type]bool{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		addFields(keep, seen, t)
		keep[gvk.Kind] = struct{}{}
		plural, singular := meta.UnsafeGuessKindToResource(gvk)
		keep[plural.Resource], keep[singular.Resource] = struct{}{}, struct{}{}
	}
	return keep
})

// addFields adds the JSON names of the fields of t and of all types below.
func addFields(keep map[string]struct{}, seen map[reflect.Type]bool, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		addFields(keep, seen, t.Elem())
		return
	case reflect.Map:
		addFields(keep, seen, t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[t] {
		return
	}
	seen[t] = true
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			keep[name] = struct{}{}
		}
		addFields(keep, seen, f.Type)
	}
}
