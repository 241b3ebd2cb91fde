package watcher

import (
	"encoding/json"
	"fmt"
	"strings"
)

// uselessMasks are masks whose path names no field that an object could have: a dot stands
// in keys of maps, never in the name of a field at the top.
func (w *Watcher) uselessMasks() (all []string) {
	for i, m := range w.filter.ResourceMaskers {
		if first := m.Path[0]; strings.Contains(first, ".") {
			path, _ := json.Marshal(append(strings.Split(first, "."), m.Path[1:]...))
			all = append(all, fmt.Sprintf("resourceMaskers[%d]: no object has a field %q, nothing is masked; the path to a field within others is %s", i, first, path))
		}
	}
	return all
}
