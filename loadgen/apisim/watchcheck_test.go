// Package watchcheck judges a watch by what came over the wire: whether it kept what Kubernetes promises of its
// watches.
//
//   - Ordered: events come in the order of their versions.
//   - Unique: no event comes twice.
//   - Reliable: no event is left out between two that came, or before a bookmark.
//   - Resumable: a watch from the version of an event, or of a bookmark, goes on with what comes after it.
//   - Bookmarkable: what has a bookmark's version or a lower one came before it.
//
// Each promise has an error of its own. Whether something was left out can be told only by who knows what happened: the
// changes are given to the Checker.
package apisim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// One error for each promise, and one for what is no watch's frame.
var (
	ErrOrdered      = errors.New("not ordered")
	ErrUnique       = errors.New("not unique")
	ErrReliable     = errors.New("not reliable")
	ErrResumable    = errors.New("not resumable")
	ErrBookmarkable = errors.New("not bookmarkable")
	ErrFrame        = errors.New("not a frame of a watch")
)

// Types of events.
const (
	Added    = "ADDED"
	Modified = "MODIFIED"
	Deleted  = "DELETED"
	Bookmark = "BOOKMARK"
)

// Event is one frame of a watch, or one change that happened.
type Event struct {
	Type    string
	Key     string // namespace/name; empty for a bookmark
	UID     string
	Version uint64
	// End marks the bookmark behind the initial events of a streaming list.
	End bool
}

func (e Event) String() string { return fmt.Sprintf("%s %s@%d", e.Type, e.Key, e.Version) }

// Parse reads one line of a watch. An ERROR is an error, too.
func Parse(line []byte) (Event, error) {
	var f struct {
		Type   string `json:"type"`
		Object struct {
			Message  string `json:"message"`
			Metadata struct {
				Namespace       string            `json:"namespace"`
				Name            string            `json:"name"`
				UID             string            `json:"uid"`
				ResourceVersion string            `json:"resourceVersion"`
				Annotations     map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"object"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrFrame, err)
	}
	m := f.Object.Metadata
	e := Event{Type: f.Type, UID: m.UID, End: m.Annotations["k8s.io/initial-events-end"] == "true"}
	switch f.Type {
	case Added, Modified, Deleted:
		if m.Name == "" {
			return Event{}, fmt.Errorf("%w: %s without metadata.name", ErrFrame, f.Type)
		}
		e.Key = m.Namespace + "/" + m.Name
	case Bookmark:
	default:
		return Event{}, fmt.Errorf("%w: type %q, %s", ErrFrame, f.Type, f.Object.Message)
	}
	var err error
	if e.Version, err = strconv.ParseUint(m.ResourceVersion, 10, 64); err != nil {
		return Event{}, fmt.Errorf("%w: resourceVersion %q: want a whole number", ErrFrame, m.ResourceVersion)
	}
	return e, nil
}

// Checker follows one watch.
type Checker struct {
	changes []Event // what happened and the watch is to show, by version
	next    int     // the first of them that has not come
	last    Event   // that came
	marked  Event   // the last bookmark
	from    uint64
	initial bool // initial events are still coming
	seen    map[string]uint64
}

// New checks a watch from a version on. changes are all that it has to show, before and after that, in order.
func New(from uint64, changes []Event) *Checker {
	c := &Checker{changes: changes, from: from, seen: map[string]uint64{}, last: Event{Version: from}}
	for c.next < len(changes) && changes[c.next].Version <= from {
		c.next++
	}
	return c
}

// NewStream checks a streaming list, which begins with the objects as ADDED, in no order.
func NewStream(changes []Event) *Checker {
	c := New(0, changes)
	c.initial = true
	return c
}

// Observe takes the next frame. After an error the Checker is of no more use.
func (c *Checker) Observe(e Event) error {
	switch {
	case c.initial:
		return c.first(e)
	case e.Type == Bookmark:
		return c.bookmark(e)
	case e.Version == c.last.Version && e.Key == c.last.Key && e.Version > c.from:
		return fmt.Errorf("%w: %s came twice", ErrUnique, e)
	case c.seen[e.Key] >= e.Version && c.seen[e.Key] > 0:
		return fmt.Errorf("%w: %s came again, after version %d of it", ErrUnique, e, c.seen[e.Key])
	case e.Version <= c.marked.Version:
		return fmt.Errorf("%w: %s came after the bookmark of version %d", ErrBookmarkable, e, c.marked.Version)
	case e.Version <= c.last.Version:
		return fmt.Errorf("%w: %s came after %s", ErrOrdered, e, c.last)
	}
	c.last = e
	c.seen[e.Key] = e.Version
	if c.next == len(c.changes) {
		return fmt.Errorf("%w: %s never happened", ErrReliable, e)
	}
	want := c.changes[c.next]
	c.next++
	if want.Version != e.Version || want.Key != e.Key || want.Type != e.Type || want.UID != "" && want.UID != e.UID {
		return fmt.Errorf("%w: %s came, want %s", ErrReliable, e, want)
	}
	return nil
}

// first takes an initial event, or the bookmark behind them.
func (c *Checker) first(e Event) error {
	switch {
	case e.Type == Added && c.seen[e.Key] > 0:
		return fmt.Errorf("%w: %s came twice", ErrUnique, e)
	case e.Type == Added:
		c.seen[e.Key] = e.Version
		return nil
	case e.Type != Bookmark || !e.End:
		return fmt.Errorf("%w: %s before the bookmark that ends the initial events", ErrBookmarkable, e)
	}
	c.initial = false
	state := map[string]uint64{}
	for ; c.next < len(c.changes) && c.changes[c.next].Version <= e.Version; c.next++ {
		was := c.changes[c.next]
		if state[was.Key] = was.Version; was.Type == Deleted {
			delete(state, was.Key)
		}
	}
	for key, version := range state {
		if c.seen[key] != version {
			return fmt.Errorf("%w: the initial events show %s at version %d, at version %d it had %d", ErrReliable, key, c.seen[key], e.Version, version)
		}
	}
	for key, version := range c.seen {
		if state[key] == 0 {
			return fmt.Errorf("%w: the initial events show %s@%d, which was not there at version %d", ErrReliable, key, version, e.Version)
		}
	}
	c.last, c.marked, c.from = e, e, e.Version
	return nil
}

// bookmark takes a bookmark: nothing up to its version may still be to come.
func (c *Checker) bookmark(e Event) error {
	if e.Version < c.last.Version {
		return fmt.Errorf("%w: the bookmark of version %d came after %s", ErrBookmarkable, e.Version, c.last)
	}
	if c.next < len(c.changes) && c.changes[c.next].Version <= e.Version {
		return fmt.Errorf("%w: the bookmark of version %d came before %s", ErrBookmarkable, e.Version, c.changes[c.next])
	}
	c.last, c.marked = e, e
	return nil
}

// Finish reports what should have come and did not.
func (c *Checker) Finish() error {
	if c.initial {
		return fmt.Errorf("%w: the initial events have no end", ErrReliable)
	}
	if c.next < len(c.changes) {
		return fmt.Errorf("%w: %d events did not come, the first is %s", ErrReliable, len(c.changes)-c.next, c.changes[c.next])
	}
	return nil
}

// Watch judges a whole watch.
func Watch(from uint64, changes, came []Event) error { return New(from, changes).all(came) }

// Stream judges a whole streaming list.
func Stream(changes, came []Event) error { return NewStream(changes).all(came) }

// Resumed judges a watch that resumes another from the version of one of its events or bookmarks.
func Resumed(from uint64, changes, came []Event) error {
	if err := Watch(from, changes, came); err != nil {
		return fmt.Errorf("%w: from version %d: %w", ErrResumable, from, err)
	}
	return nil
}

func (c *Checker) all(came []Event) error {
	for _, e := range came {
		if err := c.Observe(e); err != nil {
			return err
		}
	}
	return c.Finish()
}
