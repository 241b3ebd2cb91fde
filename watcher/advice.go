package watcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
)

// Plan lists what a watcher would collect with a configuration.
type Plan struct {
	// Apiserver is its address; "" where it would be that of the cluster it runs in.
	Apiserver string
	// Unknown is why the apiserver could not be asked what it serves, or not all of it.
	Unknown error
	Kinds   []collector.Resource
	// Useless are entries of the filter file and selectors that have nothing to apply to, one sentence each.
	// What only the apiserver knows is left out while Unknown is set.
	Useless []string
}

// MakePlan checks a configuration as New and the start of Run do, and asks the apiserver what it serves.
// Nothing is watched or written, and storage is not asked anything.
func MakePlan(ctx context.Context, cfg config.Config, filter config.Filter) (p Plan, err error) {
	var s Settings
	outside := false
	if cfg.K8s.Kubeconfig == "" && cfg.K8s.Master == "" {
		_, err := rest.InClusterConfig()
		if outside = errors.Is(err, rest.ErrNotInCluster); outside {
			s.Kube = &rest.Config{Host: "localhost"} // New wants one, which is not asked
		}
	}
	w, err := New(cfg, filter, s)
	if err != nil {
		return Plan{}, err
	}
	if _, err := serverTLS(cfg, w.log); err != nil {
		return Plan{}, &InputError{Err: err}
	}
	if r := w.resources; r != nil {
		defer r.notifier.Close()
	}
	var groups []collector.APIGroup
	if p.Unknown = errors.New("it must be the ID of the cluster it will run in"); !outside {
		p.Apiserver = badinput.Redact(w.copying.served.host)
		var broken []string
		p.Kinds, broken, p.Unknown = w.copying.served.look(ctx)
		if p.Unknown == nil {
			groups, _ = w.copying.served.last()
			err = w.checkMasks(groups, p.Kinds)
		}
		if len(broken) > 0 {
			groups, p.Unknown = nil, fmt.Errorf("no answer for the API groups %s", strings.Join(broken, ", "))
		}
		p.Unknown = badinput.Redacted(p.Unknown)
	}
	p.Useless, _ = w.useless(groups, p.Kinds)
	return p, err
}

// useless names, one sentence each, the entries of the filter file and selectors that have nothing to apply
// to, by what the apiserver serves (nil: not known) and what of it is watched. slips are those that should
// leave something out and look misspelt.
func (w wanted) useless(groups []collector.APIGroup, watched []collector.Resource) (all, slips []string) {
	say := func(format string, args ...any) { all = append(all, badinput.Redact(fmt.Sprintf(format, args...))) }
	white := w.filter.K8sResourceWhiteList
	switch {
	case len(white) == 0 && w.custom():
		say("k8sResourceWhiteList is empty: nothing but custom resources is watched")
	case len(white) == 0:
		say("k8sResourceWhiteList and crdResourceWhiteList are empty: nothing is watched; " +
			`name group-versions such as "v1" and "apps/v1"`)
	}
	var versions []string
	for _, g := range groups {
		for _, v := range g.Versions {
			versions = append(versions, g.GV(v))
		}
	}
	for i, gv := range white {
		alone := w.discovery()
		alone.GroupVersions, alone.Exceptions, alone.Specification = []string{gv}, nil, nil
		if of, _ := alone.Resources(groups); len(of) == 0 && groups != nil {
			say("k8sResourceWhiteList[%d]: nothing of %q is watched: it is not served, or another version is preferred%s",
				i, gv, meant(gv, versions))
		}
	}
	if ns := w.cfg.WatchResource.Namespace; slices.Contains(w.filter.ResourceNamespaceFilters, ns) {
		say("resourceNamespaceFilters: %q is the namespace of watch_resource.namespace, nothing of it is sent", ns)
	}
	for _, l := range []struct {
		name    string
		entries []config.GroupKinds
	}{{"apiResourceException", w.filter.APIResourceException},
		{"apiResourceSpecification", w.filter.APIResourceSpecification}} {
		for i, e := range l.entries {
			if near := meant(e.GroupVersion, white); !slices.Contains(white, e.GroupVersion) {
				say("%s[%d]: %q is not in k8sResourceWhiteList%s", l.name, i, e.GroupVersion, near)
				slips = append(slips, slip(all, near)...)
			}
			kinds := kindsOf(groups, func(gv string) bool { return gv == e.GroupVersion })
			for _, kind := range e.ResourceKinds {
				if near := meant(kind, kinds); len(kinds) > 0 && !slices.Contains(kinds, kind) {
					say("%s[%d]: %s has no kind %q%s", l.name, i, e.GroupVersion, kind, near)
					slips = append(slips, slip(all, near)...)
				}
			}
		}
	}
	// Where kinds may still come, only what looks like a slip is said.
	var kinds []string
	for _, r := range watched {
		kinds = append(kinds, r.Kind)
	}
	watches := func(at, kind string) {
		if near := meant(kind, kinds); groups != nil && !slices.Contains(kinds, kind) && (near != "" || !w.custom()) {
			say("%s: no kind %q is watched%s", at, kind, near)
		}
	}
	for i, m := range w.filter.ResourceMaskers {
		if strings.Contains(m.Path[0], ".") { // keys of maps may have a dot, the name of a field at the top never has
			say("resourceMaskers[%d]: no object has a field %q, nothing is masked: write a path as a list of names", i,
				m.Path[0])
		}
		watches(fmt.Sprintf("resourceMaskers[%d]", i), m.Kind)
	}
	for _, kind := range slices.Sorted(maps.Keys(w.cfg.WatchResource.LabelSelectors)) {
		watches("watch_resource.label_selectors", kind)
	}
	return all, slips
}

func slip(all []string, near string) []string {
	if near == "" {
		return nil
	}
	return all[len(all)-1:]
}

func kindsOf(groups []collector.APIGroup, of func(gv string) bool) (kinds []string) {
	for _, r := range collector.Served(groups) {
		if of(r.GroupVersion()) {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// checkMasks refuses masks that were meant for a kind that is watched and do not name it: all that they
// should remove would be sent. The names of kinds have capitals, and masks of another spelling apply to
// nothing. A mask for a kind that the filter leaves out is none of them.
func (w wanted) checkMasks(groups []collector.APIGroup, watched []collector.Resource) error {
	served := kindsOf(groups, func(gv string) bool {
		return slices.Contains(w.filter.K8sResourceWhiteList, gv) || slices.Contains(w.filter.CRDResourceWhiteList, gv)
	})
	var all []string
	for i, m := range w.filter.ResourceMaskers {
		meant, kinds := "", []string{}
		for _, r := range watched {
			if kinds = append(kinds, r.Kind); strings.EqualFold(r.Kind, m.Kind) || strings.EqualFold(r.Name, m.Kind) {
				meant = r.Kind // other letters, or the plural
			}
		}
		if meant == "" && !w.custom() {
			meant = badinput.Nearest(m.Kind, kinds)
		}
		if meant != "" && !slices.Contains(kinds, m.Kind) && !slices.Contains(served, m.Kind) {
			all = append(all, fmt.Sprintf("resourceMaskers[%d].kind: %q is not watched, so its field would be sent; "+
				"did you mean %q?", i, m.Kind, meant))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &InputError{File: w.cfg.FilterConfigPath, Err: errors.New(strings.Join(all, "; "))}
}

func meant(word string, known []string) string {
	if near := badinput.Nearest(word, known); near != "" && near != word {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
