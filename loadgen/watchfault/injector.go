package watchfault

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNoSuch is returned for an unknown fault number.
var ErrNoSuch = errors.New("there is no such fault")

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
	keys    map[uint64]struct{} // hashes of what was hit, at most maxKeys
	refused int64               // Refuse: the window that was counted last, 0 is none
}

const (
	// maxKeys bounds the distinct things counted for one fault.
	maxKeys = 10_000
	// maxPaths bounds the paths that have an ordinal of their own; further ones share
	// one.
	maxPaths = 10_000
)

// Info tells about a fault in force.
type Info struct {
	ID    int    `json:"id"`
	Spec  string `json:"spec"`
	Name  string `json:"name"`
	Fired int    `json:"fired"`
	// Keys is the number of distinct things it hit, counted up to 10,000: objects for
	// a fault of events, paths for the others.
	Keys int `json:"keys"`
}

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
	if n := len(in.faults) + len(specs); n > MaxFaults {
		return fmt.Errorf("faults: %d would be in force; at most %d", n, MaxFaults)
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
		return fmt.Errorf("fault %d: %w", id, ErrNoSuch)
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
func (in *Injector) List() []Info {
	in.mu.Lock()
	defer in.mu.Unlock()
	infos := make([]Info, 0, len(in.faults))
	for _, a := range in.faults {
		infos = append(infos, Info{a.id, a.Text, a.Name, a.fired, len(a.keys)})
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

// window says whether a fault may fire now, when the window of its time began, its
// number, and when the answer changes next; a zero time is never.
func (in *Injector) window(a *active, now time.Time) (open bool, began time.Time, round int64, edge time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.windowLocked(a, now)
}

func (in *Injector) windowLocked(a *active, now time.Time) (open bool, began time.Time, round int64, edge time.Time) {
	if in.held || a.removed {
		return false, time.Time{}, 0, time.Time{}
	}
	began = a.begin.Add(a.From)
	since := now.Sub(began)
	switch {
	case since < 0:
		return false, time.Time{}, 0, began
	case a.For == 0:
		return true, began, 0, time.Time{}
	case a.Every > 0:
		round = int64(since / a.Every)
		began = began.Add(time.Duration(round) * a.Every)
		since -= time.Duration(round) * a.Every
		if since >= a.For {
			return false, time.Time{}, round, began.Add(a.Every)
		}
	case since >= a.For:
		return false, time.Time{}, 0, time.Time{}
	}
	return true, began, round, began.Add(a.For)
}

// fire counts a firing on key and reports whether it may take place.
func (in *Injector) fire(a *active, key string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if a.removed || a.Max > 0 && a.fired >= a.Max {
		return false
	}
	a.fired++
	if len(a.keys) < maxKeys {
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
		open, began, _, next := in.windowLocked(a, now)
		if open && a.refused != began.UnixNano() {
			if a.Max > 0 && a.fired >= a.Max {
				open = false
			} else {
				a.refused = began.UnixNano()
				a.fired++
			}
		}
		refuse = refuse || open
		if !next.IsZero() && (edge.IsZero() || next.Before(edge)) {
			edge = next
		}
	}
	return refuse, edge, in.changed
}
