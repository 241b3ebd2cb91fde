package record

import (
	_ "embed" // the list
	"maps"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

//go:embed vocabulary.txt
var vocabularyText string

// vocabulary is the words that stay. It is not written to afterwards.
var vocabulary = sync.OnceValue(func() map[string]bool {
	keep := map[string]bool{}
	for line := range strings.Lines(vocabularyText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range strings.Fields(line) {
			keep[word] = true
		}
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, singular := meta.UnsafeGuessKindToResource(gvk)
		keep[gvk.Kind], keep[plural.Resource], keep[singular.Resource] = true, true, true
	}
	for _, fields := range apiTypes() {
		for name := range fields {
			keep[name] = true
		}
	}
	return keep
})

// members holds the types of the fields of the API's types, by their JSON names. The type of a RawExtension is nil: the
// API does not define what it holds.
type members map[reflect.Type]map[string]reflect.Type

// apiTypes returns the types of all built-in kinds. It is not written to afterwards.
var apiTypes = sync.OnceValue(func() members {
	m := members{}
	for _, t := range scheme.Scheme.AllKnownTypes() {
		m.add(t)
	}
	return m
})

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t
}

func (m members) add(t reflect.Type) {
	for t = element(t); t.Kind() == reflect.Map; {
		t = element(t.Elem())
	}
	if t.Kind() != reflect.Struct || m[t] != nil {
		return
	}
	m[t] = map[string]reflect.Type{}
	for f := range t.Fields() {
		m.add(f.Type)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name == "": // inlined
			maps.Copy(m[t], m[element(f.Type)])
		case element(f.Type) == reflect.TypeFor[runtime.RawExtension]():
			m[t][name] = nil
		case name != "-":
			m[t][name] = element(f.Type)
		}
	}
}

func (m members) member(t reflect.Type, key string) reflect.Type {
	if t != nil && t.Kind() == reflect.Map {
		return element(t.Elem())
	}
	return m[t][key]
}
