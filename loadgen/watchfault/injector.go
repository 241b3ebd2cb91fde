package watchfault

import (
	"hash/fnv"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
)

// Injector holds the faults in force. It is safe for concurrent use.
type Injector struct {
	*faultlist.Set[Spec]
	seed uint64

	mu       sync.Mutex        // guards ordinals
	ordinals map[string]uint64 // requests so far by verb and path
}

type active = faultlist.Active[Spec]

// maxPaths bounds the paths that have an ordinal of their own; further ones share one.
const maxPaths = 10_000

// NewInjector returns one without faults.
func NewInjector(seed uint64) *Injector {
	return &Injector{Set: faultlist.NewSet[Spec](), seed: seed, ordinals: map[string]uint64{}}
}

// Start lets the times of all faults count from now.
func (in *Injector) Start() { in.Set.Start(time.Now()) }

// Add puts faults in force, written in the package's grammar; their times count from now.
func (in *Injector) Add(text string) error {
	specs, err := Parse(text)
	if err != nil {
		return err
	}
	return in.Set.Add(specs, time.Now())
}

// snapshot returns the faults of a class that may hit a request, and a channel that is closed when the faults change
// next.
func (in *Injector) snapshot(c class, r request) ([]*active, <-chan struct{}) {
	return in.Select(func(s Spec) bool { return effects[s.Effect].class == c && s.selects(r) })
}

// fire counts a firing on key and reports whether it may take place.
func (in *Injector) fire(a *active, key string) bool { return in.Fire(a, mix(in.seed, key)) }

func (in *Injector) ordinal(r request) uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	k := r.verb + " " + r.path
	if _, known := in.ordinals[k]; !known && len(in.ordinals) >= maxPaths {
		k = ""
	}
	in.ordinals[k]++
	return in.ordinals[k]
}

// hits draws whether a fault hits the nth thing called what. The draw depends on nothing else.
func (in *Injector) hits(a *active, what string, n ...uint64) bool {
	return a.Spec.Probability == 1 || in.draw(a, what, n...) < a.Spec.Probability
}

func (in *Injector) draw(a *active, what string, n ...uint64) float64 {
	return float64(mix(in.seed, a.Spec.Text+"\x00"+what, n...)>>11) / (1 << 53)
}

// mix spreads its arguments evenly over 64 bits, the same in every process.
func mix(seed uint64, text string, n ...uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	x := h.Sum64()
	for _, v := range append(n, seed) {
		x ^= v
		// The finisher of MurmurHash3: FNV's high bits are weak for short input.
		x ^= x >> 33
		x *= 0xff51afd7ed558ccd
		x ^= x >> 33
		x *= 0xc4ceb9fe1a85ec53
		x ^= x >> 33
	}
	return x
}

// Refusing reports whether connections are refused now.
func (in *Injector) Refusing() bool {
	refuse, _, _, _ := in.Refusal(time.Now())
	return refuse
}
