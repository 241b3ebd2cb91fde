package apisim

import (
	"net/http"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

const (
	// maxBatch is how many changes are looked at before they are written.
	maxBatch = 256
)

// watcher is one watch. It has no goroutine and no buffer of its own: it reads the kind's window at its own pace.
type watcher struct {
	s   *Server
	k   *kind
	ver string
	o   *options
	w   http.ResponseWriter

	gv, kind string
	typed    string
	buf      []byte
	held     bool   // something was rendered since the last flush
	next     uint64 // sequence number of the next change
	written  uint64 // sequence number of the first change that is not yet written
	above    uint64 // only changes of a later version are sent
	seen     uint64 // everything up to this version was sent or is irrelevant
	cut      int    // of the kind, at the start
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, k *kind, ver string, o *options) {
	initial := o.Initial()
	verb := "watch"
	if initial {
		verb = "stream"
	}
	s.count(r, verb, k.Key())
	var failure error
	if initial {
		failure = s.await(r.Context(), o.Version)
	}
	if r.Context().Err() != nil {
		return
	}
	x := &watcher{s: s, k: k, ver: ver, o: o, w: w}
	var objects view
	if failure == nil {
		objects, failure = x.begin(initial)
	}
	w.Header().Set("Content-Type", kubeapi.StatusType)
	w.WriteHeader(http.StatusOK)
	if failure != nil { // past the headers, as an apiserver does
		text, _ := kubeapi.StatusJSON(failure)
		x.buf = kubeapi.AppendEvent(x.buf, "ERROR", text)
		_ = x.flush()
		return
	}
	defer func() {
		s.mu.Lock()
		s.open--
		delete(k.readers, x)
		k.notifyReaders()
		s.mu.Unlock()
	}()
	if x.flush() != nil || !x.sendInitial(objects, initial) {
		return
	}
	x.run(r)
}

// begin finds where the watch starts, and the objects it shows first.
func (x *watcher) begin(initial bool) (view, error) {
	s, k, o := x.s, x.k, x.o
	s.mu.Lock()
	defer s.mu.Unlock()
	x.gv = k.groupVersion(x.ver)
	x.kind, x.typed = k.Kind, typed(x.gv, k.Kind)
	x.cut = k.cut
	x.next, x.above, x.seen = k.next(), s.rv, s.rv
	x.written = x.next
	var objects view
	switch {
	case initial || o.Fresh() && o.SendInitialEvents == nil:
		objects = view{k.objects.Clone(), s.rv}
		x.written-- // they count as one change that is to be written
	case o.Fresh():
	case o.Version < k.floor:
		return view{}, kubeapi.TooOld(o.Version, k.floor)
	default:
		x.next, x.above, x.seen = k.after(o.Version), o.Version, o.Version
		x.written = x.next
	}
	s.open++
	k.readers[x] = struct{}{}
	return objects, nil
}

// sendInitial shows the objects as ADDED, and closes them with a bookmark if the client asked for a streaming list.
func (x *watcher) sendInitial(objects view, closing bool) bool {
	if objects.objects != nil {
		for v := range objects.from(key{}, x.o.path.Namespace) {
			if !x.o.matches(v) {
				continue
			}
			x.object("ADDED", v, v.rv)
			if len(x.buf) >= writeChunk && x.write() != nil {
				return false
			}
		}
	}
	if closing && x.o.AllowWatchBookmarks {
		x.bookmark(kubeapi.InitialEnd)
	}
	return x.flush() == nil
}

func (x *watcher) run(r *http.Request) {
	timeout := x.o.Timeout
	if timeout == 0 {
		timeout = watchTimeout
	}
	end := time.NewTimer(timeout)
	defer end.Stop()
	deadline := time.Now().Add(timeout)
	var tick <-chan time.Time
	var mark *time.Timer
	if x.o.AllowWatchBookmarks && x.s.config.BookmarkPeriod > 0 {
		mark = time.NewTimer(x.untilBookmark(deadline))
		defer mark.Stop()
		tick = mark.C
	}
	for {
		batch, changed, over := x.read()
		for _, e := range batch {
			x.change(e)
			if len(x.buf) >= writeChunk && x.write() != nil {
				return
			}
		}
		if x.held && x.flush() != nil {
			return
		}
		if over {
			return
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-tick:
			if x.advance() {
				x.bookmark("")
				if x.flush() != nil {
					return
				}
			}
			mark.Reset(x.untilBookmark(deadline))
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// untilBookmark is the time to the next bookmark: the period, or shortly before the watch's end.
func (x *watcher) untilBookmark(deadline time.Time) time.Duration {
	period := x.s.config.BookmarkPeriod
	if next := kubeapi.NextBookmark(time.Now(), deadline, period); next.Before(deadline) {
		return time.Until(next)
	}
	return period
}

// read takes the next changes, when those taken before are written. over: the watch ends after them.
func (x *watcher) read() (batch []event, changed <-chan struct{}, over bool) {
	s, k := x.s, x.k
	s.mu.Lock()
	defer s.mu.Unlock()
	x.written = x.next
	if x.next < k.first {
		return nil, nil, true // too slow: what comes next is forgotten
	}
	batch = k.events[x.next-k.first:]
	batch = slices.Clone(batch[:min(len(batch), maxBatch)])
	x.next += uint64(len(batch))
	all := x.next == k.next()
	if all {
		x.seen = max(x.seen, s.rv)
	}
	k.notifyReaders()
	return batch, k.changed, all && (k.gone || k.cut != x.cut || !slices.Contains(k.Versions, x.ver))
}

// advance notes the changes of other kinds, which a watch does not show. It reports whether a bookmark can be sent: a
// watch from a later version than there is, as after Restore, stays silent until that version exists.
func (x *watcher) advance() bool {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.next == x.k.next() {
		x.seen = max(x.seen, x.s.rv)
	}
	return x.seen <= x.s.rv
}

// change sends one change as the watch's selectors see it.
func (x *watcher) change(e event) {
	if e.rv <= x.above {
		return
	}
	x.seen = max(x.seen, e.rv)
	was, is := x.o.matches(e.prev), x.o.matches(e.cur)
	switch {
	case was && is:
		x.object("MODIFIED", e.cur, e.rv)
	case is:
		x.object("ADDED", e.cur, e.rv)
	case was:
		x.object("DELETED", e.prev, e.rv)
	}
}

func (x *watcher) object(kind string, v *version, rv uint64) {
	x.held = true
	x.buf = append(append(append(x.buf, `{"type":"`...), kind...), `","object":`...)
	x.buf = v.show(x.buf, x.o.partial, x.typed, rv)
	x.buf = append(x.buf, "}\n"...)
}

// bookmark reports the version that the watch has reached. more is further members of the metadata.
func (x *watcher) bookmark(more string) {
	gv, kind := x.gv, x.kind
	if x.o.partial {
		gv, kind = kubeapi.MetaVersion, kubeapi.AsMetadata
	}
	x.buf = kubeapi.AppendBookmark(x.buf, gv, kind, x.seen, more, "")
}

// write passes on what is rendered; more is to come at once.
func (x *watcher) write() error {
	_, err := x.w.Write(x.buf)
	x.buf = x.buf[:0]
	return err
}

// flush writes what is rendered, and the headers if nothing is.
func (x *watcher) flush() error {
	if len(x.buf) > 0 {
		if err := x.write(); err != nil {
			return err
		}
	}
	x.held = false
	return http.NewResponseController(x.w).Flush()
}
