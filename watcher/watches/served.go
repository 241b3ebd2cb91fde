package watches

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/collector"
)

// lookFirst is the pause between two looks until the first one that succeeds.
const lookFirst = time.Second

// versionTimeout bounds the question for the cluster's version, which must not keep from discovery.
const versionTimeout = 5 * time.Second

// errNothing is an answer that no apiserver gives which is ready.
var errNothing = errors.New("the apiserver says that it serves nothing")

// served lists the resources that the cluster serves, by discovery.
type served struct {
	deny    denied
	lookout *collector.Lookout
	logger  *slog.Logger

	catalogue atomic.Pointer[Catalogue]
	version   atomic.Pointer[string] // nil: not known
	learned   sync.Once              // closes known
	known     chan struct{}          // closed once it was learned what is served

	learning sync.Mutex           // may be taken while Watches.mu is held
	groups   []collector.APIGroup // guarded by learning; what discovery said last
	lookErr  error                // guarded by learning; what was wrong with it
}

// Known is closed once it was learned what the cluster serves; Served is empty before.
func (s *served) Known() <-chan struct{} { return s.known }

// Version is the release of the cluster as it was learned at the start, such as v1.36.3; empty before.
func (s *served) Version() string {
	if v := s.version.Load(); v != nil {
		return *v
	}
	return ""
}

// Served returns what the cluster serves, as far as it is known: the same pointer until that changes.
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
	}
	err = s.lookErr
	known := s.groups != nil
	if c := newCatalogue(s.groups, s.deny); !reflect.DeepEqual(c, s.Served()) {
		s.catalogue.Store(c)
	}
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

// incomplete is why nothing is known yet; nil once something is.
func (s *served) incomplete() error {
	s.learning.Lock()
	defer s.learning.Unlock()
	if s.groups != nil {
		return nil
	}
	return cmp.Or(s.lookErr, errLooking)
}

// learnt reports whether discovery has said which resources a version of a group has, or that there is none.
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

func newCatalogue(discovered []collector.APIGroup, deny denied) *Catalogue {
	c := &Catalogue{}
	for _, g := range discovered {
		group := collector.APIGroup{Name: g.Name}
		for _, v := range g.Versions {
			kinds := slices.DeleteFunc(slices.Clone(v.Resources), func(r collector.APIResource) bool {
				return r.Validate() != nil || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "watch") ||
					deny.has(r.Group, r.Name)
			})
			if len(kinds) > 0 {
				slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
				group.Versions = append(group.Versions, collector.APIVersion{Name: v.Name, Resources: kinds})
			}
		}
		if len(group.Versions) > 0 {
			c.Groups = append(c.Groups, group)
		}
	}
	slices.SortFunc(c.Groups, func(a, b collector.APIGroup) int { return cmp.Compare(a.Name, b.Name) })
	return c
}
