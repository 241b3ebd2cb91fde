package query

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
	"github.com/watchbench/watchbench/watcher/watches"
)

func (h *Handler) get(w *recorder, r *http.Request, q *request, open *watches.Watch) error {
	version, err := kubeapi.ParseVersion(q.query.Get("resourceVersion"))
	if err != nil {
		return err
	}
	if err := q.await(r.Context(), open.View, version); err != nil {
		return err
	}
	s, err := open.View.Snapshot()
	if err != nil {
		return err
	}
	o, ok := s.Get(view.Name{Namespace: q.namespace, Name: q.name})
	if !ok {
		freshness(w.Header(), open, s.Version)
		return apierrors.NewNotFound(schema.GroupResource{Group: q.gvr.Group, Resource: q.gvr.Resource}, q.name)
	}
	b := buffers.Get().(*buffer)
	defer b.free()
	b.raw, b.next = o.Content(b.next)
	b.out, err = q.form.appendObject(b.out, open.Kind, b.raw, true)
	if err != nil {
		return err
	}
	b.out = append(b.out, '\n')
	freshness(w.Header(), open, s.Version)
	w.Header().Set("Content-Type", kubeapi.StatusType)
	out := newSink(w, r)
	defer out.End()
	if out.Plain(len(b.out)) {
		w.Header().Set("Content-Length", strconv.Itoa(len(b.out)))
	}
	return out.write(b)
}

// objects calls visit with what a list may have in it: a superset of what matches, in
// order, until visit returns false. It fails when ctx ends.
type objects func(visit func(*object.Object) bool) error

func (all objects) paced(ctx context.Context, seat *access.Seat) objects {
	return func(visit func(*object.Object) bool) (err error) {
		_ = all(func(o *object.Object) bool {
			err = seat.Step(ctx)
			return err == nil && visit(o)
		})
		return err
	}
}

// source finds the objects of a list's state, by an index or a name where that narrows it.
func source(ctx context.Context, open *watches.Watch, q *request, s *view.Snapshot, rest func()) (objects, error) {
	o, m := q.options, q.matcher
	after := view.Name{Namespace: o.Token.Namespace, Name: o.Token.Name}
	if m.name != "" && (m.namespace != "" || !open.Kind.Namespaced) {
		return func(visit func(*object.Object) bool) error {
			n := view.Name{Namespace: m.namespace, Name: m.name}
			if found, ok := s.Get(n); ok && (after == view.Name{} || after.Compare(n) < 0) {
				visit(found)
			}
			return nil
		}, nil
	}
	if o.indexed.Name != "" && o.Token.Name == "" {
		hits, err := index(open.View, o.indexed).Find(ctx, s, o.value, rest)
		return each(hits), err
	}
	return func(visit func(*object.Object) bool) error { s.Ascend(m.namespace, after, visit); return nil }, nil
}

func each(all []*object.Object) objects {
	return func(visit func(*object.Object) bool) error {
		for _, o := range all {
			if !visit(o) {
				break
			}
		}
		return nil
	}
}

func (h *Handler) list(w *recorder, r *http.Request, q *request, open *watches.Watch) error {
	o, m := q.options, q.matcher
	version, _ := o.Asked()
	if err := q.await(r.Context(), open.View, version); err != nil {
		return err
	}
	if err := h.sit(w, r, q); err != nil {
		return err
	}
	s, version, err := o.see(open.View)
	if err != nil {
		return err
	}
	all, err := source(r.Context(), open, q, s, w.seat.Rest)
	if err != nil {
		return err
	}
	meta := kubeapi.ListMeta{Version: version, Left: -1}
	b := buffers.Get().(*buffer)
	defer b.free()
	if o.Limit > 0 {
		if all, meta, err = page(all.paced(r.Context(), w.seat), s, o, m, meta, b); err != nil {
			return err
		}
		m = &matcher{} // what is on the page matches
	}
	freshness(w.Header(), open, meta.Version)
	w.Header().Set("Content-Type", kubeapi.StatusType)
	out := newSink(w, r)
	defer out.End()
	b.out = q.form.appendListHead(b.out, open.Kind, meta)
	first := true
	over := all.paced(r.Context(), w.seat)(func(obj *object.Object) bool {
		if !m.take(obj, b) {
			return true
		}
		if m.options == nil {
			b.raw, b.next = obj.Content(b.next)
		}
		if !first {
			b.out = append(b.out, ',')
		}
		first = false
		if b.out, err = q.form.appendItem(b.out, open.Kind, b.raw); err == nil && len(b.out) >= chunk {
			err = out.write(b)
		}
		return err == nil
	})
	if err = cmp.Or(err, over); err != nil {
		return err
	}
	b.out = append(b.out, "]}\n"...)
	return out.write(b)
}

// page takes the objects of one page and says how the list goes on.
func page(all objects, s *view.Snapshot, o *options, m *matcher, meta kubeapi.ListMeta, b *buffer) (objects,
	kubeapi.ListMeta, error) {
	var taken []*object.Object
	more := false
	err := all(func(obj *object.Object) bool {
		if !m.take(obj, b) {
			return true
		}
		if more = len(taken) == int(o.Limit); !more {
			taken = append(taken, obj)
		}
		return !more
	})
	if more && err == nil {
		last := taken[len(taken)-1]
		if o.Everything() {
			meta.Left = left(s, o, m, len(taken), view.NameOf(last))
		}
		next := kubeapi.Token{Version: int64(meta.Version), Namespace: last.Key.Namespace, Name: last.Key.Name,
			Left: meta.Left}
		meta.Next = next.String()
	}
	return each(taken), meta, err
}

// left is how many objects are behind a page that ends at last.
func left(s *view.Snapshot, o *options, m *matcher, taken int, last view.Name) int {
	switch {
	case o.Token.Name != "" && o.Token.Left > taken:
		return o.Token.Left - taken
	case o.Token.Name == "" && m.namespace == "":
		return s.Len() - taken
	}
	return s.Count(m.namespace, last)
}

// Freshness headers.
const (
	versionHeader = "X-Watchbench-Resource-Version"
	ageHeader     = "X-Watchbench-Age"
)

// freshness says how old an answer may be.
func freshness(to http.Header, open *watches.Watch, version uint64) {
	to.Set(versionHeader, strconv.FormatUint(version, 10))
	health := open.Health()
	if !health.Heard.IsZero() {
		to.Set(ageHeader, strconv.FormatInt(max(0, int64(time.Since(health.Heard)/time.Second)), 10))
	}
	if health.Broken != nil {
		to.Set("Warning", `299 - "the watch of the apiserver is interrupted: this answer may be out of date"`)
	}
}
