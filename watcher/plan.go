package watcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
)

// Plan is what a watcher would collect with a configuration.
type Plan struct {
	// Apiserver is its address; "" where it would be that of the cluster it runs in.
	Apiserver string
	// Unknown is why the apiserver could not be asked what it serves, or not all of it.
	Unknown error
	Kinds   []collector.Resource
	// Useless are entries of the files that have nothing to apply to, one sentence each.
	// What only the apiserver can tell is left out while Unknown is set.
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
	if err := w.collectorConfig(nil).Validate(); err != nil {
		return Plan{}, &InputError{Err: err}
	}
	if err := checkAddress(ctx, cfg.Address); err != nil {
		return Plan{}, err
	}
	defer func() {
		p.Unknown = badinput.Redacted(p.Unknown)
		for i, entry := range p.Useless {
			p.Useless[i] = badinput.Redact(entry)
		}
	}()
	p = Plan{Useless: w.uselessAlone()}
	if outside {
		p.Unknown = errors.New("it is that of the cluster it will run in")
		return p, nil
	}
	p.Apiserver = badinput.Redact(w.kube.Host)
	var broken []string
	if p.Kinds, broken, p.Unknown = w.discover(ctx); p.Unknown != nil {
		return p, nil
	}
	if err := w.checkMasks(ctx, p.Kinds); err != nil {
		return Plan{}, err
	}
	if len(broken) > 0 {
		p.Unknown = fmt.Errorf("no answer for the API groups %s", strings.Join(broken, ", "))
		return p, nil
	}
	more, err := w.useless(ctx, p.Kinds)
	p.Useless, p.Unknown = append(p.Useless, more...), err
	if w.resources == nil || err != nil {
		return p, nil
	}
	served, err := w.resources.watches.Look(ctx)
	if p.Unknown = err; err == nil {
		p.Useless = append(p.Useless, unservedNames(cfg.ResourceWatcher, served)...)
	}
	return p, nil
}

// warnLimit is how long the apiserver has for what warnUseless asks.
const warnLimit = 10 * time.Second

// warnUseless logs what has nothing to apply to. What only the apiserver can tell is left
// out if it does not.
func (w *Watcher) warnUseless(ctx context.Context, watched []collector.Resource) {
	all := w.uselessAlone()
	if w.complete.Load() {
		ctx, cancel := context.WithTimeout(ctx, warnLimit)
		defer cancel()
		more, _ := w.useless(ctx, watched)
		all = append(all, more...)
	}
	for _, entry := range all {
		w.log.Warn(entry, "filter", w.cfg.FilterConfigPath)
	}
}

// idle reports that nothing is watched, nor any definition that could be.
func (w *Watcher) idle(kinds int) bool { return kinds == 0 && w.definitions == nil }

// uselessAlone is what can be seen in the files alone.
func (w *Watcher) uselessAlone() (all []string) {
	f := w.filter
	switch {
	case len(f.K8sResourceWhiteList) == 0 && w.custom():
		all = append(all, "k8sResourceWhiteList is empty: nothing but custom resources is watched")
	case len(f.K8sResourceWhiteList) == 0:
		all = append(all, `k8sResourceWhiteList and crdResourceWhiteList are empty: nothing is watched; name group-versions such as "v1" and "apps/v1"`)
	}
	if ns := w.cfg.WatchResource.Namespace; slices.Contains(f.ResourceNamespaceFilters, ns) {
		all = append(all, fmt.Sprintf("resourceNamespaceFilters: %q is the namespace of watch_resource.namespace, nothing of it is sent", ns))
	}
	unlisted, _ := w.unlisted()
	all = append(all, unlisted...)
	return slices.Concat(all, w.uselessMasks(), w.uselessSelectors(), w.unfollowed())
}

// useless is what has nothing to apply to among what the apiserver serves; watched is
// what passes the filter.
func (w *Watcher) useless(ctx context.Context, watched []collector.Resource) (all []string, err error) {
	d, err := collector.NewDiscovery(w.kube)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	open := w.discoveryFilter()
	open.Exceptions, open.Specification = nil, nil
	served, err := d.Resources(ctx, open)
	if err != nil {
		return nil, err
	}
	groups, err := d.GroupsOf(ctx, open.WantsVersion)
	if err != nil {
		return nil, err
	}
	var versions []string
	for _, g := range groups {
		for _, v := range g.Versions {
			versions = append(versions, g.GV(v))
		}
	}
	f := w.filter
	for i, gv := range f.K8sResourceWhiteList {
		of := func(r collector.Resource) bool { return r.GroupVersion() == gv }
		switch {
		case slices.ContainsFunc(served, of): // what is left out of it is so on purpose
		case slices.Contains(versions, gv):
			alone := open
			alone.GroupVersions = []string{gv}
			if same, _ := d.Resources(ctx, alone); len(same) > 0 {
				continue // its objects are watched through another group
			}
			all = append(all, fmt.Sprintf("k8sResourceWhiteList[%d]: nothing of %q is watched: the apiserver prefers another version, or has no kind of it to watch%s", i, gv, others(gv, versions)))
		default:
			all = append(all, fmt.Sprintf("k8sResourceWhiteList[%d]: %q is not served%s", i, gv, others(gv, versions)))
		}
	}
	unserved, _ := w.unserved(collector.Served(groups))
	all = slices.Concat(all, w.discoveryFilter().Unwatchable(groups), unserved, w.onlyNamespaces(watched))
	var kinds []string
	for _, r := range watched {
		kinds = append(kinds, r.Kind)
	}
	// Where kinds may still come, only what looks like a slip is said.
	unwatched := func(at, kind string) {
		near := meant(kind, kinds)
		if !slices.Contains(kinds, kind) && (near != "" || !w.custom()) {
			all = append(all, fmt.Sprintf("%s: no kind %q is watched%s", at, kind, near))
		}
	}
	for i, m := range f.ResourceMaskers {
		unwatched(fmt.Sprintf("resourceMaskers[%d]", i), m.Kind)
	}
	for _, kind := range slices.Sorted(maps.Keys(w.cfg.WatchResource.LabelSelectors)) {
		unwatched("watch_resource.label_selectors", kind)
	}
	return all, nil
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
