package watches

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/watcher/collector"
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
	Holders         int      `json:"holders"` // of what is followed for readers
	Error           string   `json:"error,omitempty"`
}

// List describes all watches that readers can open, sorted by group, resource and version.
func (w *Watches) List() (all []Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[GVR]bool{}
	if c := w.collected; c != nil {
		for _, s := range c.States() {
			r := GVR{s.Resource.Group, s.Resource.Version, s.Resource.Name}
			if s.Whole && s.View != nil && !w.deny.has(r.Group, r.Resource) {
				seen[r] = true
				all = append(all, w.status(s, Pipeline, 0))
			}
		}
	}
	for r, l := range w.lazy {
		if s, ok := w.own.State(l.key); ok && !l.ended() && !seen[r] && !w.deny.has(r.Group, r.Resource) {
			all = append(all, w.status(s, Lazy, l.holders))
		}
	}
	slices.SortFunc(all, func(a, b Status) int { return a.gvr().compare(b.gvr()) })
	return all
}

func (s *Status) gvr() GVR { return GVR{s.Group, s.Version, s.Resource} }

func (r GVR) compare(o GVR) int {
	return cmp.Or(cmp.Compare(r.Group, o.Group), cmp.Compare(r.Resource, o.Resource), cmp.Compare(r.Version, o.Version))
}

// Followed returns the names of the kinds in List, in its order.
func (w *Watches) Followed() (all []GVR) {
	for _, s := range w.List() {
		all = append(all, s.gvr())
	}
	return all
}

// status describes a kind. The caller holds mu.
func (w *Watches) status(s collector.State, from Source, holders int) Status {
	r := s.Resource
	is := s.View.Stats()
	out := Status{
		Group: r.Group, Version: r.Version, Resource: r.Name, Kind: r.Kind,
		State: Starting, Pinned: w.pinned(GVR{r.Group, r.Version, r.Name}), Source: from,
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

// Unready returns the kinds of Config.Pinned whose first list is not complete, and a
// *collector.LostError for each that is lost. It leaves out what the pipeline collects and
// what the cluster does not serve; before that is known of one, it is unsynced.
func (w *Watches) Unready() (unsynced []GVR, lost []error) {
	pinned := map[string]bool{} // by key
	w.mu.Lock()
	for r := range w.pins {
		c, _ := w.pipelines(r)
		if _, served := w.Served().Find(r); c != nil || !served && w.learnt(r) {
			continue
		}
		pinned[r.String()] = true
		if s, ok := w.own.State(r.String()); !ok || !s.Synced {
			unsynced = append(unsynced, r)
		}
	}
	w.mu.Unlock()
	for _, err := range w.own.Lost() {
		if l, ok := errors.AsType[*collector.LostError](err); ok && pinned[l.Resource.Key()] {
			lost = append(lost, err)
		}
	}
	slices.SortFunc(unsynced, GVR.compare)
	return unsynced, lost
}
