package apisim

import (
	"cmp"
	"slices"

	"github.com/google/btree"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/internal/pack"
)

// event is one change of a kind: from prev to cur, either of which may be nil.
type event struct {
	rv        uint64
	prev, cur *version
}

// tree holds objects in the order of their paths. A clone is made at once and shares what does not change, so that a
// list does not hold up changes, however long it takes.
type tree = btree.BTreeG[*version]

// treeDegree is a compromise between depth and what a change after a clone copies.
const treeDegree = 32

func newTree() *tree {
	return btree.NewG(treeDegree, func(a, b *version) bool { return a.Compare(b.key) < 0 })
}

func find(t *tree, k key) *version {
	v, _ := t.Get(&version{key: k})
	return v
}

// kind is the state and the recent history of one resource. The server's mutex guards it.
type kind struct {
	Resource
	fields  kubeapi.Fields
	objects *tree
	packer  pack.Packer

	// events are the window. events[i] has the sequence number first+i; every change with a version above floor is in
	// the window.
	events []event
	first  uint64
	floor  uint64
	window int
	// changed is closed and replaced at each change.
	changed chan struct{}
	// paged are the views of lists whose next page may be asked for, oldest first.
	paged []view
	// readers are the open watches.
	readers map[*watcher]struct{}
	// read, unless nil, is closed when one of them has read.
	read chan struct{}

	gone bool // no longer served
	cut  int  // counts the calls that end all watches
}

// maxPaged views are kept; one that is forgotten is made again from the window.
const maxPaged = 8

func newKind(r Resource, window int, rv uint64) *kind {
	fields := r.Fields
	if fields == nil {
		fields = kubeapi.BuiltInFields[r.Key()]
	}
	return &kind{
		Resource: r, fields: fields, objects: newTree(), window: window, floor: rv,
		changed: make(chan struct{}), readers: map[*watcher]struct{}{},
	}
}

func (k *kind) record(e event) {
	if e.cur != nil {
		k.objects.ReplaceOrInsert(e.cur)
	} else {
		k.objects.Delete(e.prev)
	}
	k.events = append(k.events, e)
	// Cutting a quarter at a time makes moving the rest cheap.
	if over := len(k.events) - k.window; over > k.window/4 {
		k.trim(over)
	}
}

func (k *kind) notify() {
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *kind) trim(n int) {
	if n == 0 {
		return
	}
	k.floor = k.events[n-1].rv
	k.first += uint64(n)
	k.events = slices.Clone(k.events[n:])
	k.paged = slices.DeleteFunc(k.paged, func(v view) bool { return v.rv < k.floor })
}

// next is the sequence number that the next change will get.
func (k *kind) next() uint64 { return k.first + uint64(len(k.events)) }

// after is the sequence number of the first change with a version above rv.
func (k *kind) after(rv uint64) uint64 {
	i, _ := slices.BinarySearchFunc(k.events, rv, func(e event, rv uint64) int { return cmp.Compare(e.rv, rv+1) })
	return k.first + uint64(i)
}

// at returns the objects as they were at version rv, by taking later changes back. The caller has made sure that rv is
// not below floor.
func (k *kind) at(rv uint64) view {
	if i := slices.IndexFunc(k.paged, func(v view) bool { return v.rv == rv }); i >= 0 {
		return k.paged[i]
	}
	t := k.objects.Clone()
	for i := len(k.events) - 1; i >= 0 && k.events[i].rv > rv; i-- {
		if e := k.events[i]; e.prev != nil {
			t.ReplaceOrInsert(e.prev)
		} else {
			t.Delete(e.cur)
		}
	}
	return view{t, rv}
}

func (k *kind) keep(v view) {
	if slices.ContainsFunc(k.paged, func(o view) bool { return o.rv == v.rv }) {
		return
	}
	if len(k.paged) == maxPaged {
		k.paged = slices.Delete(k.paged, 0, 1)
	}
	k.paged = append(k.paged, v)
}
