package collector

import (
	"cmp"
	"slices"
	"strings"
)

// GroupKinds names kinds of one group-version; no kinds means all of them.
type GroupKinds struct {
	GroupVersion string
	Kinds        []string
}

// DiscoveryFilter says which discovered resources are collected (contract §2.6 and §7.2).
type DiscoveryFilter struct {
	GroupVersions []string     // white list; empty is nothing
	Exceptions    []GroupKinds // black list
	Specification []GroupKinds // white list of kinds; empty is all
	// Namespaced leaves cluster-scoped kinds out, as for a watcher of one namespace.
	Namespaced     bool
	LabelSelectors map[string]string // by kind
}

// neverCollected are kinds without objects of their own.
var neverCollected = []string{"ComponentStatus", "Binding", "ReplicationControllerDummy"}

// WantsVersion reports whether a group-version is in the white list.
func (f DiscoveryFilter) WantsVersion(gv string) bool { return slices.Contains(f.GroupVersions, gv) }

// unwatchable reports whether a resource is never collected.
func unwatchable(r APIResource) bool {
	return slices.Contains(neverCollected, r.Kind) ||
		r.GroupVersion() == "storage.k8s.io/v1" && r.Kind != "StorageClass" ||
		!slices.Contains(r.Verbs, "watch") || !slices.Contains(r.Verbs, "list")
}

func (f DiscoveryFilter) wants(r Resource) bool {
	gv := r.GroupVersion()
	listed := func(lists []GroupKinds) bool {
		return slices.ContainsFunc(lists, func(l GroupKinds) bool {
			return l.GroupVersion == gv && (len(l.Kinds) == 0 || slices.Contains(l.Kinds, r.Kind))
		})
	}
	switch {
	case !f.WantsVersion(gv), f.Namespaced && !r.Namespaced:
		return false
	case r.Group == "" && r.Kind == "Namespace":
		return true // exempt from both lists of kinds
	}
	return !listed(f.Exceptions) && (len(f.Specification) == 0 || listed(f.Specification))
}

// moved are kinds that older servers serve from two groups at once, the same
// objects under both: the second group is left out when the first is collected.
var moved = map[string][]string{
	"extensions":    {"apps", "networking.k8s.io", "policy"},
	"events.k8s.io": {""},
}

// AssignKeyKinds gives each resource the kind under which it is stored, and sorts by it. Of several groups with one
// kind the first keeps its name: those of the white list before others; among them core, groups of Kubernetes
// (without a dot, or under k8s.io), others by name. The rest become Kind.group. Objects that two groups serve are
// kept once.
func AssignKeyKinds(resources []Resource, whiteList []string) []Resource {
	out := slices.Clone(resources)
	slices.SortStableFunc(out, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(rank(a, whiteList), rank(b, whiteList)),
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	out = slices.DeleteFunc(out, func(r Resource) bool {
		return slices.ContainsFunc(resources, func(other Resource) bool {
			return other.Kind == r.Kind && slices.Contains(moved[r.Group], other.Group) && other.Group != r.Group
		})
	})
	taken := map[string]bool{}
	for i := range out {
		r := &out[i]
		r.KeyKind = ""
		if taken[r.Key()] {
			r.KeyKind = r.Kind + "." + r.Group
		}
		if taken[r.Key()] {
			r.KeyKind = r.Kind + "." + r.Name + "." + r.Group
		}
		taken[r.Key()] = true
	}
	slices.SortFunc(out, func(a, b Resource) int { return cmp.Compare(a.Key(), b.Key()) })
	return out
}

func rank(r Resource, whiteList []string) int {
	n := 2
	switch {
	case r.Group == "":
		n = 0
	case !strings.Contains(r.Group, ".") || strings.HasSuffix(r.Group, ".k8s.io"):
		n = 1
	}
	if !slices.Contains(whiteList, r.GroupVersion()) {
		n += 3
	}
	return n
}
