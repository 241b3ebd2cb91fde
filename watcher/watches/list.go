package watches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/watcher/collector"
)

var (
	// ErrKept says that a watch cannot be dropped: the pipeline collects the kind, or the
	// configuration pins it: 409.
	ErrKept = errors.New("it cannot be dropped")
	// ErrNoWatch says that the kind is not followed, so nothing can be dropped: 404.
	ErrNoWatch = errors.New("it is not followed")
)

// State is how far a watch is.
type State string

// The states.
const (
	Starting State = "starting" // before the first complete list
	Synced   State = "synced"
	Broken   State = "broken" // the last list or watch failed; what was cached can be read
)

// Source says why a kind is followed.
type Source string

// The sources.
const (
	Pipeline Source = "pipeline" // it is collected for storage
	Lazy     Source = "lazy"     // it is followed for readers only
)

// Status describes one watch, in the form of GET /v1/watches.
type Status struct {
	Group           string   `json:"group"`
	Version         string   `json:"version"`
	Resource        string   `json:"resource"`
	Kind            string   `json:"kind"`
	State           State    `json:"state"`
	Pinned          bool     `json:"pinned"`
	Source          Source   `json:"source"`
	Objects         int      `json:"objects"`
	Bytes           int64    `json:"bytes"` // of the objects as they are in memory
	ResourceVersion string   `json:"resourceVersion,omitempty"`
	LastEventAge    *float64 `json:"lastEventAgeSeconds,omitempty"` // absent before the first change after the first list
	Relists         int64    `json:"relists"`
	Holders         int      `json:"holders"`
	Error           string   `json:"error,omitempty"`
}

// List describes all watches that readers can open, sorted by group, resource and version.
func (w *Watches) List() []Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Status
	w.each(func(r GVR, s collector.State, l *lazy) {
		if l == nil {
			all = append(all, w.status(s, Pipeline, w.readers[r]))
			return
		}
		one := w.status(s, Lazy, l.holders)
		one.Pinned = one.Pinned || l.within
		all = append(all, one)
	})
	slices.SortFunc(all, func(a, b Status) int {
		return GVR{a.Group, a.Version, a.Resource}.compare(GVR{b.Group, b.Version, b.Resource})
	})
	return all
}

// compare orders by group, resource and version.
func (r GVR) compare(o GVR) int {
	return cmp.Or(cmp.Compare(r.Group, o.Group), cmp.Compare(r.Resource, o.Resource), cmp.Compare(r.Version, o.Version))
}

// Followed are the names of what List describes, in its order.
func (w *Watches) Followed() []GVR {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []GVR
	w.each(func(r GVR, _ collector.State, _ *lazy) { all = append(all, r) })
	slices.SortFunc(all, GVR.compare)
	return all
}

// each visits the watches that readers can open, in no order; the lazy of the pipeline's is
// nil. The caller holds mu.
func (w *Watches) each(visit func(GVR, collector.State, *lazy)) {
	seen := map[GVR]bool{}
	if c := w.collected; c != nil {
		for _, s := range c.States() {
			r := GVR{s.Resource.Group, s.Resource.Version, s.Resource.Name}
			if s.Whole && s.View != nil && !w.deny.has(r.Group, r.Resource) {
				seen[r] = true
				visit(r, s, nil)
			}
		}
	}
	for r, l := range w.lazy {
		if s, ok := w.own.State(l.key); ok && !l.ended() && !seen[r] && !w.deny.has(r.Group, r.Resource) {
			visit(r, s, l)
		}
	}
}

// status describes a kind. The caller holds mu.
func (w *Watches) status(s collector.State, from Source, holders int) Status {
	r := s.Resource
	_, pinned := w.pins[GVR{r.Group, r.Version, r.Name}]
	is := s.View.Stats()
	out := Status{
		Group: r.Group, Version: r.Version, Resource: r.Name, Kind: r.Kind,
		State: Starting, Pinned: pinned, Source: from,
		Objects: is.Objects, Bytes: is.Bytes, Relists: s.Relists, Holders: holders,
	}
	if s.Synced {
		out.State, out.ResourceVersion = Synced, strconv.FormatUint(is.Version, 10)
	}
	if s.Broken != nil {
		out.State, out.Error = Broken, s.Broken.Error()
	}
	if !is.Changed.IsZero() {
		age := time.Since(is.Changed).Seconds()
		out.LastEventAge = &age
	}
	return out
}

// Add follows a kind until Drop or the end of the process, used or not. It does not wait for
// the first list.
func (w *Watches) Add(ctx context.Context, r GVR) error {
	if w.deny.has(r.Group, r.Resource) {
		return ErrDenied
	}
	select {
	case <-w.known:
	case <-w.ending:
		return &UnsyncedError{Err: errEnded}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		wait, err := w.keep(r)
		if wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// keep pins a kind, or returns what it has to wait for.
func (w *Watches) keep(r GVR) (wait <-chan struct{}, err error) {
	kind, served := w.Served().Find(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lazy[r]
	switch c, _ := w.pipelines(r); {
	case l != nil && l.ended():
		return l.done, nil
	case !served:
		return nil, ErrNotServed
	case c == nil && l == nil:
		if _, err := w.start(kind, false); err != nil {
			return nil, err
		}
	}
	if w.pins[r] == nil {
		w.pins[r] = &pin{}
	}
	return nil, nil
}

// Drop ends a watch now, also if somebody uses it, and takes away what Add has pinned.
func (w *Watches) Drop(r GVR) error {
	w.mu.Lock()
	l := w.lazy[r]
	p := w.pins[r]
	switch c, _ := w.pipelines(r); {
	case p != nil && p.configured || l != nil && l.within:
		w.mu.Unlock()
		return fmt.Errorf("%w: the configuration pins it", ErrKept)
	case c != nil && l == nil && p == nil:
		w.mu.Unlock()
		return fmt.Errorf("%w: it is collected for storage", ErrKept)
	case p == nil && (l == nil || l.ended()):
		w.mu.Unlock()
		return ErrNoWatch
	}
	delete(w.pins, r)
	var stopped []*lazy
	if l != nil && !l.ended() {
		stopped = append(stopped, w.stop(l, &UnsyncedError{Err: errDropped}))
	}
	w.mu.Unlock()
	w.end(stopped)
	return nil
}
