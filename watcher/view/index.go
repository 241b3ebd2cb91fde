package view

import (
	"cmp"
	"context"
	"slices"
	"time"
	"unique"

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

	built  bool
	used   time.Time
	seq    uint64 // of the last change that is in
	values map[Name][]string
	names  map[string]map[Name]struct{}
	log    []former // what the changes after from, which is a Seq, took away
	from   uint64
	buf    []byte // for unpacking
}

// former is the values that an object had before a change.
type former struct {
	seq    uint64
	name   Name
	values []string
}

// IndexBy returns the index of that key, a value of the caller's own type. Where there is none
// yet it indexes the objects by the values that of finds in them, unpacked, sorted or in any
// other order that does not change; they may share memory with it. The index is built at its
// first use.
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
func (i *Index) Find(ctx context.Context, s *Snapshot, value string, rest func()) ([]*object.Object, error) {
	select {
	case i.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer i.leave()
	i.used = time.Now()
	if err := i.update(s, rest); err != nil {
		return nil, err
	}
	if s.seq < i.from { // older than what can be taken back
		return slices.Clone(i.scan(s, rest)[value]), nil
	}
	var found []*object.Object
	had := map[Name]bool{} // of what changed since s
	for at := len(i.log) - 1; at >= 0 && i.log[at].seq > s.seq; at-- {
		had[i.log[at].name] = slices.Contains(i.log[at].values, value)
	}
	for n := range i.names[value] {
		if _, changed := had[n]; !changed {
			had[n] = true
		}
	}
	for n, yes := range had {
		if o, ok := s.Get(n); ok && yes {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b *object.Object) int { return NameOf(a).Compare(NameOf(b)) })
	return found, nil
}

// scan returns the objects of a snapshot by all values, found once for all who read it.
func (i *Index) scan(s *Snapshot, rest func()) map[string][]*object.Object {
	if found, ok := s.scans.Load(i); ok {
		return found.(map[string][]*object.Object)
	}
	found := map[string][]*object.Object{}
	s.Ascend("", Name{}, func(o *object.Object) bool {
		for _, value := range i.valuesOf(o) {
			value = unique.Make(value).Value()
			if same := found[value]; len(same) == 0 || same[len(same)-1] != o { // it may have a value twice
				found[value] = append(same, o)
			}
		}
		rest()
		return true
	})
	s.scans.Store(i, found)
	return found
}

func (i *Index) leave() { <-i.turn }

// refresh brings the index up to date, or lets go of its memory if nobody has used it for long,
// unless somebody is at it: the next reader or change brings in what that one does not see.
func (i *Index) refresh() {
	select {
	case i.turn <- struct{}{}:
	default:
		return
	}
	defer i.leave()
	switch {
	case !i.built:
	case time.Since(i.used) > indexIdle:
		i.v.mu.Lock()
		i.v.indexes = slices.DeleteFunc(slices.Clone(i.v.indexes), func(x *Index) bool { return x == i })
		i.v.mu.Unlock()
		i.built, i.values, i.names, i.log = false, nil, nil, nil
	default:
		work := lifecycle.BeginWork()             // it may have to be built anew
		_ = i.update(nil, func() { work.Step() }) // it is synced, as it was built
	}
}

// update brings the index to the present state, so that what it finds in an earlier one, if not nil, can be told
// as far as the window goes. It is the caller's turn.
func (i *Index) update(earlier *Snapshot, rest func()) error {
	v := i.v
	v.mu.Lock()
	s, err := v.snapshot()
	if err != nil || i.built && i.seq == s.seq {
		v.mu.Unlock()
		return err
	}
	oldest := v.ring.oldest()
	rebuild := !i.built || i.seq+1 < oldest
	if rebuild && !i.built {
		v.indexes = append(slices.Clone(v.indexes), i)
	}
	begin := s // of a new index
	if earlier != nil && earlier.seq+1 >= oldest {
		begin = earlier
	}
	after := i.seq
	if rebuild {
		after = begin.seq
	}
	changes := v.ring.after(after, make([]Change, 0, v.ring.last-after))
	v.mu.Unlock()
	if rebuild {
		i.built, i.values, i.names = true, make(map[Name][]string, s.Len()), map[string]map[Name]struct{}{}
		begin.Ascend("", Name{}, func(o *object.Object) bool { i.put(NameOf(o), i.valuesOf(o)); rest(); return true })
		i.log, i.from = nil, begin.seq
	}
	for _, c := range changes {
		rest()
		var values []string
		if c.Type != Deleted {
			values = i.valuesOf(c.Object)
		}
		n := NameOf(c.Object)
		if was := i.values[n]; i.put(n, values) {
			i.log = append(i.log, former{c.Seq, n, was})
		}
	}
	i.seq, i.from = s.seq, max(i.from, oldest-1)
	gone, _ := slices.BinarySearchFunc(i.log, i.from+1, func(f former, seq uint64) int { return cmp.Compare(f.seq, seq) })
	if gone > len(i.log)/4 {
		i.log = slices.Clone(i.log[gone:])
	}
	return nil
}

// valuesOf may share memory with the index's buffer.
func (i *Index) valuesOf(o *object.Object) []string {
	var plain *object.Object
	plain, i.buf = o.Unpacked(i.buf)
	return i.of(plain)
}

// put sets the values of an object, and reports whether they are others than before.
func (i *Index) put(n Name, values []string) bool {
	was := i.values[n]
	if slices.Equal(values, was) {
		return false
	}
	for _, value := range was {
		delete(i.names[value], n)
		if len(i.names[value]) == 0 {
			delete(i.names, value)
		}
	}
	delete(i.values, n)
	own := make([]string, 0, len(values))
	for _, value := range values {
		value = unique.Make(value).Value() // its memory is the buffer's
		own = append(own, value)
		if i.names[value] == nil {
			i.names[value] = map[Name]struct{}{}
		}
		i.names[value][n] = struct{}{}
	}
	if len(own) > 0 {
		i.values[n] = own
	}
	return true
}
