package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Differences names the places at which two values, as JSON has them, do not agree, in the order of names, and both
// values after these words: "place: results.json has 7, the record now gives 54". Objects in lists are compared one by
// one and called by their id, where they have one; of other lists only the first element that differs is named.
func Differences(has, gives string, old, now any) ([]string, error) {
	a, err := asJSON(old)
	if err != nil {
		return nil, err
	}
	b, err := asJSON(now)
	if err != nil {
		return nil, err
	}
	d := differ{has: has, gives: gives}
	d.compare("", a, b)
	return d.found, nil
}

func asJSON(v any) (out any, err error) {
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return out, nil
}

type differ struct {
	has, gives string
	found      []string
}

func (d *differ) compare(place string, old, now any) {
	if reflect.DeepEqual(old, now) {
		return
	}
	switch o := old.(type) {
	case map[string]any:
		if n, ok := now.(map[string]any); ok {
			d.members(place, o, n)
			return
		}
	case []any:
		if n, ok := now.([]any); ok {
			d.elements(place, o, n)
			return
		}
	}
	d.found = append(d.found, fmt.Sprintf("%s: %s %s, %s %s", place, d.has, differenceText(old), d.gives,
		differenceText(now)))
}

func (d *differ) members(place string, old, now map[string]any) {
	all := maps.Clone(old)
	maps.Copy(all, now)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		d.compare(strings.TrimPrefix(place+"."+k, "."), old[k], now[k])
	}
}

// elements compares lists: of cells and other objects one by one, of plain values only the first that differs.
func (d *differ) elements(place string, old, now []any) {
	for i := range max(len(old), len(now)) {
		var o, n any
		if i < len(old) {
			o = old[i]
		}
		if i < len(now) {
			n = now[i]
		}
		before := len(d.found)
		d.compare(fmt.Sprintf("%s[%s]", place, placeOf(o, n, i)), o, n)
		if _, object := o.(map[string]any); !object && len(d.found) > before {
			return
		}
	}
}

func placeOf(old, now any, i int) string {
	for _, v := range []any{old, now} {
		if m, ok := v.(map[string]any); ok && m["id"] != nil {
			return fmt.Sprint(m["id"])
		}
	}
	return fmt.Sprint(i)
}

const mostShown = 120

func differenceText(v any) string {
	if v == nil {
		return "nothing"
	}
	if s, ok := v.(string); ok && len(s) < 80 {
		return s
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if r := []rune(string(data)); len(r) > mostShown {
		return string(r[:mostShown]) + "…"
	}
	return string(data)
}
