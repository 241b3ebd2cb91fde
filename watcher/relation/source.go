package relation

import (
	"context"
	"errors"
	"slices"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// source is a kind as one query reads it: all of it at one snapshot.
type source struct {
	kind    watches.Kind
	missing Reason // why it cannot be read; "" is that it can
	doubt   Reason // why it may not be all or the latest; "" is neither
	watch   *watches.Watch
	state   *view.Snapshot

	later   *view.Cursor           // the changes after state
	changed map[view.Name]struct{} // what they are of
	lost    bool                   // they could not be followed
	indexes map[*rule]*index
	buf     []byte // for unpacking
	reader  reader
}

// open opens a kind; the error says why it cannot be read.
func open(ctx context.Context, from Kinds, k watches.Kind) (*source, error) {
	s := &source{kind: k, changed: map[view.Name]struct{}{}, indexes: map[*rule]*index{}}
	w, err := from.Open(ctx, gvrOf(k))
	if err != nil {
		return s.without(err), err
	}
	if s.state, err = w.View.Snapshot(); err != nil {
		w.Close()
		return s.without(err), err
	}
	s.watch, s.later = w, w.View.FollowAll(s.state)
	switch {
	case w.Health != nil && w.Health().Broken != nil:
		s.doubt = WatchBroken
	case w.Kind.LabelSelector != "":
		s.doubt = Filtered
	}
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
	for _, i := range s.indexes {
		r.release(i)
	}
	if s.watch != nil {
		s.watch.Close()
	}
}

// find returns the objects of a namespace, of all where that is empty, that refer to what
// key names, sorted by name, as they are in the snapshot. The index may know more by now:
// what changed since is looked at as it was.
func (s *source) find(r *Relations, ru *rule, key, namespace string) ([]*object.Object, error) {
	i := s.indexes[ru]
	if i == nil {
		i = r.index(gvrOf(s.kind), ru, s.watch.View)
		s.indexes[ru] = i
	}
	all, at, err := i.Find(key)
	if err != nil {
		return nil, err
	}
	if at != s.state {
		if s.catchUp(); s.lost {
			return s.scan(ru, key, namespace), nil
		}
		all = s.asBefore(ru, key, all)
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
			s.changed[view.NameOf(c.Object)] = struct{}{}
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

// asBefore takes back what changed after the snapshot.
func (s *source) asBefore(ru *rule, key string, all []*object.Object) []*object.Object {
	if len(s.changed) == 0 {
		return all
	}
	all = slices.DeleteFunc(all, func(o *object.Object) bool { _, changed := s.changed[view.NameOf(o)]; return changed })
	for n := range s.changed {
		if o, there := s.state.Get(n); there && s.refers(ru, o, key) {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *object.Object) int { return view.NameOf(a).Compare(view.NameOf(b)) })
	return all
}

// scan is find without an index.
func (s *source) scan(ru *rule, key, namespace string) (all []*object.Object) {
	s.state.Ascend(namespace, view.Name{}, func(o *object.Object) bool {
		if s.refers(ru, o, key) {
			all = append(all, o)
		}
		return true
	})
	return all
}

func (s *source) refers(ru *rule, o *object.Object, key string) (does bool) {
	var plain *object.Object
	plain, s.buf = o.Unpacked(s.buf)
	_ = ru.refs(plain.Raw, &s.reader, func(r reference) { does = does || r.key() == key })
	return does
}
