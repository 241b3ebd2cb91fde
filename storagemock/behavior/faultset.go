package behavior

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
)

// FaultSet is the faults in force. It is safe for concurrent use; with one seed and one order of requests it hits the
// same ones.
type FaultSet struct {
	*faultlist.Set[FaultSpec]
	seed uint64
	rng  *rand.Rand // used inside of FaultSet.Pick only
}

// NewFaultSet returns a set without faults.
func NewFaultSet(seed uint64) *FaultSet {
	return &FaultSet{Set: faultlist.NewSet[FaultSpec](), seed: seed, rng: rand.New(rand.NewPCG(seed, 0x6661756c74))}
}

// Request holds the properties of a request that select its faults.
type Request struct {
	Method, Kind, Namespace, Name string
	Instance                      int
}

// key is the string that globs match.
func (r Request) key() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// Pick returns the fault that hits the request, or nil, and counts it.
func (s *FaultSet) Pick(r Request, now time.Time) *FaultSpec {
	return s.Set.Pick(now, func(f *FaultSpec) (uint64, bool) {
		if !f.Match.Matches(r.Method, r.Kind) || f.Instance >= 0 && f.Instance != r.Instance {
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
