package query_test

import (
	"fmt"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// seenEvent is one event of a history.
type seenEvent struct {
	typ     watch.EventType
	name    string
	version uint64
	color   string // the label
}

// epoch is what a client saw between two lists: the list, and all events behind it, over however many connections.
type epoch struct {
	at     uint64            // the list's version
	listed map[string]uint64 // name → version
	events []seenEvent       // bookmarks too
}

// lastName is the object that ends the test: it is made blue, and red by the last change of
// all, of whose version final learns.
const lastName = "zz-last"

// ends reports whether e is the last change, as any selector may see it.
func (e seenEvent) ends() bool {
	return e.name == lastName && (e.color == "red" || e.typ == watch.Deleted)
}

// judge holds a client's history against the cluster's own: what a selector should have seen of it.
func judge(epochs []epoch, truth []seenEvent, before map[string]seenEvent, selects func(color string) bool) error {
	for i, e := range epochs {
		want, state := expected(truth, before, selects, e.at)
		if !maps.Equal(state, e.listed) {
			return fmt.Errorf("epoch %d: the list at %d is %v, want %v", i, e.at, e.listed, state)
		}
		seen := e.at
		for n, got := range e.events {
			if got.typ == watch.Bookmark {
				if got.version < seen {
					return fmt.Errorf("epoch %d: a bookmark at %d behind %d", i, got.version, seen)
				}
				if len(want) > 0 && want[0].version <= got.version {
					return fmt.Errorf("epoch %d: a bookmark at %d, and %v was not sent", i, got.version, want[0])
				}
				seen = got.version
				continue
			}
			switch {
			case len(want) == 0:
				return fmt.Errorf("epoch %d: event %d is %v, and there is none", i, n, got)
			case got.version <= seen:
				return fmt.Errorf("epoch %d: event %d is %v behind version %d", i, n, got, seen)
			case got != want[0]:
				return fmt.Errorf("epoch %d: event %d is %v, want %v", i, n, got, want[0])
			}
			seen, want = got.version, want[1:]
		}
		if i == len(epochs)-1 && len(want) > 0 {
			return fmt.Errorf("%d events were not sent, the first is %v", len(want), want[0])
		}
	}
	return nil
}

// expected is the state at a version and the events behind it, as a selector sees the cluster's history.
func expected(truth []seenEvent, before map[string]seenEvent, selects func(string) bool, at uint64) (events []seenEvent, state map[string]uint64) {
	now := maps.Collect(maps.All(before))
	state = map[string]uint64{}
	for _, e := range truth {
		old, had := now[e.name]
		was, is := had && selects(old.color), e.typ != watch.Deleted && selects(e.color)
		if e.typ == watch.Deleted {
			delete(now, e.name)
		} else {
			now[e.name] = e
		}
		if e.version <= at {
			continue
		}
		switch {
		case was && is:
			e.typ = watch.Modified
		case is:
			e.typ = watch.Added
		case was:
			e.typ, e.color = watch.Deleted, old.color
		default:
			continue
		}
		events = append(events, e)
	}
	now = maps.Collect(maps.All(before))
	for _, e := range truth {
		if e.version > at {
			break
		}
		if e.typ == watch.Deleted {
			delete(now, e.name)
		} else {
			now[e.name] = e
		}
	}
	for name, e := range now {
		if selects(e.color) {
			state[name] = e.version
		}
	}
	return events, state
}

// TestJudge: histories with a fault each, which the check must find.
func TestJudge(t *testing.T) {
	truth := []seenEvent{
		{watch.Added, "a", 11, "red"}, {watch.Modified, "a", 12, "blue"}, {watch.Added, "b", 13, "red"}, {watch.Deleted, "b", 14, "red"}, {watch.Modified, "a", 15, "red"},
	}
	red := func(color string) bool { return color == "red" }
	sound := func() []epoch {
		return []epoch{{at: 10, listed: map[string]uint64{}, events: []seenEvent{
			{watch.Added, "a", 11, "red"}, {watch.Deleted, "a", 12, "red"}, {watch.Bookmark, "", 12, ""}, {watch.Added, "b", 13, "red"}, {watch.Deleted, "b", 14, "red"}, {watch.Added, "a", 15, "red"},
		}}}
	}
	if err := judge(sound(), truth, nil, red); err != nil {
		t.Errorf("a sound history: %v", err)
	}
	again := append(sound(), epoch{at: 13, listed: map[string]uint64{"b": 13}, events: sound()[0].events[4:]})
	again[0].events = again[0].events[:2]
	if err := judge(again, truth, nil, red); err != nil {
		t.Errorf("a sound history with two lists: %v", err)
	}
	for name, spoil := range map[string]func(e *epoch){
		"an event is missing":     func(e *epoch) { e.events = append(e.events[:3], e.events[4:]...) },
		"the last is missing":     func(e *epoch) { e.events = e.events[:5] },
		"an event comes twice":    func(e *epoch) { e.events = append(e.events[:1], e.events...) },
		"two change places":       func(e *epoch) { e.events[3], e.events[4] = e.events[4], e.events[3] },
		"a bookmark is too far":   func(e *epoch) { e.events[2].version = 13 },
		"a bookmark goes back":    func(e *epoch) { e.events[2].version = 11 },
		"another type":            func(e *epoch) { e.events[5].typ = watch.Modified },
		"the deletion's version":  func(e *epoch) { e.events[4].version = 13 },
		"the content after it":    func(e *epoch) { e.events[1].color = "blue" },
		"more than there is":      func(e *epoch) { e.events = append(e.events, seenEvent{watch.Added, "c", 16, "red"}) },
		"the list has too much":   func(e *epoch) { e.listed["a"] = 9 },
		"the list is of another":  func(e *epoch) { e.at = 11 },
		"a selector is disobeyed": func(e *epoch) { e.events[1] = seenEvent{watch.Modified, "a", 12, "blue"} },
	} {
		e := sound()
		spoil(&e[0])
		if judge(e, truth, nil, red) == nil {
			t.Errorf("not found: %s", name)
		}
	}
}
