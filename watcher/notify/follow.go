package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

// follower turns the changes of one kind into the events of one subscription. It is for one
// goroutine, which no target holds up for longer than its own queue says.
type follower struct {
	sub    *subscription
	filter *filter
	queue  *queue
	// known are the objects that match, as of the last change that was looked at. They are those of the view, so that
	// a deletion that only a list shows can be sent with its object.
	known map[string]*object.Object
	// silent is set until the state at the start was taken, of which nothing is sent.
	silent bool
}

// errFull says that the queue has no room: the differences are sent once it has.
var errFull = errors.New("the queue is full")

// Pauses before a kind is opened again, and the longest wait for its first list.
const (
	reopenMin  = 200 * time.Millisecond
	reopenMax  = 30 * time.Second
	syncAtMost = time.Minute
)

// startsWithin is how long a kind that nobody follows may still be one that the pipeline is about to collect.
const startsWithin = time.Minute

func (f *follower) run(ctx context.Context) {
	var since time.Time // the first failure in a row
	for failures := 0; ; {
		began := time.Now()
		err := f.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > reopenMax {
			failures = 0
		}
		if failures == 0 {
			since = time.Now()
		}
		pause := jitter(reopenMin, reopenMax, failures) + reopenMin
		failures++
		f.sub.reopening(err, time.Since(since), pause)
		if lifecycle.Pause(ctx, pause) != nil {
			return
		}
	}
}

// session opens the kind and follows it for as long as that goes.
func (f *follower) session(ctx context.Context) error {
	w, err := f.sub.settings.Kinds.Open(ctx, f.sub.Resource, watches.Wait{})
	if err != nil {
		return err
	}
	defer w.Close()
	v := w.View
	select {
	case <-v.Synced():
	case <-time.After(syncAtMost):
		return fmt.Errorf("the first list was not complete after %s", syncAtMost)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if f.sub.followed.Load() {
		f.sub.gap(gapReopened)
	}
	for {
		cursor, err := f.catchUp(ctx, v)
		if err == nil {
			f.sub.followed.Store(true)
			err = f.live(ctx, cursor)
		}
		switch {
		case errors.Is(err, view.ErrExpired):
			f.sub.gap(gapExpired)
		case errors.Is(err, errFull):
			f.sub.gap(gapFull)
			if err := f.queue.wait(ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

const batch = 256

func (f *follower) live(ctx context.Context, cursor *view.Cursor) error {
	buf := make([]view.Change, 0, batch)
	for {
		changes, _, err := cursor.Next(ctx, buf)
		if err != nil {
			return err
		}
		for _, c := range changes {
			now := c.Object
			if c.Type == view.Deleted {
				now = nil
			}
			if !f.send(f.event(c.Object, now, c.Version, c.Received)) {
				return errFull
			}
		}
		clear(changes) // they keep objects alive
	}
}

// catchUp brings what is known to what a view shows, and queues the differences. It waits
// for room as often as it takes and each time looks at the view anew: nothing but what is
// known is kept alive meanwhile, and an object that changes while it waits is sent once.
func (f *follower) catchUp(ctx context.Context, v *view.View) (*view.Cursor, error) {
	for {
		s, err := v.Snapshot()
		if err != nil {
			return nil, err
		}
		if f.differences(s) {
			f.silent = false
			return v.FollowAll(s), nil
		}
		if err := f.queue.wait(ctx); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// differences queues what a snapshot and the known objects differ in, deletions first: a
// name may have been given again. It reports false where the queue is full.
func (f *follower) differences(s *view.Snapshot) bool {
	now := time.Now()
	for _, was := range f.known {
		if o, there := s.Get(view.NameOf(was)); there && keyOf(o) == keyOf(was) {
			continue
		}
		if !f.send(f.event(was, nil, s.Version, now)) {
			return false
		}
	}
	whole := true
	s.Ascend("", view.Name{}, func(o *object.Object) bool {
		if was := f.known[keyOf(o)]; was != nil && was.ResourceVersion == o.ResourceVersion {
			return true
		}
		whole = f.send(f.event(o, o, o.ResourceVersion, now))
		return whole
	})
	return whole
}

// send queues an event, if it is one; where there is no room, it is as if it had not been found.
func (f *follower) send(i *item, was *object.Object) bool {
	if i == nil || f.queue.put(i) {
		return true
	}
	f.undo(i.key, was)
	return false
}

// event takes a change of an object into what is known, now being nil where it is gone, and returns the event that
// this is for the subscription, nil if it is none, and what was known before.
func (f *follower) event(o, now *object.Object, version uint64, received time.Time) (*item, *object.Object) {
	key := keyOf(o)
	was := f.known[key]
	if now != nil && !f.filter.matches(now) {
		now, o = nil, was // an object that stops matching is sent as it was
	}
	var typ view.Type
	switch {
	case now == nil && was == nil:
		return nil, nil
	case now == nil:
		typ = view.Deleted
		delete(f.known, key)
	case was == nil:
		typ = view.Added
		f.known[key] = now
	default:
		typ = view.Modified
		f.known[key] = now
	}
	if f.silent || !f.filter.types[typ] || typ == view.Modified && !f.filter.differs(was, now) {
		return nil, was
	}
	return &item{typ: typ, obj: o, version: version, received: received, key: key}, was
}

// undo takes an event back that could not be queued: only what was sent is known.
func (f *follower) undo(key string, was *object.Object) {
	if was == nil {
		delete(f.known, key)
	} else {
		f.known[key] = was
	}
}

// keyOf is an object's identity.
func keyOf(o *object.Object) string {
	if o.UID != "" {
		return o.UID
	}
	return o.Key.Namespace + "/" + o.Key.Name
}
