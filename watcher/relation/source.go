package relation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// source is a kind as one query reads it: all of it at one snapshot.
type source struct {
	kind    watches.Kind
	missing Reason // why it cannot be read; "" is that it can
	broken  bool   // it may not be the latest
	watch   *watches.Watch
	state   *view.Snapshot
	rest    func() // between two steps of work

	later   *view.Cursor           // the changes after state
	changed map[view.Name]struct{} // what they are of
	order   []view.Name            // the same, as it came
	lost    bool                   // they could not be followed
	lookups map[*rule]*lookup
	buf     []byte // for unpacking
	reader  reader
}

// lookup is an index, and what it would find among the changed objects as they were.
type lookup struct {
	*index
	before map[string][]*object.Object // by key
	known  int                         // of source.order
	whole  bool                        // before has all objects
}

// open opens a kind; the error says why it cannot be read.
func open(ctx context.Context, from Kinds, k watches.Kind, wait time.Duration) (*source, error) {
	s := &source{kind: k, changed: map[view.Name]struct{}{}, lookups: map[*rule]*lookup{}}
	w, err := from.Open(ctx, gvrOf(k), watches.Wait{For: wait})
	if err != nil {
		return s.without(err), err
	}
	if s.state, err = w.View.Snapshot(); err != nil {
		w.Close()
		return s.without(err), err
	}
	s.watch, s.later = w, w.View.FollowAll(s.state)
	s.broken = w.Health().Broken != nil
	return s, nil
}

func (s *source) without(err error) *source {
	var limit *watches.LimitError
	var unsynced *watches.UnsyncedError
	switch {
	case errors.Is(err, watches.ErrNotServed):
		s.missing = NotServed
	case errors.Is(err, watches.ErrDenied):
		s.missing = Withheld
	case errors.Is(err, watches.ErrNotFollowed):
		s.missing = NotFollowed
	case errors.As(err, &limit):
		s.missing = LimitReached
	case errors.As(err, &unsynced), errors.Is(err, view.ErrNotSynced), errors.Is(err, context.DeadlineExceeded):
		s.missing = NotSynced
	default:
		s.missing = Unavailable
	}
	return s
}

// close lets go of what the query held.
func (s *source) close(r *Relations) {
	for _, l := range s.lookups {
		r.release(l.index)
	}
	if s.watch != nil {
		s.watch.Close()
	}
}

// find returns the objects of a namespace, of all where that is empty, that refer to what
// key names, sorted by name, as they are in the snapshot. The index may know more by now:
// what changed since is looked at as it was.
func (s *source) find(ctx context.Context, r *Relations, ru *rule, key, namespace string) ([]*object.Object, error) {
	l := s.lookups[ru]
	if l == nil {
		l = &lookup{index: r.index(gvrOf(s.kind), ru, s.watch.View)}
		s.lookups[ru] = l
	}
	all, at, err := l.Find(ctx, key, s.rest)
	if err != nil {
		return nil, err
	}
	if at != s.state {
		s.catchUp()
		all = s.asBefore(l, ru, key, all)
	}
	if namespace != "" {
		all = slices.DeleteFunc(all, func(o *object.Object) bool { return o.Key.Namespace != namespace })
	}
	return all, nil
}

// catchUp learns which objects changed after the snapshot.
func (s *source) catchUp() {
	buf := make([]view.Change, 0, 64)
	for {
		changes, _, err := s.later.Poll(buf)
		for _, c := range changes {
			n := view.NameOf(c.Object)
			if _, known := s.changed[n]; !known {
				s.changed[n] = struct{}{}
				s.order = append(s.order, n)
			}
		}
		switch {
		case errors.Is(err, view.ErrExpired):
			s.lost = true
			return
		case len(changes) == 0:
			return
		}
	}
}

// asBefore takes back what changed after the snapshot: everything, where that is not known
// any more.
func (s *source) asBefore(l *lookup, ru *rule, key string, all []*object.Object) []*object.Object {
	if len(s.order) == 0 && !s.lost {
		return all
	}
	if l.before == nil || s.lost && !l.whole {
		l.before, l.whole = map[string][]*object.Object{}, s.lost
		if s.lost {
			s.state.Ascend("", view.Name{}, func(o *object.Object) bool { l.note(s, ru, o); s.rest(); return true })
		}
	}
	if l.whole {
		return slices.Clone(l.before[key])
	}
	for ; l.known < len(s.order); l.known++ {
		if o, there := s.state.Get(s.order[l.known]); there {
			l.note(s, ru, o)
		}
	}
	all = slices.DeleteFunc(all, func(o *object.Object) bool { _, changed := s.changed[view.NameOf(o)]; return changed })
	all = append(all, l.before[key]...)
	slices.SortFunc(all, func(a, b *object.Object) int { return view.NameOf(a).Compare(view.NameOf(b)) })
	return all
}

func (l *lookup) note(s *source, ru *rule, o *object.Object) {
	s.refs(ru, o, func(key string) {
		if same := l.before[key]; len(same) == 0 || same[len(same)-1] != o { // it may name something twice
			l.before[key] = append(same, o)
		}
	})
}

// refs calls yield with the keys of an object's references.
func (s *source) refs(ru *rule, o *object.Object, yield func(key string)) {
	var plain *object.Object
	plain, s.buf = o.Unpacked(s.buf)
	_ = ru.refs(plain.Raw, &s.reader, func(r reference) { yield(r.key()) }) // as in values
}

func (s *source) refers(ru *rule, o *object.Object, key string) (does bool) {
	s.refs(ru, o, func(k string) { does = does || k == key })
	return does
}
