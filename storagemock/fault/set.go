package fault

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
)

// Set is the faults in force. It is safe for concurrent use; with one seed and
// one order of requests it hits the same ones.
type Set struct {
	seed uint64
	// some is set while there is any fault, so that without one Pick costs nothing.
	some    atomic.Bool
	changed chan struct{} // of size 1: a change that was not looked at yet

	mu     sync.Mutex // guards the rest
	rng    *rand.Rand
	nextID int
	faults []*active
}

// active is a fault in force.
type active struct {
	Spec
	id    int
	begin time.Time
	fired int
	keys  map[uint64]struct{} // hashes of the keys hit, at most faultlist.MaxKeys
	on    bool                // Refuse: the window is open
}

// NewSet returns a set without faults.
func NewSet(seed uint64) *Set {
	return &Set{seed: seed, rng: rand.New(rand.NewPCG(seed, 0x6661756c74)), changed: make(chan struct{}, 1)}
}

// Add puts faults in force; their times count from now.
func (s *Set) Add(specs []Spec, now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.faults) + len(specs); n > faultlist.Max {
		return fmt.Errorf("faults: %d would be in force; at most %d", n, faultlist.Max)
	}
	for _, sp := range specs {
		s.nextID++
		s.faults = append(s.faults, &active{Spec: sp, id: s.nextID, begin: now, keys: map[uint64]struct{}{}})
	}
	s.notify()
	return nil
}

// Remove ends a fault, or all when id is 0.
func (s *Set) Remove(id int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.faults)
	s.faults = slices.DeleteFunc(s.faults, func(a *active) bool { return id == 0 || a.id == id })
	if id != 0 && n == len(s.faults) {
		return fmt.Errorf("fault %d: %w", id, faultlist.ErrNoSuch)
	}
	s.notify()
	return nil
}

// notify is called with s.mu held.
func (s *Set) notify() {
	s.some.Store(len(s.faults) > 0)
	select {
	case s.changed <- struct{}{}:
	default: // one is waiting already
	}
}

// Changed delivers after the set has changed, for whoever runs Refusing.
func (s *Set) Changed() <-chan struct{} { return s.changed }

// List tells about the faults in force.
func (s *Set) List() []faultlist.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	infos := make([]faultlist.Info, 0, len(s.faults))
	for _, a := range s.faults {
		infos = append(infos, faultlist.Info{ID: a.id, Spec: a.Text, Name: a.Name, Fired: a.fired, Keys: len(a.keys)})
	}
	return infos
}

// Request is what faults are chosen by.
type Request struct {
	Method, Kind, Namespace, Name string
}

// key is what globs match.
func (r Request) key() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// Pick returns the fault that hits the request, or nil, and counts it.
func (s *Set) Pick(r Request, now time.Time) *Spec {
	if !s.some.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.faults {
		if a.Effect == Refuse || !a.open(now) || !a.selects(r, s.seed) {
			continue
		}
		if a.Probability < 1 && s.rng.Float64() >= a.Probability {
			continue
		}
		a.fired++
		if len(a.keys) < faultlist.MaxKeys {
			a.keys[hash(s.seed, r.Kind, r.key())] = struct{}{}
		}
		return &a.Spec
	}
	return nil
}

// open reports whether the fault may fire at that time.
func (a *active) open(now time.Time) bool {
	if a.Max > 0 && a.fired >= a.Max {
		return false
	}
	return a.At(a.begin, now).Open
}

func (a *active) selects(r Request, seed uint64) bool {
	if !a.Match.Matches(r.Method, r.Kind) {
		return false
	}
	if a.Key != "" {
		if ok, err := path.Match(a.Key, r.key()); err != nil || !ok {
			return false
		}
	}
	return a.Keys == 1 || float64(hash(seed, r.Kind, r.key())>>11)/(1<<53) < a.Keys
}

// hash spreads keys evenly; it is the same in every process.
func hash(seed uint64, kind, key string) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d\x00%s\x00%s", seed, kind, key)
	x := h.Sum64() // FNV's high bits are weak for short input: mix
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// Refusing reports whether connections are to be refused, which faults began to
// do so just now, and when to ask again: zero is not before the next change.
func (s *Set) Refusing(now time.Time) (refuse bool, begun []string, again time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.faults {
		if a.Effect != Refuse {
			continue
		}
		phase := a.At(a.begin, now)
		on := phase.Open && (a.on || a.Max == 0 || a.fired < a.Max)
		if on && !a.on {
			a.fired++
			begun = append(begun, a.Name)
		}
		a.on = on
		refuse = refuse || on
		if edge := phase.Edge; !edge.IsZero() && (again.IsZero() || edge.Before(again)) {
			again = edge
		}
	}
	return refuse, begun, again
}
