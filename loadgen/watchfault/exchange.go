package watchfault

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/kubeapi"
)

type ending int

const (
	endNot ending = iota
	endClose
	endReset
)

var errEnded = errors.New("the answer was ended by a fault")

// maxFrame bounds a frame that is looked at; a longer one passes as it is. An apiserver's objects are at most 3 MiB.
const maxFrame = 16 << 20

// exchange is one request on its way through, and the writer of its answer. The handler's goroutine writes; another one
// supervises.
type exchange struct {
	in     *Injector
	w      http.ResponseWriter
	req    request
	n      uint64          // ordinal of the request
	older  *active         // the fault that has it answered from an older state, nil for none
	ctx    context.Context // of the handler behind
	cancel context.CancelFunc
	opened time.Time
	ctrl   *http.ResponseController

	poke chan struct{} // of size 1: the supervisor is to look again

	// Of the handler's goroutine.
	begun  bool // the header was written
	frames bool // the answer is a watch in JSON
	buf    []byte
	events uint64

	mu         sync.Mutex
	ended      ending               // guarded by mu until the goroutines have ended
	listed     time.Time            // guarded by mu; when the closing bookmark went out
	courses    map[occasion]*course // guarded by mu
	silent     bool                 // guarded by mu
	noBookmark *active              // guarded by mu
	wake       chan struct{}        // guarded by mu; closed and replaced when the above changes
}

// occasion is a fault's window, by its beginning in Unix ns.
type occasion struct {
	id    int
	began uint64
}

type course struct {
	hit, fired bool
	from, to   time.Time // to is zero for the window's end
}

func (in *Injector) exchange(ctx context.Context, w http.ResponseWriter, req request, n uint64) *exchange {
	x := &exchange{
		in: in, w: w, req: req, n: n, opened: time.Now(), ctrl: http.NewResponseController(w),
		poke: make(chan struct{}, 1), courses: map[occasion]*course{}, wake: make(chan struct{}),
	}
	x.ctx, x.cancel = context.WithCancel(ctx)
	return x
}

func (x *exchange) over() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ended != endNot
}

// end stops the answer. What is being written is not waited for.
func (x *exchange) end(how ending) {
	x.mu.Lock()
	x.endLocked(how)
	x.mu.Unlock()
}

func (x *exchange) endLocked(how ending) {
	if x.ended != endNot {
		return
	}
	x.ended = how
	if how == endReset {
		_ = x.ctrl.SetWriteDeadline(time.Unix(1, 0)) // a write that is stuck returns
	}
	close(x.wake)
	x.wake = make(chan struct{})
	x.cancel()
}

// Header returns the header of the answer.
func (x *exchange) Header() http.Header { return x.w.Header() }

// WriteHeader begins the answer. A second one, of the watch that follows an older state, is left out.
func (x *exchange) WriteHeader(status int) {
	if x.begun || status < http.StatusOK {
		return
	}
	x.begun = true
	x.frames = status == http.StatusOK && (x.req.verb == Watch || x.req.verb == Stream) &&
		strings.HasPrefix(x.w.Header().Get("Content-Type"), "application/json")
	x.w.WriteHeader(status)
}

// Write takes a piece of the answer, and passes it on in whole frames.
func (x *exchange) Write(p []byte) (int, error) {
	x.WriteHeader(http.StatusOK)
	if x.over() {
		return 0, errEnded
	}
	if !x.frames {
		return len(p), x.put(p)
	}
	x.buf = append(x.buf, p...)
	rest := x.buf
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		if err := x.frame(rest[:i+1]); err != nil {
			return 0, err
		}
		rest = rest[i+1:]
	}
	if len(rest) > maxFrame {
		if err := x.put(rest); err != nil {
			return 0, err
		}
		rest = nil
	}
	x.buf = append(x.buf[:0], rest...)
	return len(p), nil
}

// FlushError sends what was written.
func (x *exchange) FlushError() error {
	x.WriteHeader(http.StatusOK)
	if x.over() {
		return errEnded
	}
	return x.ctrl.Flush()
}

// Flush is FlushError for those who do not look.
func (x *exchange) Flush() { _ = x.FlushError() }

// SetWriteDeadline is for those behind that set one.
func (x *exchange) SetWriteDeadline(t time.Time) error { return x.ctrl.SetWriteDeadline(t) }

// finish writes what is left of an answer that ended by itself, not before a silence is over.
func (x *exchange) finish() {
	if len(x.buf) > 0 {
		_ = x.put(x.buf)
		return
	}
	_ = x.hold()
}

func (x *exchange) hold() error {
	for {
		x.mu.Lock()
		ended, silent, wake := x.ended, x.silent, x.wake
		x.mu.Unlock()
		switch {
		case ended != endNot:
			return errEnded
		case !silent:
			return nil
		}
		select {
		case <-wake:
		case <-x.ctx.Done():
			return x.ctx.Err()
		}
	}
}

// put passes bytes on, once they may.
func (x *exchange) put(p []byte) error {
	if err := x.hold(); err != nil {
		return err
	}
	_, err := x.w.Write(p)
	return err
}

var bookmarkFrame = []byte(`{"type":"BOOKMARK"`)
var listEnd = []byte(`"k8s.io/initial-events-end":"true"`)

func (x *exchange) frame(line []byte) error {
	if bytes.HasPrefix(line, bookmarkFrame) {
		return x.bookmark(line)
	}
	kind := eventType(line)
	if !slices.Contains(eventTypes, kind) {
		return x.put(line)
	}
	if err := x.hold(); err != nil {
		return err
	}
	x.events++
	if a := x.pickEvent(kind, line); a != nil {
		if a.Spec.Effect == Lost {
			return nil
		}
		over, err := x.spoil(a, line)
		if over || err != nil {
			return err
		}
	}
	return x.put(line)
}

// eventType reads the type of a frame that begins with it, as those of apiservers do.
func eventType(line []byte) string {
	rest, ok := bytes.CutPrefix(line, []byte(`{"type":"`))
	if !ok {
		return ""
	}
	kind, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(kind)
}

func (x *exchange) bookmark(line []byte) error {
	if !bytes.Contains(line, listEnd) {
		return x.put(line)
	}
	x.mu.Lock()
	a := x.noBookmark
	x.mu.Unlock()
	if a != nil && x.in.fire(a, x.req.path) {
		return nil
	}
	if err := x.put(line); err != nil {
		return err
	}
	x.mu.Lock()
	x.listed = time.Now()
	x.mu.Unlock()
	x.step(time.Now()) // the silence may begin
	select {
	case x.poke <- struct{}{}:
	default: // one is waiting already
	}
	return nil
}

// pickEvent draws the fault that hits an event of a type, and counts it.
func (x *exchange) pickEvent(kind string, line []byte) *active {
	all, _ := x.in.snapshot(perEvent, x.req)
	if len(all) == 0 {
		return nil
	}
	x.mu.Lock()
	initial := x.req.verb == Stream && x.listed.IsZero()
	x.mu.Unlock()
	if initial {
		return nil
	}
	for _, a := range all {
		if a.Spec.Type != "" && a.Spec.Type != kind {
			continue
		}
		if !x.in.Phase(a, time.Now()).Open || !x.in.hits(a, x.req.verb+x.req.path, x.n, x.events) {
			continue
		}
		if x.in.fire(a, x.req.path+" "+objectOf(line)) {
			return a
		}
	}
	return nil
}

// spoil replaces an event. over reports that the watch ends with it.
func (x *exchange) spoil(a *active, line []byte) (over bool, err error) {
	var instead []byte
	switch a.Spec.Effect {
	case MidGone:
		text, _ := kubeapi.StatusJSON(tooOld(""))
		instead, over = kubeapi.AppendEvent(nil, "ERROR", text), true
	case ErrorEvent:
		text, _ := kubeapi.StatusJSON(statusError(http.StatusInternalServerError, 0, x.req))
		instead, over = kubeapi.AppendEvent(nil, "ERROR", text), true
	case Truncate:
		instead, over = line[:len(line)/2], true
	case Unknown:
		instead = kubeapi.AppendEvent(nil, "EXPLODED",
			[]byte(`{"kind":"Anything","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"1"}}`))
	case Junk:
		instead = []byte("<html><body>502 Bad Gateway</body></html>\n")
	}
	if err := x.put(instead); err != nil {
		return over, err
	}
	if over {
		_ = x.ctrl.Flush()
		x.end(endClose)
		return true, errEnded
	}
	return false, nil
}
