package relation

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Kinds opens what is followed.
type Kinds interface {
	Served() *watches.Catalogue
	Open(context.Context, watches.GVR, watches.Wait) (*watches.Watch, error)
}

// Settings are passed by code.
type Settings struct {
	Kinds Kinds
	// Followed returns what is followed already, in an order that stays while nothing changes;
	// nil: nothing.
	Followed func() []watches.GVR
	Guard    access.Guard
	Seats    *access.Seats // of queries; nil: any number is answered at a time
	Logger   *slog.Logger
}

// Relations answers queries. Its methods may be called from several goroutines.
type Relations struct {
	cfg     Config
	set     Settings
	running atomic.Bool

	mu      sync.Mutex
	indexes map[indexName]*index   // guarded by mu
	plan    *plan                  // guarded by mu; the last one
	logged  map[watches.GVR]string // guarded by mu; the last error of a kind that could not be opened
	ended   bool                   // guarded by mu; Run has returned: indexes go with their last user
}

// New checks both. Run must be called, for indexes that are no longer used to go.
func New(c Config, s Settings) (*Relations, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if s.Kinds == nil || s.Guard == nil || s.Logger == nil {
		return nil, errors.New("relation: Settings need Kinds, Guard and Logger")
	}
	return &Relations{cfg: c, set: s, indexes: map[indexName]*index{}, logged: map[watches.GVR]string{}}, nil
}

// Run closes idle indexes until ctx ends, then all. Queries that come later make their own.
func (r *Relations) Run(ctx context.Context) error {
	if r.running.Swap(true) {
		return errors.New("relations run already")
	}
	idle := r.cfg.IndexIdle.Std()
	t := time.NewTicker(idle / 2)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			r.mu.Lock()
			r.ended = true
			r.mu.Unlock()
			r.sweep(time.Time{})
			return nil
		case now := <-t.C:
			r.sweep(now.Add(-idle))
		}
	}
}

// indexName is one index of one kind.
type indexName struct {
	of   watches.GVR
	rule *rule
}

// index is shared by the queries that use it.
type index struct {
	*view.Index
	view  *view.View
	users int       // guarded by Relations.mu
	used  time.Time // guarded by Relations.mu; when the last one released it
	gone  bool      // guarded by Relations.mu; not in the table any more: the last user closes it
}

// index returns the index of a kind's present view, for release after use. One of an earlier
// view is given up.
func (r *Relations) index(of watches.GVR, ru *rule, v *view.View) *index {
	r.mu.Lock()
	name := indexName{of, ru}
	i := r.indexes[name]
	var idle *index
	if i == nil || i.view != v {
		if i != nil {
			idle = r.drop(name)
		}
		i = &index{Index: v.IndexBy(ru, ru.values), view: v, gone: r.ended}
		if !r.ended {
			r.indexes[name] = i
		}
	}
	i.users++
	r.mu.Unlock()
	if idle != nil {
		idle.Close()
	}
	return i
}

// drop takes an index out of the table and returns it if nobody uses it: the caller closes
// it. The caller holds mu.
func (r *Relations) drop(name indexName) *index {
	i := r.indexes[name]
	delete(r.indexes, name)
	i.gone = true
	if i.users > 0 {
		return nil
	}
	return i
}

func (r *Relations) release(i *index) {
	r.mu.Lock()
	i.users--
	i.used = time.Now()
	last := i.gone && i.users == 0
	r.mu.Unlock()
	if last {
		i.Close()
	}
}

// sweep closes what was last used before a moment; the zero time is all.
func (r *Relations) sweep(before time.Time) {
	var idle []*index
	r.mu.Lock()
	for name, i := range r.indexes {
		if !before.IsZero() && (i.users > 0 || i.used.After(before)) {
			continue
		}
		if i = r.drop(name); i != nil {
			idle = append(idle, i)
		}
	}
	r.mu.Unlock()
	for _, i := range idle {
		i.Close()
	}
}

// planned returns what there is to look into now.
func (r *Relations) planned() *plan {
	served := r.set.Kinds.Served()
	var followed []watches.GVR
	if r.set.Followed != nil {
		followed = r.set.Followed()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.plan; p != nil && p.served == served && slices.Equal(p.followed, followed) {
		return p
	}
	r.plan = newPlan(served, followed, r.cfg.Kinds)
	return r.plan
}

// unavailable logs once what keeps a kind from being opened.
func (r *Relations) unavailable(k watches.Kind, err error) {
	r.mu.Lock()
	known := r.logged[gvrOf(k)] == err.Error()
	r.logged[gvrOf(k)] = err.Error()
	r.mu.Unlock()
	if !known {
		r.set.Logger.Warn("a kind cannot be read for relations", "kind", gvkOf(k), "error", err)
	}
}
