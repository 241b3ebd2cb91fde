package relation

import (
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/watcher/watches"
)

// plan lists the kinds that queries look into as long as the same is served and followed.
type plan struct {
	served   *watches.Catalogue
	followed []watches.GVR
	kinds    map[groupKind]watches.Kind // in the version that is read
	// dependents are the kinds whose owners are looked at, namespaced those of them that are so,
	// and unlooked the rest.
	dependents, namespaced, unlooked []watches.Kind
}

// newPlan reads each kind in the version that is followed, else in the preferred one.
func newPlan(served *watches.Catalogue, followed []watches.GVR, wanted []string) *plan {
	p := &plan{served: served, followed: slices.Clone(followed), kinds: map[groupKind]watches.Kind{}}
	var order []groupKind
	for _, g := range served.Groups {
		for _, v := range g.Versions {
			for _, k := range v.Kinds {
				of := kindOf(k)
				_, known := p.kinds[of]
				if !known {
					order = append(order, of)
				}
				if !known || slices.Contains(followed, gvrOf(k)) && !slices.Contains(followed, gvrOf(p.kinds[of])) {
					p.kinds[of] = k
				}
			}
		}
	}
	for _, of := range order {
		k := p.kinds[of]
		switch {
		case of == secrets:
		case slices.Contains(followed, gvrOf(k)), slices.Contains(wanted, strings.TrimSuffix(k.Name+"."+k.Group, ".")):
			p.dependents = append(p.dependents, k)
			if k.Namespaced {
				p.namespaced = append(p.namespaced, k)
			}
		default:
			p.unlooked = append(p.unlooked, k)
		}
	}
	return p
}

// reading returns the plan with a kind in that version.
func (p *plan) reading(k watches.Kind) *plan {
	if was, served := p.kinds[kindOf(k)]; !served || gvrOf(was) == gvrOf(k) {
		return p
	}
	other := *p
	other.kinds = maps.Clone(p.kinds)
	other.kinds[kindOf(k)] = k
	for _, list := range []*[]watches.Kind{&other.dependents, &other.namespaced, &other.unlooked} {
		*list = slices.Clone(*list)
		for i, x := range *list {
			if kindOf(x) == kindOf(k) {
				(*list)[i] = k
			}
		}
	}
	return &other
}

// looksInto reports whether a query may look into a kind that no object names.
func (p *plan) looksInto(k watches.Kind) bool {
	return slices.ContainsFunc(p.dependents, func(d watches.Kind) bool { return gvrOf(d) == gvrOf(k) })
}

func kindOf(k watches.Kind) groupKind { return groupKind{k.Group, k.Kind} }
func gvrOf(k watches.Kind) watches.GVR {
	return watches.GVR{Group: k.Group, Version: k.Version, Resource: k.Name}
}

// gvkOf is how answers name a kind.
func gvkOf(k watches.Kind) string { return k.GroupVersion() + "/" + k.Kind }
