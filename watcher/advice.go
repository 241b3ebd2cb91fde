package watcher

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/query"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/watches"
)

// advice is one walk over the two files, beside what the apiserver serves.
type advice struct {
	wanted
	groups  []collector.APIGroup // what the apiserver serves; nil: only the files are looked at
	watched []collector.Resource // what of it passes the filter

	useless []string // entries that have nothing to apply to, one sentence each
	// slips are the sentences of useless about entries that should leave something out and look misspelt.
	slips []string
}

func (a *advice) say(format string, args ...any) {
	a.useless = append(a.useless, fmt.Sprintf(format, args...))
}

// walk fills useless and slips.
func (a *advice) walk() *advice {
	a.whiteList()
	if ns := a.cfg.WatchResource.Namespace; slices.Contains(a.filter.ResourceNamespaceFilters, ns) {
		a.say("resourceNamespaceFilters: %q is the namespace of watch_resource.namespace, nothing of it is sent", ns)
	}
	a.entries("apiResourceException", a.filter.APIResourceException)
	a.entries("apiResourceSpecification", a.filter.APIResourceSpecification)
	a.useless = append(a.useless, a.discovery().Unwatchable(a.groups)...)
	a.onlyNamespaces()
	for i, m := range a.filter.ResourceMaskers {
		at := fmt.Sprintf("resourceMaskers[%d]", i)
		// Keys of maps may have a dot, the name of a field at the top never has.
		if first := m.Path[0]; strings.Contains(first, ".") {
			path, _ := json.Marshal(append(strings.Split(first, "."), m.Path[1:]...))
			a.say("%s: no object has a field %q, nothing is masked; the path to a field within others is %s", at, first, path)
		}
		a.kind(at, m.Kind)
	}
	for _, kind := range slices.Sorted(maps.Keys(a.cfg.WatchResource.LabelSelectors)) {
		a.kind("watch_resource.label_selectors", kind)
	}
	a.unfollowed()
	return a
}

// whiteList names the group-versions of which nothing is watched.
func (a *advice) whiteList() {
	white := a.filter.K8sResourceWhiteList
	switch {
	case len(white) == 0 && a.custom():
		a.say("k8sResourceWhiteList is empty: nothing but custom resources is watched")
	case len(white) == 0:
		a.say("k8sResourceWhiteList and crdResourceWhiteList are empty: nothing is watched; " +
			`name group-versions such as "v1" and "apps/v1"`)
	}
	if a.groups == nil {
		return
	}
	var versions []string
	for _, g := range a.groups {
		for _, v := range g.Versions {
			versions = append(versions, g.GV(v))
		}
	}
	open := a.discovery()
	open.Exceptions, open.Specification = nil, nil // what is left out is so on purpose
	served, _ := open.Resources(a.groups)
	for i, gv := range white {
		alone := open
		alone.GroupVersions = []string{gv}
		same, _ := alone.Resources(a.groups)
		switch {
		case slices.ContainsFunc(served, func(r collector.Resource) bool { return r.GroupVersion() == gv }):
		case !slices.Contains(versions, gv):
			a.say("k8sResourceWhiteList[%d]: %q is not served%s", i, gv, others(gv, versions))
		case len(same) == 0: // else its objects are watched through another group
			a.say("k8sResourceWhiteList[%d]: nothing of %q is watched: the apiserver prefers another version, "+
				"or has no kind of it to watch%s", i, gv, others(gv, versions))
		}
	}
}

// entries looks at one of the lists of kinds: group-versions that the white list does not have, and kinds
// that their group-version, as it is served, does not have.
func (a *advice) entries(list string, all []config.GroupKinds) {
	white := a.filter.K8sResourceWhiteList
	for i, e := range all {
		say := func(near, format string, args ...any) {
			a.say("%s[%d]: "+format+"%s", append(append([]any{list, i}, args...), near)...)
			if near != "" {
				a.slips = append(a.slips, a.useless[len(a.useless)-1])
			}
		}
		if !slices.Contains(white, e.GroupVersion) {
			say(meant(e.GroupVersion, white), "%q is not in k8sResourceWhiteList", e.GroupVersion)
		}
		kinds := kindsOf(a.groups, func(gv string) bool { return gv == e.GroupVersion })
		for _, kind := range e.ResourceKinds {
			if len(kinds) > 0 && !slices.Contains(kinds, kind) {
				say(meant(kind, kinds), "%s has no kind %q", e.GroupVersion, kind)
			}
		}
	}
}

// kindsOf are the kinds that are served in some group-versions.
func kindsOf(groups []collector.APIGroup, of func(gv string) bool) (kinds []string) {
	for _, r := range collector.Served(groups) {
		if of(r.GroupVersion()) {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// onlyNamespaces says so where the filter file leaves nothing else though it does not ask for
// that: Namespaces are watched in any case.
func (a *advice) onlyNamespaces() {
	other := func(r collector.Resource) bool { return r.Kind != "Namespace" }
	asked := func(e config.GroupKinds) bool { return slices.Equal(e.ResourceKinds, []string{"Namespace"}) }
	if len(a.watched) > 0 && !slices.ContainsFunc(a.watched, other) &&
		!a.custom() && !slices.ContainsFunc(a.filter.APIResourceSpecification, asked) {
		a.say("no kind but Namespace is watched: the filter file leaves out all others")
	}
}

// kind says that a kind is not watched. Where kinds may still come, only what looks like a slip is said.
func (a *advice) kind(at, kind string) {
	if a.groups == nil {
		return
	}
	var kinds []string
	for _, r := range a.watched {
		kinds = append(kinds, r.Kind)
	}
	if near := meant(kind, kinds); !slices.Contains(kinds, kind) && (near != "" || !a.custom()) {
		a.say("%s: no kind %q is watched%s", at, kind, near)
	}
}

// unfollowed names the subscriptions to kinds that nobody follows: lazy
// watches are off, the kind is not pinned, and the filter file does not let its version through to the
// pipeline, or the pipeline has one namespace only. What the cluster serves may be in the way, too: that is
// logged by who follows.
func (a *advice) unfollowed() {
	c := a.cfg.ResourceWatcher
	if !c.Enabled || c.Watches.Lazy {
		return
	}
	collected := slices.Clone(a.filter.K8sResourceWhiteList)
	if !a.cfg.WatchResource.DisableCRD {
		collected = append(collected, a.filter.CRDResourceWhiteList...)
	}
	for i, s := range c.Notify.Subscriptions {
		kind := s.Resource.String()
		version := strings.TrimSuffix(kind, "/"+s.Resource.Resource)
		if slices.Contains(c.Watches.Pinned, kind) ||
			a.cfg.WatchResource.Namespace == "" && slices.Contains(collected, version) {
			continue
		}
		a.say("resourceWatcher.notify.subscriptions[%d].resource: nobody follows %s, nothing is sent: "+
			"name it in resourceWatcher.watches.pinned, "+
			"or switch resourceWatcher.watches.lazy on", i, kind)
	}
}

// checkMasks refuses masks that were meant for a kind that is watched and do not name it: all that they
// should remove would be sent. The names of kinds have capitals, and masks of another spelling apply to
// nothing. A mask for a kind that the filter leaves out is none of them.
func (a *advice) checkMasks() error {
	served := kindsOf(a.groups, func(gv string) bool {
		return slices.Contains(a.filter.K8sResourceWhiteList, gv) || slices.Contains(a.filter.CRDResourceWhiteList, gv)
	})
	var all []string
	for i, m := range a.filter.ResourceMaskers {
		if meant := a.meantBy(m.Kind); meant != "" && !slices.Contains(served, m.Kind) {
			all = append(all, fmt.Sprintf("resourceMaskers[%d].kind: %q is not watched, so its field would be sent; "+
				"did you mean %q?", i, m.Kind, meant))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &InputError{File: a.cfg.FilterConfigPath, Err: errors.New(strings.Join(all, "; "))}
}

// meantBy is the watched kind that a mask's has other letters of: small for capital ones, the plural for the
// singular or, where no kinds can come later, a typing error. "" is none.
func (a *advice) meantBy(kind string) string {
	var kinds []string
	meant := ""
	for _, r := range a.watched {
		kinds = append(kinds, r.Kind)
		if r.Kind == kind {
			return ""
		}
		if meant == "" && (strings.EqualFold(r.Kind, kind) || strings.EqualFold(r.Name, kind)) {
			meant = r.Kind
		}
	}
	if meant == "" && !a.custom() {
		meant = badinput.Nearest(kind, kinds)
	}
	return meant
}

// unservedNames are the resources that the configuration names and the cluster does not
// serve, one sentence each. What the defaults name may be missing.
func unservedNames(c config.ResourceWatcher, served *watches.Catalogue) (all []string) {
	var full, short, grouped, withheld []string
	for _, g := range served.Groups {
		for _, v := range g.Versions {
			for _, k := range v.Kinds {
				full = append(full, watches.GVR{Group: g.Name, Version: v.Name, Resource: k.Name}.String())
				short = append(short, strings.TrimSuffix(k.Name+"."+g.Name, "."))
				grouped = append(grouped, inDeny(g.Name, k.Name)...)
			}
		}
	}
	for _, k := range served.Withheld {
		withheld = append(withheld, inDeny(k.Group, k.Name)...)
	}
	var unwatchable []string
	for _, k := range served.Unwatchable {
		unwatchable = append(unwatchable, watches.GVR{Group: k.Group, Version: k.Version, Resource: k.Name}.String(),
			strings.TrimSuffix(k.Name+"."+k.Group, "."))
	}
	report := func(key, name, what string, known []string) {
		all = append(all, fmt.Sprintf("resourceWatcher.%s: %q %s%s", key, name, what, meant(name, known)))
	}
	check := func(key, name string, known []string) {
		switch {
		case slices.Contains(known, name):
		case slices.Contains(unwatchable, name):
			report(key, name, "exists and cannot be watched: the apiserver does not offer list and watch for it", nil)
		default:
			report(key, name, "is not served, or withheld", known)
		}
	}
	for i, name := range c.Watches.Pinned {
		check(fmt.Sprintf("watches.pinned[%d]", i), name, full)
	}
	for i, name := range c.Watches.Deny {
		if !slices.Contains(watches.Default().Deny, name) && !strings.HasSuffix(name, "/*") && !slices.Contains(withheld,
			name) {
			report(fmt.Sprintf("watches.deny[%d]", i), name, "withholds nothing that is served", append(grouped, withheld...))
		}
	}
	for i, s := range c.Notify.Subscriptions {
		check(fmt.Sprintf("notify.subscriptions[%d].resource", i), s.Resource.String(), full)
	}
	for i, name := range c.Relations.Kinds {
		if !slices.Contains(relation.Default().Kinds, name) {
			check(fmt.Sprintf("relations.kinds[%d]", i), name, short)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Query.FieldIndexes)) {
		if _, usual := query.Default().FieldIndexes[name]; !usual {
			check("query.fieldIndexes", name, short)
		}
	}
	return all
}

// inDeny is how watches.deny may name a resource.
func inDeny(group, resource string) []string {
	return []string{cmp.Or(group, "v1") + "/" + resource, "*/" + resource}
}

// meant asks for the known word that is nearest.
func meant(word string, known []string) string {
	if near := badinput.Nearest(word, known); near != "" && near != word {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}

// others names what the group of gv has instead, or a gv that is spelt much alike.
func others(gv string, served []string) string {
	group, _, _ := strings.Cut(gv, "/")
	var same []string
	for _, s := range served {
		if g, _, _ := strings.Cut(s, "/"); g == group && s != gv {
			same = append(same, s)
		}
	}
	if len(same) > 0 {
		return "; the apiserver has " + strings.Join(same, ", ")
	}
	return meant(gv, served)
}
