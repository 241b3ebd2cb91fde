package query

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

const (
	// bookmarkEvery is how often a watch that asks for bookmarks gets one.
	bookmarkEvery = 50 * time.Second
	// watchTimeout ends a watch that sets no time of its own after this time to twice this time.
	watchTimeout = 30 * time.Minute
)

// watcher is one watch. It has no goroutine and no queue: it reads the view's window at its own pace.
type watcher struct {
	w       *recorder
	kind    watches.Kind
	form    form
	matcher *matcher
	hub     *hub
	cursor  *view.Cursor
	columns bool   // whether the columns of a table are still to be sent
	seen    uint64 // up to this version everything was sent
	pending bool   // something was written since the last flush
}

// watch answers with changes until they end, the client goes or its time is up.
func (h *Handler) watch(w *recorder, r *http.Request, q *request, open *watches.Watch) error {
	o, v := q.options, open.View
	initial := o.Initial()
	x := &watcher{w: w, kind: open.Kind, form: q.form, matcher: q.matcher, columns: true}
	var state objects
	var err error
	switch {
	case initial || o.Fresh():
		if err = q.await(r.Context(), v, o.Version); err != nil {
			return err
		}
		if initial {
			if err := h.sit(w, r, q); err != nil {
				return err
			}
		}
		s, err := v.Snapshot()
		if err != nil {
			return err
		}
		if initial {
			if state, err = source(r.Context(), open, q, s, w.seat.Rest); err != nil {
				return err
			}
			state = state.paced(r.Context(), w.seat)
		}
		x.cursor, x.seen = v.FollowFrom(s), s.Version
	default:
		x.cursor, err = v.Follow(o.Version)
		x.seen = o.Version
		if err != nil && !errors.Is(err, view.ErrExpired) {
			return err
		}
	}
	var leave func()
	x.hub, leave = h.join(v, open.Kind, fieldsOf(q.gvr))
	defer leave()
	freshness(w.Header(), open, v.Stats().Version)
	w.Header().Set("Content-Type", kubeapi.StatusType)
	w.WriteHeader(http.StatusOK)
	if err != nil { // past the headers, as an apiserver does
		return x.fail(kubeapi.TooOld(o.Version, v.Stats().Version))
	}
	if err := x.flush(); err != nil {
		return err
	}
	if initial {
		if err := x.sendState(state, o.AllowWatchBookmarks); err != nil {
			return err
		}
		w.seat.Leave()
	}
	w.endless = true
	return x.run(r.Context(), o, v)
}

func (x *watcher) fail(err error) error {
	text, _ := kubeapi.StatusJSON(err)
	_, err = x.w.Write(kubeapi.AppendEvent(nil, "ERROR", text))
	return err
}

func (x *watcher) sendState(all objects, bookmark bool) error {
	b := buffers.Get().(*buffer)
	defer b.free()
	var err error
	over := all(func(o *object.Object) bool {
		if !x.matcher.take(o, b) {
			return true
		}
		if err = appendFrame(b, x.kind, x.shape(view.Added), o, 0); err == nil && len(b.out) >= chunk {
			err = x.write(b)
		}
		return err == nil
	})
	if err = cmp.Or(err, over); err != nil {
		return err
	}
	if bookmark {
		x.bookmark(b, kubeapi.InitialEnd)
	}
	if err := x.write(b); err != nil {
		return err
	}
	return x.flush()
}

func (x *watcher) shape(t view.Type) shape {
	s := shape{x.form, t, x.columns && x.form.as == kubeapi.AsTable}
	x.columns = false
	return s
}

// run sends changes until the watch is over.
func (x *watcher) run(ctx context.Context, o *options, v *view.View) error {
	timeout := o.Timeout
	if timeout == 0 {
		timeout = watchTimeout + rand.N(watchTimeout)
	}
	end := time.Now().Add(timeout)
	for {
		tick := end
		if o.AllowWatchBookmarks {
			tick = kubeapi.NextBookmark(time.Now(), end, bookmarkEvery)
		}
		err := x.until(ctx, tick, v)
		switch {
		case err == nil && !tick.Before(end), ctx.Err() != nil:
			return nil
		case errors.Is(err, view.ErrEnded):
			return nil
		case errors.Is(err, view.ErrExpired):
			return x.fail(kubeapi.TooOld(x.seen, v.Stats().Version))
		case err != nil:
			return err
		}
		b := buffers.Get().(*buffer)
		x.bookmark(b, "")
		err = x.write(b)
		b.free()
		if err == nil {
			err = x.flush()
		}
		if err != nil {
			return err
		}
	}
}

func (x *watcher) until(ctx context.Context, t time.Time, v *view.View) error {
	ctx, cancel := context.WithDeadline(ctx, t)
	defer cancel()
	for {
		if err := x.drain(ctx); err != nil {
			return err
		}
		if x.pending {
			if err := x.flush(); err != nil {
				return err
			}
		}
		if ctx.Err() == nil && x.cursor.Wait(ctx) == nil {
			continue
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil
		}
		return context.Cause(ctx)
	}
}

func (x *watcher) drain(ctx context.Context) error {
	b := buffers.Get().(*buffer)
	defer b.free()
	for ctx.Err() == nil {
		changes, version, err := x.cursor.Poll(b.changes)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if err := x.change(c, b); err != nil {
				return err
			}
			if len(b.out) >= chunk {
				if err := x.write(b); err != nil {
					return err
				}
			}
		}
		x.seen = max(x.seen, version)
		if len(changes) == 0 {
			break
		}
	}
	return x.write(b)
}

// change renders one change as the watch's selectors see it.
func (x *watcher) change(c view.Change, b *buffer) error {
	if !x.matcher.place(c.Object.Key) {
		return nil
	}
	e := x.hub.event(c)
	t := c.Type
	if o := x.matcher.options; o != nil {
		before, after := e.attributes(b)
		was, is := before != nil && o.Selects(before), after != nil && o.Selects(after)
		switch {
		case was && is:
			t = view.Modified
		case is:
			t = view.Added
		case was:
			t = view.Deleted
		default:
			return nil
		}
	}
	return e.appendFrame(x.shape(t), b)
}

// bookmark renders one. more is further members of its metadata.
func (x *watcher) bookmark(b *buffer, more string) {
	gv, kind := x.form.kind(x.kind, true)
	table := ""
	if x.form.as == kubeapi.AsTable {
		table = `,"columnDefinitions":[],"rows":[]`
	}
	b.out = kubeapi.AppendBookmark(b.out, gv, kind, x.seen, more, table)
}

func (x *watcher) write(b *buffer) error {
	if len(b.out) == 0 {
		return nil
	}
	x.w.rendered += len(b.out)
	_, err := x.w.Write(b.out)
	b.out = b.out[:0]
	x.pending = true
	return err
}

// flush sends what was written: nothing more is waiting.
func (x *watcher) flush() error {
	x.pending = false
	return x.w.flush()
}
