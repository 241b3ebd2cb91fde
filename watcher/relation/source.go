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
}

func open(ctx context.Context, from Kinds, k watches.Kind, wait time.Duration) (*source, error) {
	s := &source{kind: k}
	w, err := from.Open(ctx, watches.GVROf(k), watches.Wait{For: wait})
	if err == nil {
		if s.state, err = w.View.Snapshot(); err != nil {
			w.Close()
		}
	}
	if err != nil {
		s.missing = missing(err)
		return s, err
	}
	s.watch, s.broken = w, w.Health().Broken != nil
	return s, nil
}

func missing(err error) Reason {
	switch {
	case errors.Is(err, watches.ErrNotServed):
		return NotServed
	case errors.Is(err, watches.ErrDenied):
		return Withheld
	case errors.Is(err, watches.ErrNotFollowed):
		return NotFollowed
	case errors.As(err, new(*watches.LimitError)):
		return LimitReached
	case errors.As(err, new(*watches.UnsyncedError)), errors.Is(err, view.ErrNotSynced),
		errors.Is(err, context.DeadlineExceeded):
		return NotSynced
	}
	return Unavailable
}

// find returns the objects of a namespace, of all where that is empty, that refer to what
// key names, sorted by name, as they are in the snapshot.
func (s *source) find(ctx context.Context, ru *rule, key, namespace string, rest func()) ([]*object.Object, error) {
	all, err := s.watch.View.IndexBy(ru, ru.values).Find(ctx, s.state, key, rest)
	if namespace != "" {
		all = slices.DeleteFunc(all, func(o *object.Object) bool { return o.Key.Namespace != namespace })
	}
	return all, err
}
