package watcher

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/crd"
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
func (w *Watcher) unserved(served []collector.APIResource) (all, slips []string) {
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

// uselessSelectors are label selectors that no object can match.
func (w *Watcher) uselessSelectors() (all []string) {
	selectors := w.cfg.WatchResource.LabelSelectors
	for _, kind := range slices.Sorted(maps.Keys(selectors)) {
		sel, err := labels.Parse(selectors[kind])
		if err != nil {
			continue // an error elsewhere
		}
		reqs, _ := sel.Requirements()
		for _, r := range reqs {
			if !matchable(reqs, r.Key()) {
				all = append(all, fmt.Sprintf("watch_resource.label_selectors: %q of %s selects nothing: no label %s can be all that", selectors[kind], kind, r.Key()))
				break
			}
		}
	}
	return all
}

// matchable reports whether a value of a label, or its absence, meets all that is required
// of it.
func matchable(reqs labels.Requirements, key string) bool {
	tries := []labels.Set{{}, {key: "\x00"}} // without the label; with a value nobody names
	for _, r := range reqs {
		if r.Key() != key {
			continue
		}
		if op := r.Operator(); op == selection.GreaterThan || op == selection.LessThan {
			return true // not looked into
		}
		for _, v := range r.ValuesUnsorted() {
			tries = append(tries, labels.Set{key: v})
		}
	}
	return slices.ContainsFunc(tries, func(s labels.Set) bool {
		return !slices.ContainsFunc(reqs, func(r labels.Requirement) bool { return r.Key() == key && !r.Matches(s) })
	})
}

// onlyNamespaces says so where the filter file leaves nothing else though it does not ask for
// that: Namespaces are watched in any case.
func (w *Watcher) onlyNamespaces(watched []collector.Resource) []string {
	other := func(r collector.Resource) bool { return r.Kind != "Namespace" }
	asked := func(e config.GroupKinds) bool { return slices.Equal(e.ResourceKinds, []string{"Namespace"}) }
	if len(watched) == 0 || slices.ContainsFunc(watched, other) ||
		w.custom() || slices.ContainsFunc(w.filter.APIResourceSpecification, asked) {
		return nil
	}
	return []string{"no kind but Namespace is watched: the filter file leaves out all others"}
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

// unfollowed are the subscriptions to kinds that nobody follows unless somebody adds them at
// run time: lazy watches are off, the kind is not pinned, and the filter file does not let its
// version through to the pipeline, or the pipeline has one namespace only. What the cluster
// serves may be in the way, too: that is logged by who follows.
func (w *Watcher) unfollowed() (all []string) {
	c := w.cfg.ResourceWatcher
	if !c.Enabled || c.Watches.Lazy {
		return nil
	}
	collected := slices.Clone(w.filter.K8sResourceWhiteList)
	if !w.cfg.WatchResource.DisableCRD {
		collected = append(collected, w.filter.CRDResourceWhiteList...)
	}
	for i, s := range c.Notify.Subscriptions {
		kind := s.Resource.String()
		version := strings.TrimSuffix(kind, "/"+s.Resource.Resource)
		if s.Dedicated || slices.Contains(c.Watches.Pinned, kind) || kind == crd.Definitions.GroupVersion()+"/"+crd.Definitions.Name || // which the resource watcher follows itself
			w.cfg.WatchResource.Namespace == "" && slices.Contains(collected, version) {
			continue
		}
		all = append(all, fmt.Sprintf("resourceWatcher.notify.subscriptions[%d].resource: nobody follows %s, nothing is sent until it is added at run time: "+
			"name it in resourceWatcher.watches.pinned, or switch resourceWatcher.watches.lazy on", i, kind))
	}
	return all
}
