package collector

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
)

// Collection collects the kinds.
type Collection interface {
	Resources() []Resource
	AddResource(Resource) error
	MoveResource(Resource) error
	RemoveResource(key string) error
	NotServed(key string) bool
}

// KindsSettings are passed by code.
type KindsSettings struct {
	To Collection
	// WhiteList are the group/versions whose kinds keep their names before others.
	WhiteList []string
	Custom    Custom
	// Added is called with the key of a kind that is collected, or collected from another
	// version, from now on; Removed with one that no longer is.
	Added, Removed func(key string)
	Registry       prometheus.Registerer // nil: no metrics
	Logger         *slog.Logger
}

// Kinds decides which kinds are collected, from which version of their API, and under which kind the objects of each
// are stored. Its methods may be called from several goroutines.
//
//  1. A kind that both discovery and a CustomResourceDefinition name is collected as its definition says.
//  2. The kind in storage does not depend on the order in which kinds came: see AssignKeyKinds. One that must give up
//     its name to a later one is collected anew under the other.
//  3. A kind that discovery no longer names is given up only if its group could be read, its watch is answered with
//     404, and both have been so for a while.
type Kinds struct {
	set        KindsSettings
	collisions prometheus.Gauge
	primed     bool // of Enqueue

	mu      sync.Mutex // guards the rest
	listed  map[string]Resource
	defined map[string]Resource
	doubts  map[string]doubt  // about listed ones
	said    map[string]string // the warnings about collisions, by id
}

// doubt is an answer of discovery that contradicts a listed kind.
type doubt struct {
	version string // other than the listed one; "": it is not served
	since   time.Time
}

// certainAfter is how long discovery must say the same of a kind before it is believed:
// several apiservers need not agree, and one that has just started may know less.
const certainAfter = 8 * time.Second

// NewKinds makes it of what nobody has discovered yet.
func NewKinds(s KindsSettings) (*Kinds, error) {
	k := &Kinds{
		set: s, collisions: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: metric.KindCollisions,
			Help: "Kinds stored under another name because another group has a kind of the same name.",
		}),
		listed: map[string]Resource{}, defined: map[string]Resource{},
		doubts: map[string]doubt{}, said: map[string]string{},
	}
	return k, meter.Register(s.Registry, k.collisions)
}

// Begin takes what the collection has for what discovery found.
func (k *Kinds) Begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	have := k.set.To.Resources()
	for _, r := range have {
		k.listed[id(r)] = r
	}
	k.warn(have)
}

// id is the name that a definition of the kind has.
func id(r Resource) string { return r.Name + "." + r.Group }

// Discovered takes what discovery found; of the broken groups it could not learn
// everything. It reports whether discovery should be asked again soon.
func (k *Kinds) Discovered(found []Resource, broken func(group string) bool) (again bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	served := map[string]Resource{}
	for _, r := range found {
		served[id(r)] = r
		if _, known := k.listed[id(r)]; !known {
			k.listed[id(r)] = r
		}
	}
	keys := map[string]string{}
	for _, r := range k.set.To.Resources() {
		keys[id(r)] = r.Key()
	}
	for _, name := range slices.Collect(maps.Keys(k.listed)) {
		was := k.listed[name]
		now, is := served[name]
		now.KeyKind, was.KeyKind = "", ""
		if is && now == was || !is && broken(was.Group) {
			delete(k.doubts, name)
			continue
		}
		d, refused := k.doubts[name], k.set.To.NotServed(keys[name])
		if d.version != now.Version || d.since.IsZero() || !is && !refused {
			d = doubt{now.Version, time.Now()}
		}
		k.doubts[name] = d
		certain := time.Since(d.since) >= certainAfter
		switch {
		case is && (certain || refused):
			k.listed[name] = now
		case !is && certain && refused:
			delete(k.listed, name)
		default:
			again = again || is || refused
			continue
		}
		delete(k.doubts, name)
	}
	k.apply()
	return again
}

// define takes the resources that definitions ask for, by the definitions' names; nil is none.
func (k *Kinds) define(changes map[string]*Resource) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := maps.Clone(k.defined)
	for name, r := range changes {
		if r == nil {
			delete(k.defined, name)
		} else {
			k.defined[name] = *r
		}
	}
	if !maps.Equal(before, k.defined) {
		k.apply()
	}
}

// undefine forgets what a definition asked for that is gone, and its kind with it.
func (k *Kinds) undefine(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.defined, name)
	delete(k.listed, name)
	k.apply()
}

// apply makes the collection what it should be. The caller holds mu.
func (k *Kinds) apply() {
	all := maps.Clone(k.listed)
	maps.Copy(all, k.defined)
	want := AssignKeyKinds(slices.Collect(maps.Values(all)), k.set.WhiteList)
	have := map[string]Resource{}
	removed := map[string]bool{}
	for _, h := range k.set.To.Resources() {
		i := slices.IndexFunc(want, func(w Resource) bool { return id(w) == id(h) })
		if i >= 0 && want[i].Key() == h.Key() && want[i].Kind == h.Kind && want[i].Namespaced == h.Namespaced {
			have[id(h)] = h
			continue
		}
		if err := k.set.To.RemoveResource(h.Key()); err != nil {
			k.set.Logger.Error("a resource is still watched", "resource", h, "error", err)
			continue
		}
		removed[h.Key()] = true
		k.set.Logger.Info("resource no longer watched", "resource", h, "stored", h.Key())
	}
	for _, w := range want {
		delete(removed, w.Key())
	}
	for key := range removed {
		k.set.Removed(key)
	}
	for _, w := range want {
		h, collected := have[id(w)]
		do := k.set.To.AddResource
		switch {
		case collected && h == w:
			continue
		case collected:
			do = k.set.To.MoveResource
		}
		if err := do(w); err != nil {
			k.set.Logger.Error("a resource is not watched", "resource", w, "error", err)
			continue
		}
		k.set.Added(w.Key())
		k.set.Logger.Info("resource watched", "resource", w, "stored", w.Key())
	}
	k.warn(want)
}

// warn says once of each collision which kind is stored where.
func (k *Kinds) warn(all []Resource) {
	said := map[string]string{}
	for _, r := range all {
		if r.Key() == r.Kind {
			continue
		}
		i := slices.IndexFunc(all, func(o Resource) bool { return o.Key() == r.Kind })
		if i < 0 {
			continue
		}
		said[id(r)] = fmt.Sprint(all[i])
		if k.said[id(r)] != said[id(r)] {
			k.set.Logger.Warn("two groups have a kind of the same name", "first", all[i], "stored", all[i].Key(), "second", r,
				"secondStored", r.Key())
		}
	}
	k.said = said
	k.collisions.Set(float64(len(said)))
}
