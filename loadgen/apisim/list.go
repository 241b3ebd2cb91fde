package apisim

import (
	"context"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/kubeapi"
)

const (
	// gzipFrom is the size from which an apiserver compresses an answer.
	gzipFrom = 128 << 10
	// writeChunk is how much of a list is rendered before it is written.
	writeChunk = gzipFrom
)

// view is the objects of a kind at one version. It is immutable.
type view struct {
	objects *tree
	rv      uint64
}

// from yields the objects of a namespace, or of all if it is empty, that are behind a key.
func (v view) from(after key, namespace string) iter.Seq[*version] {
	return func(yield func(*version) bool) {
		first := after
		if first == (key{}) {
			first.Namespace = namespace
		}
		v.objects.AscendGreaterOrEqual(&version{key: first}, func(obj *version) bool {
			switch {
			case obj.key == after:
				return true
			case namespace != "" && obj.Namespace != namespace:
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
			t := time.NewTimer(kubeapi.MaxWait)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-changed:
		case <-timeout:
			return kubeapi.TooLarge(rv, current)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// see finds the view that a list asks for.
func (s *Server) see(ctx context.Context, k *kind, o *options) (view, error) {
	version, exact := o.Asked()
	if o.Token.Version == 0 && !exact {
		if err := s.await(ctx, version); err != nil {
			return view{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.rv
	if exact {
		at = version
	}
	switch {
	case at > s.rv:
		return view{}, kubeapi.TooLarge(at, s.rv)
	case at < k.floor:
		return view{}, kubeapi.Expired(o.Token)
	}
	return k.at(at), nil
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, k *kind, ver string, o *options) {
	verb := "list"
	if o.Token.Version != 0 {
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
	page, meta := v.page(o, limit)
	s.mu.Lock()
	if meta.Next != "" {
		k.keep(v)
	}
	res := k.Resource
	s.mu.Unlock()
	out := kubeapi.NewAnswer(w, r, gzipFrom)
	defer out.End()
	w.Header().Set("Content-Type", kubeapi.StatusType)
	writeList(out, res, ver, o.partial, meta, page)
}

// page cuts the objects that a request gets from the view, and says how the list goes on.
func (v view) page(o *options, limit int64) (page []*version, meta kubeapi.ListMeta) {
	meta = kubeapi.ListMeta{Version: v.rv, Left: -1}
	if o.Shard != nil && !o.partial { // an apiserver's lists of metadata do not say it
		meta.Shard = o.Shard.String()
	}
	if limit <= 0 && o.Everything() && o.Shard == nil && o.path.Namespace == "" {
		page = make([]*version, 0, v.objects.Len())
	}
	for obj := range v.from(key{Namespace: o.Token.Namespace, Name: o.Token.Name}, o.path.Namespace) {
		// An apiserver does not look whether what comes behind a full page matches: the next one may be empty.
		if limit > 0 && int64(len(page)) == limit {
			last := page[len(page)-1]
			if o.Everything() {
				meta.Left = v.left(o, len(page))
			}
			meta.Next = kubeapi.Token{Version: int64(v.rv), Namespace: last.Namespace, Name: last.Name, Left: meta.Left}.String()
			break
		}
		if o.matches(obj) {
			page = append(page, obj)
		}
	}
	return page, meta
}

// left counts the objects behind a page. Counting them all at each would make a list in pages quadratic, so that the
// token carries the number. An apiserver counts those of other shards, and only what it sent as sent.
func (v view) left(o *options, sent int) (n int) {
	switch {
	case o.Shard == nil && o.Token.Left > sent:
		return o.Token.Left - sent
	case o.path.Namespace == "" && o.Token.Name == "":
		return v.objects.Len() - sent
	}
	for range v.from(key{Namespace: o.Token.Namespace, Name: o.Token.Name}, o.path.Namespace) {
		n++
	}
	return n - sent
}

func writeList(w io.Writer, res Resource, ver string, partial bool, meta kubeapi.ListMeta, page []*version) {
	gv, kind := res.groupVersion(ver), res.Kind
	what := ""
	if res.Custom {
		what = typed(gv, kind)
	}
	if partial {
		gv, kind = kubeapi.MetaVersion, kubeapi.AsMetadata
	}
	b := append(kubeapi.AppendListHead(nil, gv, kind+"List", meta), `},"items":[`...)
	for i, obj := range page {
		if i > 0 {
			b = append(b, ',')
		}
		b = obj.show(b, partial, what, obj.rv)
		if len(b) >= writeChunk {
			if _, err := w.Write(b); err != nil {
				return
			}
			b = b[:0]
		}
	}
	_, _ = w.Write(append(b, "]}\n"...))
}

func (v *version) show(b []byte, partial bool, typed string, rv uint64) []byte {
	if partial {
		return kubeapi.AppendPartial(b, jsonscan.Lookup(v.appendJSON(nil, "", rv), "metadata"))
	}
	return v.appendJSON(b, typed, rv)
}
