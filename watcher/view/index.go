package view

import (
	"context"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/google/btree"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
)

// indexIdle is how long after its last use a change makes an index go, which a later use builds anew.
const indexIdle = 5 * time.Minute

// Index finds objects by values that their content has. It is brought up to date by
// readers, and soon after a change by a goroutine of its own, never by the collector.
type Index struct {
	v  *View
	of func(*object.Object) []string

	turn chan struct{} // size 1: sent to for exclusive use of all below; a channel, so that waiting can end

	used    time.Time
	seq     uint64   // of the last change that is in
	entries *entries // nil: not built
	buf     []byte   // for unpacking
}

type entry struct {
	value string
	name  Name
}

type entries = btree.BTreeG[entry]

func byValue(a, b entry) bool {
	if c := strings.Compare(a.value, b.value); c != 0 {
		return c < 0
	}
	return a.name.Compare(b.name) < 0
}

// IndexBy returns the index of that key, a value of the caller's own type. Where there is none
// yet it indexes the objects by the values that of finds in them, unpacked; they may share memory
// with it. The index is built at its first use.
func (v *View) IndexBy(key any, of func(*object.Object) []string) *Index {
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

// Find returns the objects that have the value in a snapshot of the view, sorted by name. Where the
// index is to be built or brought up to date, it calls rest after each object. While another reader
// does that, Find waits for no longer than ctx and returns its cause.
func (i *Index) Find(ctx context.Context, s *Snapshot, value string, rest func()) (found []*object.Object, _ error) {
	select {
	case i.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	i.used = time.Now()
	all := i.at(s, rest)
	<-i.turn
	all.AscendGreaterOrEqual(entry{value: value}, func(e entry) bool {
		if o, ok := s.Get(e.name); ok && e.value == value {
			found = append(found, o)
		}
		return e.value == value
	})
	return found, nil
}

// refresh brings the index up to date, or lets go of its memory if nobody has used it for long,
// unless somebody is at it: the next reader or change brings in what that one does not see.
func (i *Index) refresh() {
	select {
	case i.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-i.turn }()
	switch {
	case i.entries == nil:
	case time.Since(i.used) > indexIdle:
		i.v.mu.Lock()
		i.v.indexes = slices.DeleteFunc(slices.Clone(i.v.indexes), func(x *Index) bool { return x == i })
		i.v.mu.Unlock()
		i.entries = nil
	default:
		if s, err := i.v.Snapshot(); err == nil {
			work := lifecycle.BeginWork() // it may have to be built anew
			i.at(s, func() { work.Step() })
		}
	}
}

// at returns the entries in a snapshot, found once for all who read it: from those of another state and the
// changes between the two, as far as the window goes. It is the caller's turn.
func (i *Index) at(s *Snapshot, rest func()) *entries {
	if found, ok := s.indexes.Load(i); ok {
		return found.(*entries)
	}
	v := i.v
	v.mu.Lock()
	from, to := min(i.seq, s.seq), max(i.seq, s.seq)
	build := i.entries == nil || from+1 < v.ring.oldest()
	if i.entries == nil {
		v.indexes = append(slices.Clone(v.indexes), i)
	}
	var changes []Change
	if !build {
		changes = v.ring.after(from, make([]Change, 0, to-from))
	}
	v.mu.Unlock()
	all := i.entries
	switch {
	case build:
		all = btree.NewG(degree, byValue)
		s.Ascend("", Name{}, func(o *object.Object) bool { i.add(all, o); rest(); return true })
	case s.seq < i.seq:
		all = all.Clone()
		for _, c := range slices.Backward(changes) {
			was, now := c.states()
			i.remove(all, now)
			i.add(all, was)
			rest()
		}
	default:
		for _, c := range changes {
			was, now := c.states()
			i.remove(all, was)
			i.add(all, now)
			rest()
		}
	}
	if i.entries == nil || s.seq >= i.seq {
		i.entries, i.seq = all, s.seq
		all = all.Clone() // what is read does not change
	}
	s.indexes.Store(i, all)
	return all
}

// states are an object before and after a change; nil: it was or is not there.
func (c *Change) states() (was, now *object.Object) {
	if c.Type == Deleted {
		return c.Old, nil
	}
	return c.Old, c.Object
}

func (i *Index) add(to *entries, o *object.Object) {
	for _, value := range i.values(o) {
		to.ReplaceOrInsert(entry{unique.Make(value).Value(), NameOf(o)}) // the memory of value is the buffer's
	}
}

func (i *Index) remove(from *entries, o *object.Object) {
	for _, value := range i.values(o) {
		from.Delete(entry{value, NameOf(o)})
	}
}

func (i *Index) values(o *object.Object) []string {
	if o == nil {
		return nil
	}
	var plain *object.Object
	plain, i.buf = o.Unpacked(i.buf)
	return i.of(plain)
}
