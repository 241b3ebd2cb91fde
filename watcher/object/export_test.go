package object

import (
	"fmt"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// What follows lets tests reach the steps of Recipe.Build one by one.

// Remove returns raw, compact, without the fields that the paths name: keys of objects, decimal indexes of arrays
// (also as the last segment, which removes the element). All paths refer to raw as it is given. It fails closed: a
// path that meets a value of another shape is a *PathError and nothing is returned. An absent field, a null on the
// way and an index past the end are no errors.
func Remove(raw []byte, paths ...[]string) ([]byte, error) {
	for _, p := range paths {
		if len(p) == 0 {
			return nil, fmt.Errorf("remove a field: empty path")
		}
	}
	compact, err := jsonscan.Compact(raw)
	if err != nil {
		return nil, err
	}
	cuts, err := findCuts(compact, paths, exact)
	if err != nil {
		return nil, err
	}
	return without(compact, cuts), nil
}

// StripManagedFields returns raw without metadata.managedFields, compact. raw is
// left as it is; without anything to do it is returned itself.
func StripManagedFields(raw []byte) ([]byte, error) {
	m, err := Scan(raw)
	if err != nil {
		return nil, err
	}
	var r Recipe
	b, cuts, err := r.cuts(raw, &m)
	if err != nil || len(cuts) == 0 {
		return b, err
	}
	return without(b, cuts), nil
}

// Parse makes an Object of raw, which it keeps.
func Parse(raw []byte) (*Object, error) {
	m, err := Scan(raw)
	if err != nil {
		return nil, err
	}
	r := Recipe{KeepManagedFields: true}
	return r.Build(raw, &m, m.Kind, nil)
}
