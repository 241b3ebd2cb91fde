package watcher

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/leader"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Rule is a rule of an RBAC Role or ClusterRole. The API types of Kubernetes are not
// used because linking them would cost every watcher memory.
type Rule struct {
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Verbs         []string `json:"verbs"`
}

// Rights are the permissions that a watcher needs beyond discovery, which Kubernetes
// allows every account (ClusterRole system:discovery).
type Rights struct {
	Cluster []Rule            // for a ClusterRole
	Roles   map[string][]Rule // for a Role, by its namespace
}

// RightsFor asks the apiserver that cfg names what it serves and returns the rights for
// what the filter lets through. Kinds are named one by one, except custom resources:
// their definitions may come later, so the rule names their group. The error is an
// *InputError where the configuration is wrong, and a *collector.DiscoveryError when
// the apiserver cannot say what a wanted group has. A kind or group-version to leave out
// that is spelt much like one that there is, is an error, too: it would be granted.
func RightsFor(ctx context.Context, cfg config.Config, filter config.Filter, log *slog.Logger) (Rights, error) {
	kube, err := restConfig(cfg.K8s, log)
	if err != nil {
		return Rights{}, &InputError{Err: err}
	}
	s, err := newServed(wanted{cfg: cfg, filter: filter}, kube)
	if err != nil {
		return Rights{}, err
	}
	groups, err := s.lookout.Look(ctx)
	if err != nil {
		return Rights{}, err
	}
	found, _, err := s.of(groups)
	if err != nil {
		return Rights{}, err
	}
	if _, slips := s.useless(groups, found); len(slips) > 0 {
		return Rights{}, &InputError{File: cfg.FilterConfigPath, Err: errors.New(strings.Join(slips, "; "))}
	}
	return rights(cfg, filter, found), nil
}

func rights(cfg config.Config, filter config.Filter, found []collector.Resource) Rights {
	groups := map[string][]string{} // names of resources
	for _, r := range found {
		groups[r.Group] = append(groups[r.Group], r.Name)
	}
	out := Rights{Roles: map[string][]Rule{}}
	ns := cfg.WatchResource.Namespace
	if !cfg.WatchResource.DisableCRD && len(filter.CRDResourceWhiteList) > 0 {
		for _, gv := range filter.CRDResourceWhiteList {
			if gv, err := schema.ParseGroupVersion(gv); err == nil && gv.Group != "" {
				groups[gv.Group] = []string{"*"}
			}
		}
		d := collector.Definitions
		if ns == "" {
			groups[d.Group] = append(groups[d.Group], d.Name)
		} else {
			out.Cluster = read(map[string][]string{d.Group: {d.Name}})
		}
	}
	everywhere := readers(cfg.ResourceWatcher)
	if ns == "" {
		for group, names := range everywhere {
			groups[group] = append(groups[group], names...)
		}
		out.Cluster = read(groups)
	} else {
		out.Roles[ns] = read(groups)
		out.Cluster = append(out.Cluster, read(everywhere)...)
	}
	if rw := cfg.ResourceWatcher; rw.Enabled && rw.Server.Authentication == access.TokenReview {
		out.Cluster = append(out.Cluster,
			Rule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
			Rule{
				APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"},
			})
	}
	if le := cfg.LeaderElection; le.Enabled {
		lease := Rule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}}
		create, keep := lease, lease
		create.Verbs = []string{"create"} // RBAC cannot restrict it by name
		keep.ResourceNames, keep.Verbs = []string{le.Name}, []string{"get", "update"}
		if cfg.Shards > 1 {
			create.Verbs = append(create.Verbs, "list") // nor list
			for i := range cfg.Shards {
				keep.ResourceNames = append(keep.ResourceNames, leader.ShardLease(le.Name, i), leader.MemberLease(le.Name, i))
			}
		}
		out.Roles[le.Namespace] = append(out.Roles[le.Namespace], create, keep)
	}
	return out
}

// readers are the resources, by group, that the resource watcher follows in all namespaces
// by its configuration. What queries may ask for besides is granted by hand.
func readers(c config.ResourceWatcher) map[string][]string {
	if !c.Enabled {
		return nil
	}
	groups := map[string][]string{}
	for _, s := range c.Notify.Subscriptions {
		groups[s.Resource.Group] = append(groups[s.Resource.Group], s.Resource.Resource)
	}
	for _, text := range c.Watches.Pinned {
		if r, err := watches.ParseGVR(text); err == nil {
			groups[r.Group] = append(groups[r.Group], r.Resource)
		}
	}
	if c.Watches.Lazy {
		for _, kind := range c.Relations.Kinds {
			resource, group, _ := strings.Cut(kind, ".")
			groups[group] = append(groups[group], resource)
		}
	}
	return groups
}

func read(groups map[string][]string) []Rule {
	var rules []Rule
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		names := slices.Sorted(slices.Values(groups[g]))
		rules = append(rules, Rule{
			APIGroups: []string{g}, Resources: slices.Compact(names), Verbs: []string{"list", "watch"},
		})
	}
	return rules
}
