package assess

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// differences names what the recorded file and the present assessment do not agree on,
// as the place in the file and both values.
func differences(file string, recorded, now any) ([]string, error) {
	return Differences(file+" has", "the record now gives", recorded, now)
}

// Differences names the places at which two values, as JSON has them, do not agree, and
// both values after these words: "place: results.json has 7, the record now gives 54".
func Differences(has, gives string, recorded, now any) ([]string, error) {
	d := differ{has: has, gives: gives}
	old, err := plain(recorded)
	if err != nil {
		return nil, err
	}
	fresh, err := plain(now)
	if err != nil {
		return nil, err
	}
	d.compare("", old, fresh)
	return d.found, nil
}

// plain is a value as JSON has it.
func plain(v any) (out any, err error) {
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
	d.found = append(d.found, fmt.Sprintf("%s: %s %s, %s %s", place, d.has, text(old), d.gives, text(now)))
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
		d.compare(fmt.Sprintf("%s[%s]", place, name(o, n, i)), o, n)
		if _, object := o.(map[string]any); !object && len(d.found) > before {
			return
		}
	}
}

// name is the id of a cell, or the place in the list.
func name(old, now any, i int) string {
	for _, v := range []any{old, now} {
		if m, ok := v.(map[string]any); ok && m["id"] != nil {
			return fmt.Sprint(m["id"])
		}
	}
	return fmt.Sprint(i)
}

// text is a value in a line; long ones are cut.
func text(v any) string {
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
	if len(data) > 120 {
		data = append(data[:120], "…"...)
	}
	return string(data)
}
