package watches

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
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

// served is what the cluster serves, as discovery and the definitions of custom kinds say.
type served struct {
	deny    denied
	lookout *collector.Lookout
	logger  *slog.Logger

	catalogue atomic.Pointer[Catalogue]
	version   atomic.Pointer[string] // nil: not known
	learned   sync.Once              // closes known
	known     chan struct{}          // closed once it was learned what is served

	learning    sync.Mutex             // may be taken while Watches.mu is held
	groups      []collector.APIGroup   // guarded by learning; what discovery said last
	lookErr     error                  // guarded by learning; what was wrong with it
	definitions map[string]*definition // guarded by learning; by name; see definitions.go
}

// Known is closed once it was learned what the cluster serves; Served is empty before.
func (s *served) Known() <-chan struct{} { return s.known }

// Version is the release of the cluster as it was learned at the start, such as v1.36.3;
// empty before.
func (s *served) Version() string {
	if v := s.version.Load(); v != nil {
		return *v
	}
	return ""
}

// Served returns what the cluster serves, as far as it is known: the same pointer until
// that changes.
func (s *served) Served() *Catalogue { return s.catalogue.Load() }

// askVersion asks for the cluster's version until it is known.
func (s *served) askVersion(ctx context.Context) {
	for pause := lookFirst; ctx.Err() == nil; pause = min(2*pause, collector.LookBroken) {
		asking, cancel := context.WithTimeout(ctx, versionTimeout)
		v, err := s.lookout.ServerVersion(asking)
		cancel()
		if err == nil && v != "" {
			s.version.Store(&v)
			return
		}
		_ = lifecycle.Pause(ctx, pause) // an end of ctx is seen above
	}
}

// learn takes what discovery said. It returns after which time to ask again.
func (s *served) learn(groups []collector.APIGroup, err error) time.Duration {
	pause := collector.LookAgain
	if err == nil && len(groups) == 0 {
		err = errNothing
	}
	s.learning.Lock()
	said := s.lookErr != nil
	s.lookErr = err
	if err == nil {
		before := map[string]collector.APIVersion{}
		for _, g := range s.groups {
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
				pause, s.lookErr = collector.LookBroken, v.Err
				if was := before[g.Name+"/"+v.Name]; len(was.Resources) > 0 {
					g.Versions[i].Resources = was.Resources
				}
			}
		}
		s.groups = groups
		maps.DeleteFunc(s.definitions, func(_ string, d *definition) bool {
			return d.gone() && time.Since(d.at) > goneFor
		})
	}
	err = s.lookErr
	known := s.groups != nil
	s.renew()
	s.learning.Unlock()
	switch {
	case !known:
		pause = lookFirst
	case err != nil:
		pause = collector.LookBroken
	}
	if err != nil && !said {
		s.logger.Warn("discovery is incomplete; what was known of the rest stays", "error", err)
	}
	if known {
		s.learned.Do(func() { close(s.known) })
	}
	return pause
}

// discovered returns a resource of the last discovery.
func (s *served) discovered(r GVR) (Kind, bool) {
	s.learning.Lock()
	defer s.learning.Unlock()
	for _, g := range s.groups {
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

// incomplete is why nothing is known yet; nil once something is.
func (s *served) incomplete() error {
	s.learning.Lock()
	defer s.learning.Unlock()
	if s.groups != nil {
		return nil
	}
	return cmp.Or(s.lookErr, errLooking)
}

// learnt reports whether discovery has said which resources a version of a group has, or that
// there is none.
func (s *served) learnt(r GVR) bool {
	s.learning.Lock()
	defer s.learning.Unlock()
	for _, g := range s.groups {
		for _, v := range g.Versions {
			if g.Name == r.Group && v.Name == r.Version && v.Err != nil && len(v.Resources) == 0 {
				return false
			}
		}
	}
	return s.groups != nil
}

// defined reports whether a definition is known for the resource.
func (s *served) defined(r GVR) bool {
	s.learning.Lock()
	defer s.learning.Unlock()
	_, custom := s.definitions[r.Resource+"."+r.Group]
	return custom
}

// define takes what definitions say, by their names.
func (s *served) define(changes map[string]*definition) {
	s.learning.Lock()
	defer s.learning.Unlock()
	maps.Copy(s.definitions, changes)
	s.renew()
}

// vanished returns an entry for each known definition that is not among those there are.
func (s *served) vanished(all map[string]*definition) map[string]*definition {
	s.learning.Lock()
	defer s.learning.Unlock()
	gone := map[string]*definition{}
	for name, d := range s.definitions {
		if _, is := all[name]; !is && !d.gone() {
			gone[name] = &definition{at: time.Now()}
		}
	}
	return gone
}

// renew brings the catalogue up to date. The caller holds learning.
func (s *served) renew() {
	if c := newCatalogue(s.groups, s.definitions, s.deny); !reflect.DeepEqual(c, s.Served()) {
		s.catalogue.Store(c)
	}
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
				if !custom && r.Validate() == nil && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
					put(k)
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
