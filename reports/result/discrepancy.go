package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Discrepancy is a place at which two values do not agree.
type Discrepancy struct {
	Place    string // such as cells[heavy-keyed].load.qps; empty for the values themselves
	Old, New any    // as encoding/json decodes them; nil where there is nothing
}

// Differences lists the places at which two values do not agree, in the order of names. Objects in
// lists are compared one by one and called by their id, where they have one; of other lists
// only the first element that differs is named.
func Differences(old, now any) ([]Discrepancy, error) {
	a, err := asJSON(old)
	if err != nil {
		return nil, err
	}
	b, err := asJSON(now)
	if err != nil {
		return nil, err
	}
	var d differ
	d.compare("", a, b)
	return d.found, nil
}

// asJSON is a value as JSON has it.
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

type differ struct{ found []Discrepancy }

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
	d.found = append(d.found, Discrepancy{place, old, now})
}

func (d *differ) members(place string, old, now map[string]any) {
	all := maps.Clone(old)
	maps.Copy(all, now)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		d.compare(strings.TrimPrefix(place+"."+k, "."), old[k], now[k])
	}
}

// elements compares lists: of cells and other objects one by one, of plain values only
// the first that differs.
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

// placeOf is the id of a cell, or the place in the list.
func placeOf(old, now any, i int) string {
	for _, v := range []any{old, now} {
		if m, ok := v.(map[string]any); ok && m["id"] != nil {
			return fmt.Sprint(m["id"])
		}
	}
	return fmt.Sprint(i)
}

// mostShown bounds the characters of a value that are shown.
const mostShown = 120

// DifferenceText is a value in a line; long ones are cut.
func DifferenceText(v any) string {
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
