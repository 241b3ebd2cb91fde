package view

import (
	"context"
	"slices"
	"unique"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
)

// Index finds objects by values that their content has. It is brought up to date by
// readers, and soon after a change by a goroutine of its own, never by the collector.
type Index struct {
	v  *View
	of func(raw []byte) []string

	turn chan struct{} // size 1: sent to for exclusive use of all below; a channel, so that waiting can end

	built  bool
	seq    uint64 // of the last change that is in
	values map[Name][]string
	names  map[string]map[Name]struct{}
	buf    []byte // for unpacking
}

// IndexBy returns the index of that key, a value of the caller's own type. Where there is none
// yet it indexes the objects by the values that of finds in their content, sorted or in any
// other order that does not change; they may share memory with it. The index is built at its
// first use, and has memory until Close or as long as the view.
func (v *View) IndexBy(key any, of func(raw []byte) []string) *Index {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.keyed[key]
	if i == nil {
		if v.keyed == nil {
			v.keyed = map[any]*Index{}
		}
		i = &Index{v: v, of: of, turn: make(chan struct{}, 1)}
		v.keyed[key] = i
	}
	return i
}

// Close lets go of the index's memory; a later use builds it anew.
func (i *Index) Close() {
	i.v.mu.Lock()
	i.v.indexes = slices.DeleteFunc(slices.Clone(i.v.indexes), func(x *Index) bool { return x == i })
	i.v.mu.Unlock()
	i.turn <- struct{}{}
	defer i.leave()
	i.built, i.values, i.names = false, nil, nil
}

func (i *Index) leave() { <-i.turn }

// Find returns the objects that have the value, sorted by name, and the state in which they
// have it. Where the index is to be built or brought up to date, it calls rest after each object.
// While another reader does that, Find waits for no longer than ctx and returns its cause.
func (i *Index) Find(ctx context.Context, value string, rest func()) ([]*object.Object, *Snapshot, error) {
	select {
	case i.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	defer i.leave()
	s, err := i.update(rest)
	if err != nil {
		return nil, nil, err
	}
	found := make([]*object.Object, 0, len(i.names[value]))
	for n := range i.names[value] {
		if o, ok := s.Get(n); ok {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *object.Object) int { return NameOf(a).Compare(NameOf(b)) })
	return found, s, nil
}

// refresh brings the index up to date, unless somebody is at it: the next reader or change
// brings in what that one does not see.
func (i *Index) refresh() {
	select {
	case i.turn <- struct{}{}:
	default:
		return
	}
	defer i.leave()
	if i.built {
		work := lifecycle.BeginWork()           // it may have to be built anew
		_, _ = i.update(func() { work.Step() }) // it is synced, as it was built
	}
}

// update brings the index to the present state. It is the caller's turn.
func (i *Index) update(rest func()) (*Snapshot, error) {
	v := i.v
	v.mu.Lock()
	s, err := v.snapshot()
	if err != nil {
		v.mu.Unlock()
		return nil, err
	}
	if i.built && i.seq == s.seq {
		v.mu.Unlock()
		return s, nil
	}
	var changes []Change
	rebuild := !i.built || i.seq+1 < v.ring.oldest()
	if rebuild && !i.built {
		v.indexes = append(slices.Clone(v.indexes), i)
	}
	if !rebuild {
		changes = v.ring.after(i.seq, make([]Change, 0, v.ring.last-i.seq))
	}
	v.mu.Unlock()
	if rebuild {
		i.built, i.values, i.names = true, make(map[Name][]string, s.Len()), map[string]map[Name]struct{}{}
		s.Ascend("", Name{}, func(o *object.Object) bool { i.put(o); rest(); return true })
	}
	for _, c := range changes {
		rest()
		if c.Type == Deleted {
			i.forget(NameOf(c.Object))
		} else {
			i.put(c.Object)
		}
	}
	i.seq = s.seq
	return s, nil
}

func (i *Index) put(o *object.Object) {
	var plain *object.Object
	plain, i.buf = o.Unpacked(i.buf)
	n, values := NameOf(o), i.of(plain.Raw)
	if slices.Equal(values, i.values[n]) {
		return
	}
	i.forget(n)
	if len(values) == 0 {
		return
	}
	own := make([]string, 0, len(values))
	for _, value := range values {
		value = unique.Make(value).Value() // its memory is the buffer's
		own = append(own, value)
		at := i.names[value]
		if at == nil {
			at = map[Name]struct{}{}
			i.names[value] = at
		}
		at[n] = struct{}{}
	}
	i.values[n] = own
}

func (i *Index) forget(n Name) {
	for _, value := range i.values[n] {
		delete(i.names[value], n)
		if len(i.names[value]) == 0 {
			delete(i.names, value)
		}
	}
	delete(i.values, n)
}
