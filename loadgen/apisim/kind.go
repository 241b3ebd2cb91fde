package apisim

import (
	"cmp"
	"maps"
	"slices"
)

// event is one change of a kind: from prev to cur, either of which may be nil.
type event struct {
	rv        uint64
	prev, cur *version
}

// kind is the state and the recent history of one resource. The server's mutex
// guards it.
type kind struct {
	Resource
	objects map[key]*version
	sorted  []*version // of objects, nil when out of date

	// events are the window. events[i] has the sequence number first+i; every change
	// with a version above floor is in the window.
	events []event
	first  uint64
	floor  uint64
	window int

	gone bool // no longer served
	cut  int  // counts the calls that end all watches
}

func newKind(r Resource, window int, rv uint64) *kind {
	return &kind{Resource: r, objects: map[key]*version{}, window: window, floor: rv}
}

// record applies a change.
func (k *kind) record(e event) {
	if e.cur != nil {
		k.objects[e.cur.key] = e.cur
	} else {
		delete(k.objects, e.prev.key)
	}
	k.sorted = nil
	k.events = append(k.events, e)
	// Cutting a quarter at a time makes moving the rest cheap.
	if over := len(k.events) - k.window; over > k.window/4 {
		k.trim(over)
	}
}

// trim forgets the n oldest changes.
func (k *kind) trim(n int) {
	if n == 0 {
		return
	}
	k.floor = k.events[n-1].rv
	k.first += uint64(n)
	k.events = slices.Clone(k.events[n:])
}

// next is the sequence number that the next change will get.
func (k *kind) next() uint64 { return k.first + uint64(len(k.events)) }

// after is the sequence number of the first change with a version above rv.
func (k *kind) after(rv uint64) uint64 {
	i, _ := slices.BinarySearchFunc(k.events, rv, func(e event, rv uint64) int { return cmp.Compare(e.rv, rv+1) })
	return k.first + uint64(i)
}

// current returns all objects in order. The caller does not keep the slice past the
// next change.
func (k *kind) current() []*version {
	if k.sorted == nil {
		k.sorted = inOrder(k.objects)
	}
	return k.sorted
}

func inOrder(objects map[key]*version) []*version {
	all := slices.Collect(maps.Values(objects))
	slices.SortFunc(all, func(a, b *version) int { return cmp.Compare(a.path(), b.path()) })
	return all
}

// at returns all objects in order as they were at version rv, by taking later
// changes back. The caller has made sure that rv is not below floor.
func (k *kind) at(rv uint64) []*version {
	if len(k.events) == 0 || k.events[len(k.events)-1].rv <= rv {
		return k.current()
	}
	objects := maps.Clone(k.objects)
	for i := len(k.events) - 1; i >= 0 && k.events[i].rv > rv; i-- {
		if e := k.events[i]; e.prev != nil {
			objects[e.prev.key] = e.prev
		} else {
			delete(objects, e.cur.key)
		}
	}
	return inOrder(objects)
}
