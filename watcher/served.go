package watcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/watcher/collector"
)

// served keeps up with what the apiserver serves, as far as the files ask for it.
type served struct {
	wanted
	host    string
	lookout *collector.Lookout

	mu     sync.Mutex
	groups []collector.APIGroup // guarded by mu; of the last answer
	missed *trouble             // guarded by mu; what the last look missed; nil: nothing
	looked bool                 // guarded by mu; there was a look
	to     *collector.Kinds     // guarded by mu; learns what is wanted; nil: nobody does
}

func newServed(w wanted, kube *rest.Config) (*served, error) {
	l, err := collector.NewLookout(kube, w.looksAt)
	if err != nil {
		key := "k8s"
		if w.cfg.K8s.Kubeconfig != "" {
			key = "k8s.kubeconfig"
		}
		return nil, &InputError{Key: key, Err: err}
	}
	s := &served{wanted: w, host: kube.Host, lookout: l}
	l.Tell(s.learn)
	return s, nil
}

func (s *served) look(ctx context.Context) (found []collector.Resource, broken []string, err error) {
	groups, err := s.lookout.Look(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("the apiserver at %s does not say what it serves, check the address and the rights: %w",
			s.host, err)
	}
	found, broken, _ = s.of(groups)
	return found, broken, nil
}

// of returns what is wanted of an answer; its error is a *collector.DiscoveryError.
func (s *served) of(groups []collector.APIGroup) (found []collector.Resource, broken []string, err error) {
	found, err = s.discovery().Resources(groups)
	if partial, ok := errors.AsType[*collector.DiscoveryError](err); ok {
		for gv := range partial.Broken {
			if parsed, err := schema.ParseGroupVersion(gv); err == nil {
				broken = append(broken, parsed.Group)
			}
		}
	}
	return found, broken, err
}

func (s *served) learn(groups []collector.APIGroup, err error) time.Duration {
	var found []collector.Resource
	var broken []string
	answered := err == nil
	if answered {
		found, broken, err = s.of(groups)
	}
	to := s.note(groups, err)
	again := to != nil && answered && to.Discovered(found, func(group string) bool {
		return slices.Contains(broken, group)
	})
	if again || err != nil {
		return collector.LookBroken
	}
	return collector.LookAgain
}

// note keeps an answer, and what it lacks, and returns its followers.
func (s *served) note(groups []collector.APIGroup, err error) *collector.Kinds {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = true
	if groups != nil {
		s.groups = groups
	}
	before := s.missed
	if s.missed = nil; err != nil {
		s.missed = &trouble{since: time.Now(), err: err}
		if before != nil {
			s.missed.since = before.since
		}
	}
	return s.to
}

func (s *served) follow(to *collector.Kinds) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = to
}

// last returns what was last learned; complete means that nothing was missed.
func (s *served) last() (groups []collector.APIGroup, complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups, s.looked && s.missed == nil
}

func (s *served) trouble() *trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missed
}
