package watches

import (
	"slices"

	"github.com/watchbench/watchbench/watcher/collector"
)

// Kind is a resource that the cluster serves in one version.
type Kind = collector.APIResource

// Catalogue lists what the cluster serves at one moment. It is immutable.
type Catalogue struct {
	// Groups are sorted by name, and have the kinds, sorted by plural name, that can be listed and watched and are
	// not denied.
	Groups []collector.APIGroup
}

// GVR names a resource in one version.
type GVR struct{ Group, Version, Resource string }

// GVROf is the name of a kind.
func GVROf(k Kind) GVR { return GVR{k.Group, k.Version, k.Name} }

// Find returns the kind behind a plural name.
func (c *Catalogue) Find(r GVR) (Kind, bool) {
	return c.first(r.Group, r.Version, func(k Kind) bool { return k.Name == r.Resource })
}

// FindKind returns the resource of that kind, such as Pod.
func (c *Catalogue) FindKind(group, version, kind string) (Kind, bool) {
	return c.first(group, version, func(k Kind) bool { return k.Kind == kind })
}

func (c *Catalogue) first(group, version string, is func(Kind) bool) (Kind, bool) {
	for _, g := range c.Groups {
		for _, v := range g.Versions {
			if g.Name != group || v.Name != version {
				continue
			}
			if i := slices.IndexFunc(v.Resources, is); i >= 0 {
				return v.Resources[i], true
			}
		}
	}
	return Kind{}, false
}
