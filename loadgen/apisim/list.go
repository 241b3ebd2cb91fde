package apisim

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

// writeChunk is how much of a list is rendered before it is written.
const writeChunk = 64 << 10

// view is the objects of a kind at one version. It is immutable.
type view struct {
	objects *tree
	rv      uint64
}

// from yields the objects of a namespace, or of all if it is empty, from a path on.
func (v view) from(start, namespace string) iter.Seq[*version] {
	return func(yield func(*version) bool) {
		first := keyOf(start)
		if namespace != "" && first.compare(key{namespace, ""}) < 0 {
			first = key{namespace, ""}
		}
		v.objects.AscendGreaterOrEqual(&version{key: first}, func(obj *version) bool {
			if namespace != "" && obj.namespace != namespace {
				return false
			}
			return yield(obj)
		})
	}
}

// await waits until version rv has come, for as long as an apiserver would.
func (s *Server) await(ctx context.Context, rv uint64) error {
	var timeout <-chan time.Time
	for {
		s.mu.Lock()
		current, changed := s.rv, s.changed
		s.awaited = s.awaited || current < rv
		s.mu.Unlock()
		if current >= rv {
			return nil
		}
		if timeout == nil {
			t := time.NewTimer(maxWait * time.Second)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-changed:
		case <-timeout:
			return tooLarge(rv, current)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// see finds the view that a list asks for.
func (s *Server) see(ctx context.Context, k *kind, o *options) (view, error) {
	if o.tokenRV == 0 && !o.exact {
		if err := s.await(ctx, o.rv); err != nil {
			return view{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.rv
	switch {
	case o.tokenRV > 0:
		at = uint64(o.tokenRV)
	case o.tokenRV == 0 && o.exact:
		at = o.rv
	}
	switch {
	case at > s.rv:
		return view{}, tooLarge(at, s.rv)
	case at < k.floor && o.tokenRV > 0:
		return view{}, expiredToken(o.start)
	case at < k.floor:
		return view{}, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	return k.at(at), nil
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, k *kind, ver string, o *options) {
	verb := "list"
	if o.tokenRV != 0 {
		verb = "page"
	}
	s.count(r, verb, k.Key())
	v, err := s.see(r.Context(), k, o)
	if r.Context().Err() != nil {
		return
	}
	if err != nil {
		kubeapi.WriteStatus(w, err)
		return
	}
	limit := o.Limit
	if o.ResourceVersion == "0" && !s.config.NoWatchCache {
		limit = 0 // an apiserver's watch cache has no pages
	}
	page, next, left := v.page(o, limit)
	meta := map[string]any{"resourceVersion": strconv.FormatUint(v.rv, 10)}
	if next != "" {
		meta["continue"] = encodeToken(int64(v.rv), next, left)
		if o.everything() {
			meta["remainingItemCount"] = left
		}
		s.mu.Lock()
		k.keep(v)
		s.mu.Unlock()
	}
	text, err := json.Marshal(meta)
	if err != nil {
		kubeapi.WriteStatus(w, err)
		return
	}
	s.mu.Lock()
	res := k.Resource
	s.mu.Unlock()
	c, end := compress(w, r)
	defer end()
	writeList(c, res, ver, o.form, text, page)
}

// page cuts the objects that a request gets from the view. next is the first path of
// what is left, empty if nothing is; left is how much that is, where no selector says
// otherwise.
func (v view) page(o *options, limit int64) (page []*version, next string, left int) {
	if limit <= 0 && o.everything() && o.namespace == "" {
		page = make([]*version, 0, v.objects.Len())
	}
	for obj := range v.from(o.start, o.namespace) {
		if !o.matches(obj) {
			continue
		}
		if limit > 0 && int64(len(page)) == limit {
			// The path behind the last one sent, as an apiserver has it.
			return page, page[len(page)-1].path() + "\x00", v.left(o, obj, len(page))
		}
		page = append(page, obj)
	}
	return page, "", 0
}

// left counts the objects from first on. Counting them all at each page would make a
// list in pages quadratic, so that the token carries the number.
func (v view) left(o *options, first *version, sent int) int {
	switch {
	case !o.everything():
		return 0
	case o.tokenLeft > 0:
		return o.tokenLeft - sent
	case o.namespace == "" && o.start == "":
		return v.objects.Len() - sent
	}
	n := 0
	for range v.from(first.path(), o.namespace) {
		n++
	}
	return n
}

func writeList(w http.ResponseWriter, res Resource, ver string, f form, meta []byte, page []*version) {
	w.Header().Set("Content-Type", kubeapi.StatusType)
	gv, kind := res.groupVersion(ver), res.Kind
	what := ""
	if res.Custom {
		what = typed(gv, kind)
	}
	if f.as == asMetadata {
		gv, kind = metaVersion, asMetadata
	}
	b := append(head(nil, gv, kind+"List", meta), `,"items":[`...)
	for i, obj := range page {
		if i > 0 {
			b = append(b, ',')
		}
		if f.as == asMetadata {
			b = appendPartial(b, obj, obj.rv)
		} else {
			b = obj.appendJSON(b, what, obj.rv)
		}
		if len(b) >= writeChunk {
			if _, err := w.Write(b); err != nil {
				return
			}
			b = b[:0]
		}
	}
	_, _ = w.Write(append(b, "]}\n"...))
}
