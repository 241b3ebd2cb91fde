package watcher

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
)

// entries calls visit for each entry of the lists of kinds, with its place in the filter file.
func (w *Watcher) entries(visit func(at string, e config.GroupKinds)) {
	for i, e := range w.filter.APIResourceException {
		visit(fmt.Sprintf("apiResourceException[%d]", i), e)
	}
	for i, e := range w.filter.APIResourceSpecification {
		visit(fmt.Sprintf("apiResourceSpecification[%d]", i), e)
	}
}

// unlisted are the entries of the lists of kinds whose group-version is not in the white
// list; slips are those that are spelt much like one that is.
func (w *Watcher) unlisted() (all, slips []string) {
	white := w.filter.K8sResourceWhiteList
	w.entries(func(at string, e config.GroupKinds) {
		if slices.Contains(white, e.GroupVersion) {
			return
		}
		near := meant(e.GroupVersion, white)
		all = append(all, fmt.Sprintf("%s: %q is not in k8sResourceWhiteList%s", at, e.GroupVersion, near))
		if near != "" {
			slips = append(slips, all[len(all)-1])
		}
	})
	return all, slips
}

// unserved are the kinds of these lists that their group-version, as it is served, does not
// have; slips are those that are spelt much like one that it has.
func (w *Watcher) unserved(served []collector.Resource) (all, slips []string) {
	w.entries(func(at string, e config.GroupKinds) {
		var kinds []string
		for _, r := range served {
			if r.GroupVersion() == e.GroupVersion {
				kinds = append(kinds, r.Kind)
			}
		}
		for _, kind := range e.ResourceKinds {
			if len(kinds) == 0 || slices.Contains(kinds, kind) {
				continue
			}
			near := meant(kind, kinds)
			all = append(all, fmt.Sprintf("%s: %s has no kind %q%s", at, e.GroupVersion, kind, near))
			if near != "" {
				slips = append(slips, all[len(all)-1])
			}
		}
	})
	return all, slips
}

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
