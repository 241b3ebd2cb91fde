package relation

import (
	"slices"
	"strings"

	"github.com/watchbench/watchbench/watcher/watches"
)

// plan lists the kinds that a query looks into.
type plan struct {
	kinds map[groupKind]watches.Kind // in the version that is read
	// dependents are the kinds whose owners are looked at, and unlooked the rest.
	dependents, unlooked []watches.Kind
}

// newPlan reads each kind in the version that is followed, else in the preferred one, and the start in its own.
func newPlan(served *watches.Catalogue, followed []watches.GVR, wanted []string, start watches.Kind) *plan {
	p := &plan{kinds: map[groupKind]watches.Kind{kindOf(start): start}}
	var order []groupKind
	for _, g := range served.Groups {
		for _, v := range g.Versions {
			for _, k := range v.Resources {
				of := kindOf(k)
				if !slices.Contains(order, of) {
					order = append(order, of)
				}
				was, known := p.kinds[of]
				if !known || of != kindOf(start) && slices.Contains(followed, watches.GVROf(k)) &&
					!slices.Contains(followed, watches.GVROf(was)) {
					p.kinds[of] = k
				}
			}
		}
	}
	for _, of := range order {
		k := p.kinds[of]
		follows := func(r watches.GVR) bool { return r.Group == k.Group && r.Resource == k.Name }
		switch {
		case of == secrets:
		case slices.ContainsFunc(followed, follows), slices.Contains(wanted, strings.TrimSuffix(k.Name+"."+k.Group, ".")):
			p.dependents = append(p.dependents, k)
		default:
			p.unlooked = append(p.unlooked, k)
		}
	}
	return p
}

// looksInto reports whether a query may look into a kind that no object names.
func (p *plan) looksInto(k watches.Kind) bool {
	return slices.ContainsFunc(p.dependents, func(d watches.Kind) bool { return watches.GVROf(d) == watches.GVROf(k) })
}

func kindOf(k watches.Kind) groupKind { return groupKind{k.Group, k.Kind} }

// gvkOf is how answers name a kind.
func gvkOf(k watches.Kind) string { return k.GroupVersion() + "/" + k.Kind }
