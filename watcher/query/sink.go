package query

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/kubeapi"
	"github.com/watchbench/watchbench/watcher/access"
	"github.com/watchbench/watchbench/watcher/view"
)

const (
	// chunk is how much is rendered before it is written, and from which size on an answer is
	// compressed for those who ask for that.
	chunk = 64 << 10
	// writeTimeout is how long a client may take to accept what is written at once. Then it is cut.
	writeTimeout = 10 * time.Second
	// minRate is how fast a client must read an answer, in rendered bytes per second, once
	// writeTimeout is used up, since its state stays in memory that long. Watches are exempt.
	minRate = 1 << 20
	// maxKept is the largest buffer that is kept for another request.
	maxKept = 256 << 10
	// maxBatch is how many changes a watcher takes at once.
	maxBatch = 64
)

// buffer is the memory of a request while it renders.
type buffer struct {
	out     []byte
	next    []byte // for Object.Content
	raw     []byte // of the object at hand; may be the object's own
	edited  []byte // an object with another version
	seen    kubeapi.Attributes
	changes []view.Change
}

var buffers = sync.Pool{New: func() any {
	return &buffer{changes: make([]view.Change, 0, maxBatch)} // out grows: most frames of watches are small
}}

func (b *buffer) free() {
	b.raw, b.seen.Labels, b.out = nil, nil, b.out[:0]
	clear(b.changes[:cap(b.changes)]) // they keep objects alive
	if cap(b.out) <= maxKept && cap(b.next) <= maxKept {
		buffers.Put(b)
	}
}

type sink struct {
	*kubeapi.Answer
	w *recorder
}

func newSink(w *recorder, r *http.Request) sink { return sink{kubeapi.NewAnswer(w, r, chunk), w} }

func (s sink) write(b *buffer) error {
	s.w.rendered += len(b.out)
	_, err := s.Write(b.out)
	b.out = b.out[:0]
	return err
}

// recorder passes an answer on, notes its status, and cuts clients that do not read, or not fast enough.
type recorder struct {
	http.ResponseWriter
	control  *http.ResponseController
	ctx      context.Context // the request's
	patience time.Duration   // how long a client may take for what is written at once
	status   int             // 0: nothing was sent yet
	seat     *access.Seat    // nil: none is needed
	rendered int             // bytes of a list so far
	took     time.Duration   // by the client for them
	endless  bool            // a watch: what it takes counts no more
}

func newRecorder(w http.ResponseWriter, r *http.Request, patience time.Duration) *recorder {
	return &recorder{ResponseWriter: w, control: http.NewResponseController(w), ctx: r.Context(), patience: patience}
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader notes the status.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write bounds the time that the client takes, meanwhile without the seat.
func (r *recorder) Write(p []byte) (n int, err error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	again := r.seat.Without(r.ctx, func() error {
		began := time.Now()
		left := r.patience
		if !r.endless {
			left = min(left, r.patience+time.Duration(r.rendered)*time.Second/minRate-r.took)
		}
		r.deadline(began.Add(left))
		n, err = r.ResponseWriter.Write(p)
		r.took += time.Since(began)
		return err
	})
	return n, cmp.Or(err, again)
}

// flush sends what was written, after which the connection may idle.
func (r *recorder) flush() error {
	r.deadline(time.Now().Add(r.patience))
	err := r.control.Flush()
	r.deadline(time.Time{})
	return err
}

// deadline has no effect without a connection, as in tests.
func (r *recorder) deadline(t time.Time) { _ = r.control.SetWriteDeadline(t) }
