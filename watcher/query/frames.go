package query

import (
	"slices"
	"sync"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

const (
	// hubEvents is how many changes of a view are kept in the form that watchers read.
	hubEvents = 128
	// hubLarge is the largest sum of a change's frames that is kept, and the largest sum of its
	// objects. What is larger is rendered for each watcher anew, which takes less time than to
	// send it. So what a view's watchers share is at most 16 MiB.
	hubLarge = 64 << 10
)

// hub is shared by the watchers of a view: the attributes and frames of a change are made once for all of them.
type hub struct {
	kind   watches.Kind
	fields kubeapi.Fields
	users  int // guarded by Handler.mu

	mu     sync.Mutex
	events [hubEvents]*event // guarded by mu; by Seq
}

// join returns a view's hub for a watcher that calls leave at its end.
func (h *Handler) join(v *view.View, k watches.Kind, f kubeapi.Fields) (x *hub, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	x = h.hubs[v]
	if x == nil {
		x = &hub{kind: k, fields: f}
		h.hubs[v] = x
	}
	x.users++
	return x, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if x.users--; x.users == 0 {
			delete(h.hubs, v)
		}
	}
}

// event finds a change. Watchers that are far behind others may each make their own.
func (x *hub) event(c view.Change) *event {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := &x.events[c.Seq%hubEvents]
	if e := *at; e != nil && e.change.Seq == c.Seq {
		return e
	}
	e := &event{change: c, hub: x}
	size := c.Object.Size()
	if c.Old != nil {
		size += c.Old.Size()
	}
	if size <= hubLarge {
		*at = e
	}
	return e
}

type event struct {
	hub    *hub
	change view.Change

	mu       sync.Mutex
	read     bool                // guarded by mu; whether now and was are there
	now, was *kubeapi.Attributes // guarded by mu until read, then immutable
	frames   map[shape][]byte    // guarded by mu
	size     int                 // guarded by mu; of frames
}

// shape identifies a frame of a change.
type shape struct {
	form    form
	typ     view.Type
	columns bool // of a table
}

// attributes are the labels and fields before and after the change; nil: the object was or is not there.
func (e *event) attributes(b *buffer) (was, now *kubeapi.Attributes) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.read {
		e.read = true
		read := func(o *object.Object) *kubeapi.Attributes {
			b.raw, b.next = o.Content(b.next)
			a := e.hub.fields.Of(view.NameOf(o), b.raw)
			a.Labels = slices.Clone(a.Labels)
			return a
		}
		if e.change.Old != nil {
			e.was = read(e.change.Old)
		}
		if e.change.Type != view.Deleted {
			e.now = read(e.change.Object)
		}
	}
	return e.was, e.now
}

func (e *event) appendFrame(s shape, b *buffer) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f, ok := e.frames[s]; ok {
		b.out = append(b.out, f...)
		return nil
	}
	from := len(b.out)
	o := e.change.Object
	if s.typ == view.Deleted && e.change.Old != nil {
		o = e.change.Old
	}
	if err := appendFrame(b, e.hub.kind, s, o, e.change.Version); err != nil {
		b.out = b.out[:from]
		return err
	}
	if n := len(b.out) - from; e.size+n <= hubLarge {
		if e.frames == nil {
			e.frames = map[shape][]byte{}
		}
		e.frames[s] = append(make([]byte, 0, n), b.out[from:]...)
		e.size += n
	}
	return nil
}

// appendFrame appends a line of a watch. The object of a deletion has the version of that.
func appendFrame(b *buffer, k watches.Kind, s shape, o *object.Object, version uint64) (err error) {
	b.raw, b.next = o.Content(b.next)
	if s.typ == view.Deleted {
		if b.edited, err = object.AppendVersion(b.edited[:0], b.raw, version); err != nil {
			return err
		}
		b.raw = b.edited
	}
	b.out = append(append(append(b.out, `{"type":"`...), s.typ.String()...), `","object":`...)
	b.out, err = s.form.appendObject(b.out, k, b.raw, s.columns)
	b.out = append(b.out, "}\n"...)
	return err
}
