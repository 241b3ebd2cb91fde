package faultlist

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNoSuch is returned for an unknown fault number.
var ErrNoSuch = errors.New("there is no such fault")

// MaxKeys bounds the distinct things counted for one fault.
const MaxKeys = 10_000

// Fault holds the fields common to faults of all kinds.
type Fault struct {
	Text string // as written
	Name string // for counts
	Window
	Max     int  // firings; 0 is unlimited
	Refuses bool // it concerns all connections while its window is open

	Probability float64
}

// Common is the fault itself, for specs that embed it.
func (f Fault) Common() Fault { return f }

// Spec is a fault of some kind.
type Spec interface{ Common() Fault }

// Active is a fault in force. It belongs to its Set.
type Active[S Spec] struct {
	Spec S
	ID   int // from 1, unique within the set

	// The set's mutex guards the rest.
	fault   Fault
	begin   time.Time
	removed bool
	fired   int
	keys    map[uint64]struct{} // hashes of what was hit, at most MaxKeys
	counted time.Time           // Refuses: the opening that was counted last
}

// Set is the faults in force. It is safe for concurrent use.
type Set[S Spec] struct {
	some atomic.Bool

	mu      sync.Mutex // guards the rest
	held    bool       // nothing fires before Start
	nextID  int
	faults  []*Active[S]
	changed chan struct{} // closed and replaced at each change
}

// NewSet returns a set without faults.
func NewSet[S Spec]() *Set[S] { return &Set[S]{changed: make(chan struct{})} }

// Any reports whether there is any fault. It takes no lock.
func (s *Set[S]) Any() bool { return s.some.Load() }

// Hold keeps all faults from firing until Start.
func (s *Set[S]) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
	s.notify()
}

// Start lets the times of all faults count from now.
func (s *Set[S]) Start(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	for _, a := range s.faults {
		a.begin = now
	}
	s.notify()
}

// Add puts faults in force; their times count from now.
func (s *Set[S]) Add(specs []S, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.faults) + len(specs); n > Max {
		return fmt.Errorf("faults: %d would be in force; at most %d", n, Max)
	}
	for _, spec := range specs {
		s.nextID++
		s.faults = append(s.faults, &Active[S]{Spec: spec, ID: s.nextID, fault: spec.Common(), begin: now,
			keys: map[uint64]struct{}{}})
	}
	s.notify()
	return nil
}

// Remove ends a fault, or all when id is 0. The error is ErrNoSuch.
func (s *Set[S]) Remove(id int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.faults)
	s.faults = slices.DeleteFunc(s.faults, func(a *Active[S]) bool {
		a.removed = id == 0 || a.ID == id
		return a.removed
	})
	if id != 0 && n == len(s.faults) {
		return fmt.Errorf("fault %d: %w", id, ErrNoSuch)
	}
	s.notify()
	return nil
}

// notify is called with mu held.
func (s *Set[S]) notify() {
	s.some.Store(len(s.faults) > 0)
	close(s.changed)
	s.changed = make(chan struct{})
}

// List describes the faults in force, in the order they were added.
func (s *Set[S]) List() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make([]Info, 0, len(s.faults))
	for _, a := range s.faults {
		infos = append(infos, Info{ID: a.ID, Spec: a.fault.Text, Name: a.fault.Name, Fired: a.fired, Keys: len(a.keys)})
	}
	return infos
}

// Select returns the faults that match, in the order they were added, and a channel that is closed when the set changes
// next. match must not use the set.
func (s *Set[S]) Select(match func(S) bool) ([]*Active[S], <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Active[S]
	for _, a := range s.faults {
		if match(a.Spec) {
			all = append(all, a)
		}
	}
	return all, s.changed
}

// Removed reports whether a fault is no longer in force, and returns a channel that is closed when the set changes
// next.
func (s *Set[S]) Removed(a *Active[S]) (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.removed, s.changed
}

// Phase returns a fault's position in its window.
func (s *Set[S]) Phase(a *Active[S], now time.Time) Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase(a, now)
}

func (s *Set[S]) phase(a *Active[S], now time.Time) Phase {
	if s.held || a.removed {
		return Phase{}
	}
	return a.fault.At(a.begin, now)
}

// Fire counts a firing on the thing with that hash and reports whether it may take place.
func (s *Set[S]) Fire(a *Active[S], key uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.fire(key)
}

func (a *Active[S]) fire(key uint64) bool {
	if a.removed || a.usedUp() {
		return false
	}
	a.fired++
	if len(a.keys) < MaxKeys {
		a.keys[key] = struct{}{}
	}
	return true
}

func (a *Active[S]) usedUp() bool { return a.fault.Max > 0 && a.fired >= a.fault.Max }

// Pick counts a firing of the first fault that may fire now and that hits, and returns it; nil where there is none.
// hits returns the hash of the thing hit; it must not use the set, and is called by one goroutine at a time.
func (s *Set[S]) Pick(now time.Time, hits func(*S) (key uint64, ok bool)) *S {
	if !s.Any() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.faults {
		if a.fault.Refuses || a.usedUp() || !s.phase(a, now).Open {
			continue
		}
		if key, ok := hits(&a.Spec); ok && a.fire(key) {
			return &a.Spec
		}
	}
	return nil
}

// Refusal reports whether connections are refused now, the names of the faults whose window opened since the last call,
// when the answer changes next by time (zero is never), and a channel that is closed when the set changes next.
func (s *Set[S]) Refusal(now time.Time) (refuse bool, begun []string, edge time.Time, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.faults {
		if !a.fault.Refuses {
			continue
		}
		p := s.phase(a, now)
		if p.Open && !a.counted.Equal(p.Began) {
			if p.Open = !a.usedUp(); p.Open {
				a.counted = p.Began
				a.fired++
				begun = append(begun, a.fault.Name)
			}
		}
		refuse = refuse || p.Open
		if !p.Edge.IsZero() && (edge.IsZero() || p.Edge.Before(edge)) {
			edge = p.Edge
		}
	}
	return refuse, begun, edge, s.changed
}
