package watches

import (
	"slices"

	"github.com/watchbench/watchbench/watcher/collector"
)

// Kind is a resource that the cluster serves in one version.
type Kind struct {
	collector.Resource
	Singular               string
	ShortNames, Categories []string
}

// Group is an API group, its preferred version first. The core group has no name.
type Group struct {
	Name     string
	Versions []Version
}

// Version lists the kinds that a group serves in one version and that can be listed and watched,
// sorted by plural name.
type Version struct {
	Name  string
	Kinds []Kind
}

// Catalogue lists what the cluster serves at one moment. It is immutable.
type Catalogue struct {
	Groups   []Group // sorted by name
	Withheld []Kind  // what else there is, which is denied
}

// GVR names a resource in one version.
type GVR struct{ Group, Version, Resource string }

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
			if i := slices.IndexFunc(v.Kinds, is); i >= 0 {
				return v.Kinds[i], true
			}
		}
	}
	return Kind{}, false
}
