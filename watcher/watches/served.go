package watches

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/version"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
)

// lookFirst is the pause between two looks until the first one that succeeds.
const lookFirst = time.Second

// versionTimeout bounds the question for the cluster's version, which must not keep from
// discovery.
const versionTimeout = 5 * time.Second

// errNothing is an answer that no apiserver gives which is ready.
var errNothing = errors.New("the apiserver says that it serves nothing")

// askVersion asks for the cluster's version until it is known.
func (w *Watches) askVersion(ctx context.Context) {
	for pause := lookFirst; ctx.Err() == nil; pause = min(2*pause, collector.LookBroken) {
		asking, cancel := context.WithTimeout(ctx, versionTimeout)
		v, err := w.lookout.ServerVersion(asking)
		cancel()
		if err == nil && v != "" {
			w.version.Store(&v)
			return
		}
		_ = lifecycle.Pause(ctx, pause) // an end of ctx is seen above
	}
}

// learn takes what discovery said. It returns after which time to ask again.
func (w *Watches) learn(groups []collector.APIGroup, err error) time.Duration {
	pause := collector.LookAgain
	if err == nil && len(groups) == 0 {
		err = errNothing
	}
	w.mu.Lock()
	said := w.lookErr != nil
	w.lookErr = err
	if err == nil {
		before := map[string]collector.APIVersion{}
		for _, g := range w.groups {
			for _, v := range g.Versions {
				before[g.Name+"/"+v.Name] = v
			}
		}
		groups = slices.Clone(groups) // others have them, too
		for at, g := range groups {
			g.Versions = slices.Clone(g.Versions)
			groups[at] = g
			for i, v := range g.Versions {
				if v.Err == nil {
					continue
				}
				pause, w.lookErr = collector.LookBroken, v.Err
				if was := before[g.Name+"/"+v.Name]; len(was.Resources) > 0 {
					g.Versions[i].Resources = was.Resources
				}
			}
		}
		w.groups = groups
		maps.DeleteFunc(w.definitions, func(_ string, d *definition) bool {
			return d.gone() && time.Since(d.at) > goneFor
		})
	}
	err = w.lookErr
	known := w.groups != nil
	w.mu.Unlock()
	switch {
	case !known:
		pause = lookFirst
	case err != nil:
		pause = collector.LookBroken
	}
	if err != nil && !said {
		w.logger.Warn("discovery is incomplete; what was known of the rest stays", "error", err)
	}
	w.update()
	if known {
		w.learned.Do(func() { close(w.known) })
	}
	return pause
}

// discovered returns a resource of the last discovery. The caller holds mu.
func (w *Watches) discovered(r GVR) (Kind, bool) {
	for _, g := range w.groups {
		for _, v := range g.Versions {
			for _, found := range v.Resources {
				if k := (Kind{found.Resource, found.Singular, found.ShortNames, found.Categories}); gvrOf(k) == r {
					return k, true
				}
			}
		}
	}
	return Kind{}, false
}

// update brings the catalogue up to date, and ends the watches of kinds that are not served
// any more or are others now.
func (w *Watches) update() {
	w.mu.Lock()
	c := newCatalogue(w.groups, w.definitions, w.deny)
	if was := w.Served(); reflect.DeepEqual(c, was) {
		c = was
	} else {
		w.catalogue.Store(c)
	}
	ended := w.sweep(c)
	w.mu.Unlock()
	w.end(ended)
}

// CatalogueOf makes the catalogue of what discovery says alone.
func CatalogueOf(c Config, groups []collector.APIGroup) *Catalogue {
	deny, _ := parseDeny(c.Deny)
	return newCatalogue(groups, nil, deny)
}

// newCatalogue makes the catalogue of what discovery and the definitions say; of what a definition
// is known for, only what that says.
func newCatalogue(discovered []collector.APIGroup, definitions map[string]*definition, deny denied) *Catalogue {
	all := map[string][]Version{}
	c := &Catalogue{}
	put := func(k Kind) {
		if deny.has(k.Group, k.Name) {
			c.Withheld = append(c.Withheld, k)
			return
		}
		versions := all[k.Group]
		i := slices.IndexFunc(versions, func(v Version) bool { return v.Name == k.Version })
		if i < 0 { // of a definition
			versions = append(versions, Version{Name: k.Version})
			slices.SortStableFunc(versions, func(a, b Version) int {
				return version.CompareKubeAwareVersionStrings(b.Name,
					a.Name)
			})
			i = slices.IndexFunc(versions, func(v Version) bool { return v.Name == k.Version })
			all[k.Group] = versions
		}
		versions[i].Kinds = append(versions[i].Kinds, k)
	}
	for _, g := range discovered {
		for _, v := range g.Versions {
			all[g.Name] = append(all[g.Name], Version{Name: v.Name})
		}
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				_, custom := definitions[r.Name+"."+g.Name]
				k := Kind{r.Resource, r.Singular, r.ShortNames, r.Categories}
				switch {
				case custom || r.Validate() != nil:
				case slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch"):
					put(k)
				default:
					c.Unwatchable = append(c.Unwatchable, k)
				}
			}
		}
	}
	for _, d := range definitions {
		for _, k := range d.kinds {
			put(k)
		}
	}
	slices.SortFunc(c.Withheld, func(a, b Kind) int { return cmp.Compare(gvrOf(a).String(), gvrOf(b).String()) })
	for _, name := range slices.Sorted(maps.Keys(all)) {
		g := Group{Name: name}
		for _, v := range all[name] {
			if len(v.Kinds) > 0 {
				slices.SortFunc(v.Kinds, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
				g.Versions = append(g.Versions, v)
			}
		}
		if len(g.Versions) > 0 {
			c.Groups = append(c.Groups, g)
		}
	}
	return c
}
