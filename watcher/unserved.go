package watcher

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/query"
	"github.com/watchbench/watchbench/watcher/relation"
	"github.com/watchbench/watchbench/watcher/watches"
)

// warnUnserved logs, once it is known what the cluster serves, which names of resources in
// the configuration stand for nothing. It returns at the end of ctx.
func (r *resources) warnUnserved(ctx context.Context, log *slog.Logger) error {
	select {
	case <-r.watches.Known():
		for _, entry := range unservedNames(r.cfg, r.watches.Served()) {
			log.Warn(entry)
		}
		<-ctx.Done()
	case <-ctx.Done():
	}
	return nil
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
		if !slices.Contains(watches.Default().Deny, name) && !strings.HasSuffix(name, "/*") && !slices.Contains(withheld, name) {
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
