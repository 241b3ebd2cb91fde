package fault

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
)

// Set is the faults in force. It is safe for concurrent use; with one seed and
// one order of requests it hits the same ones.
type Set struct {
	*faultlist.Set[Spec]
	seed uint64
	rng  *rand.Rand // used inside of Set.Pick only

	mu      sync.Mutex // guards changed
	changed <-chan struct{}
}

// NewSet returns a set without faults.
func NewSet(seed uint64) *Set {
	s := &Set{Set: faultlist.NewSet(Spec.common), seed: seed, rng: rand.New(rand.NewPCG(seed, 0x6661756c74))}
	_, s.changed = s.Select(func(Spec) bool { return false })
	return s
}

// Changed is closed after the set has changed since Refusing was called last, for
// whoever runs that.
func (s *Set) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
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
	return s.Set.Pick(now, func(f *Spec) (uint64, bool) {
		if !f.Match.Matches(r.Method, r.Kind) {
			return 0, false
		}
		if f.Key != "" {
			if ok, err := path.Match(f.Key, r.key()); err != nil || !ok {
				return 0, false
			}
		}
		key := func() uint64 { return hash(s.seed, r.Kind, r.key()) }
		if f.Keys < 1 && float64(key()>>11)/(1<<53) >= f.Keys || f.Probability < 1 && s.rng.Float64() >= f.Probability {
			return 0, false
		}
		return key(), true
	})
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
	refuse, begun, again, s.changed = s.Refusal(now)
	return refuse, begun, again
}
