package watchfault

import (
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/faultlist"
)

// Injector holds the faults in force. It is safe for concurrent use.
type Injector struct {
	seed uint64
	// some is set while there is any fault, so that without one a list costs nothing.
	some atomic.Bool

	mu       sync.Mutex
	held     bool              // guarded by mu: nothing fires before Start
	nextID   int               // guarded by mu
	faults   []*active         // guarded by mu
	changed  chan struct{}     // guarded by mu; closed and replaced at each change
	ordinals map[string]uint64 // guarded by mu; requests so far by verb and path
}

// active is a fault in force. The injector's mutex guards what is not in Spec.
type active struct {
	Spec
	class   class
	id      int
	begin   time.Time
	removed bool
	fired   int
	keys    map[uint64]struct{} // hashes of what was hit, at most faultlist.MaxKeys
	refused int64               // Refuse: the window that was counted last, 0 is none
}

const (
	// maxPaths bounds the paths that have an ordinal of their own; further ones share
	// one.
	maxPaths = 10_000
)

// NewInjector returns one without faults.
func NewInjector(seed uint64) *Injector {
	return &Injector{seed: seed, changed: make(chan struct{}), ordinals: map[string]uint64{}}
}

// Hold keeps all faults from firing until Start.
func (in *Injector) Hold() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.held = true
	in.notify()
}

// Start lets the times of all faults count from now.
func (in *Injector) Start() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.held = false
	for _, a := range in.faults {
		a.begin = time.Now()
	}
	in.notify()
}

// Add puts faults in force, written in the package's grammar; their times count from
// now.
func (in *Injector) Add(text string) error {
	specs, err := Parse(text)
	if err != nil {
		return err
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if n := len(in.faults) + len(specs); n > faultlist.Max {
		return fmt.Errorf("faults: %d would be in force; at most %d", n, faultlist.Max)
	}
	for _, s := range specs {
		in.nextID++
		in.faults = append(in.faults, &active{Spec: s, class: effects[s.Effect].class, id: in.nextID, begin: time.Now(), keys: map[uint64]struct{}{}})
	}
	in.notify()
	return nil
}

// Remove ends a fault, or all when id is 0. Watches that it holds go on.
func (in *Injector) Remove(id int) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := len(in.faults)
	in.faults = slices.DeleteFunc(in.faults, func(a *active) bool {
		a.removed = id == 0 || a.id == id
		return a.removed
	})
	if id != 0 && n == len(in.faults) {
		return fmt.Errorf("fault %d: %w", id, faultlist.ErrNoSuch)
	}
	in.notify()
	return nil
}

// notify is called with mu held.
func (in *Injector) notify() {
	in.some.Store(len(in.faults) > 0)
	close(in.changed)
	in.changed = make(chan struct{})
}

// List tells about the faults in force, in the order they were added.
func (in *Injector) List() []faultlist.Info {
	in.mu.Lock()
	defer in.mu.Unlock()
	infos := make([]faultlist.Info, 0, len(in.faults))
	for _, a := range in.faults {
		infos = append(infos, faultlist.Info{ID: a.id, Spec: a.Text, Name: a.Name, Fired: a.fired, Keys: len(a.keys)})
	}
	return infos
}

// snapshot returns the faults of a class that may hit a request, and what tells of
// the next change.
func (in *Injector) snapshot(c class, r request) ([]*active, <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	var all []*active
	for _, a := range in.faults {
		if a.class == c && (c == perServer || a.selects(r)) {
			all = append(all, a)
		}
	}
	return all, in.changed
}

// ordinal numbers the requests of a verb and path from 1.
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

// phase says where a fault stands in its window.
func (in *Injector) phase(a *active, now time.Time) faultlist.Phase {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.phaseLocked(a, now)
}

func (in *Injector) phaseLocked(a *active, now time.Time) faultlist.Phase {
	if in.held || a.removed {
		return faultlist.Phase{}
	}
	return a.At(a.begin, now)
}

// fire counts a firing on key and reports whether it may take place.
func (in *Injector) fire(a *active, key string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if a.removed || a.Max > 0 && a.fired >= a.Max {
		return false
	}
	a.fired++
	if len(a.keys) < faultlist.MaxKeys {
		a.keys[mix(in.seed, key)] = struct{}{}
	}
	return true
}

// hits draws whether a fault hits the nth thing called what. The draw depends on
// nothing else.
func (in *Injector) hits(a *active, what string, n ...uint64) bool {
	return a.Probability == 1 || in.draw(a, what, n...) < a.Probability
}

// draw is a number from 0 up to 1.
func (in *Injector) draw(a *active, what string, n ...uint64) float64 {
	return float64(mix(in.seed, a.Text+"\x00"+what, n...)>>11) / (1 << 53)
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
	refuse, _, _ := in.Refusal()
	return refuse
}

// Refusal reports whether connections are refused now, when that changes next by
// time (zero is never), and what tells that it may change by hand.
func (in *Injector) Refusal() (refuse bool, edge time.Time, changed <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	now := time.Now()
	for _, a := range in.faults {
		if a.Effect != Refuse {
			continue
		}
		p := in.phaseLocked(a, now)
		if p.Open && a.refused != p.Began.UnixNano() {
			if a.Max > 0 && a.fired >= a.Max {
				p.Open = false
			} else {
				a.refused = p.Began.UnixNano()
				a.fired++
			}
		}
		refuse = refuse || p.Open
		if !p.Edge.IsZero() && (edge.IsZero() || p.Edge.Before(edge)) {
			edge = p.Edge
		}
	}
	return refuse, edge, in.changed
}
