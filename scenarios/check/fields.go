package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Bounds on what Fields says of one object.
const (
	maxFields = 8
	maxValue  = 60 // runes
)

// Fields says in which fields storage's copy of an object is not what Digest's rules make of the apiserver's: path,
// stored and expected value, both shortened; "" where there is no difference. Values of Secrets and of objects with
// masks are left out.
func Fields(apiserver, storage Raw, r Rules) (string, error) {
	expected, rec, err := project(apiserver, r)
	if err != nil {
		return "", err
	}
	stored, _, err := project(storage, r)
	if err != nil {
		return "", err
	}
	d := fieldDiffer{hide: rec.Kind == kindSecret || slices.ContainsFunc(r.Masks, func(m Mask) bool {
		return m.meant(rec.Kind, rec.Namespace)
	})}
	d.compare("", stored, expected)
	if len(d.found) > maxFields {
		d.found = append(d.found[:maxFields], "…")
	}
	return strings.Join(d.found, "; "), nil
}

type fieldDiffer struct {
	hide  bool     // values
	found []string // one more than maxFields at most
}

type nothing struct{}

func (d *fieldDiffer) compare(path string, stored, expected any) {
	if len(d.found) > maxFields || reflect.DeepEqual(stored, expected) {
		return
	}
	switch e := expected.(type) {
	case map[string]any:
		if s, ok := stored.(map[string]any); ok {
			d.members(path, s, e)
			return
		}
	case []any:
		if s, ok := stored.([]any); ok {
			for i := range max(len(s), len(e)) {
				d.compare(fmt.Sprintf("%s[%d]", path, i), element(s, i), element(e, i))
			}
			return
		}
	}
	d.found = append(d.found, fmt.Sprintf("%s: stored %s, expected %s", path, d.text(stored), d.text(expected)))
}

func (d *fieldDiffer) members(path string, stored, expected map[string]any) {
	all := maps.Clone(stored)
	maps.Copy(all, expected)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		at := fmt.Sprintf("%s[%q]", path, k)
		if plainKey.MatchString(k) {
			at = strings.TrimPrefix(path+"."+k, ".")
		}
		d.compare(at, member(stored, k), member(expected, k))
	}
}

// plainKey is a key that needs no quotes in a path.
var plainKey = regexp.MustCompile(`^[\w-]+$`)

func member(of map[string]any, key string) any {
	if v, ok := of[key]; ok {
		return v
	}
	return nothing{}
}

func element(of []any, i int) any {
	if i < len(of) {
		return of[i]
	}
	return nothing{}
}

func (d *fieldDiffer) text(v any) string {
	if v == (nothing{}) {
		return "nothing"
	}
	if d.hide {
		return "a value"
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // of decoded JSON: never
	}
	if text := []rune(string(data)); len(text) > maxValue {
		return string(text[:maxValue]) + "…"
	}
	return string(data)
}
