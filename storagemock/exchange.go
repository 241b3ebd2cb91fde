package storagemock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/faultlist"
)

// exchange is one request, read completely, with the means to answer it or to misbehave below HTTP. If it has not been
// answered when the handler returns, the connection is closed without an answer.
type exchange struct {
	method      string
	path, query string // as sent, still escaped
	body        []byte
	received    time.Time // when the last byte had been read

	w        http.ResponseWriter
	r        *http.Request
	conn     *http.ResponseController
	gone     time.Time // when the connection ended before the answer; zero: nobody saw it
	complete bool      // the answer has been sent, all of it
	hijacked bool
}

// Limits on what a client can make the server hold.
const (
	maxHead = 64 << 10
	// An object of Kubernetes has at most 1.5 MiB in etcd; as JSON it is rarely twice that.
	maxBody = 8 << 20
	// readTimeout is for one request, once it has begun; for the first one of a connection it counts from the start of
	// the connection.
	readTimeout  = 30 * time.Second
	writeTimeout = 30 * time.Second // for each write of a large answer
	// bigAnswer is the size in bytes from which a write gets a deadline: what is smaller fits into the socket's buffer
	// even if the client does not read.
	bigAnswer = 64 << 10
	// trusted is the body size up to which the announced length is allocated at once.
	trusted = 1 << 20
)

// readExchange reads the whole request. If that fails, it returns the reply to refuse it with; the connection is then
// closed.
func readExchange(w http.ResponseWriter, r *http.Request) (*exchange, *reply) {
	x := &exchange{method: r.Method, path: r.URL.EscapedPath(), query: r.URL.RawQuery, w: w, r: r,
		conn: http.NewResponseController(w)}
	status, err := x.readBody()
	if err != nil {
		w.Header().Set("Connection", "close")
		refusal := failure(status, bcsapi.CodePut, err.Error(), false)
		return x, &refusal
	}
	// While the request is served, the server watches for the client's end: that has no deadline. A failure shows when
	// the answer is written.
	_ = x.conn.SetReadDeadline(time.Time{})
	x.received = time.Now()
	return x, nil
}

// readBody reads the body, or returns the status to refuse it with.
func (x *exchange) readBody() (status int, err error) {
	n := x.r.ContentLength
	switch {
	case n > maxBody:
		return http.StatusRequestEntityTooLarge, fmt.Errorf("the body has %d bytes, the limit is %d", n, maxBody)
	case n == 0:
		return 0, nil
	case n > 0 && n <= trusted:
		x.body = make([]byte, n)
		_, err = io.ReadFull(x.r.Body, x.body)
	default:
		x.body, err = io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, fmt.Errorf("the body has more than %d bytes, which is the limit", maxBody)
	}
	if err != nil {
		return http.StatusBadRequest, fmt.Errorf("reading the request's body: %w", err)
	}
	return 0, nil
}

// head announces r's body in full; further headers are pairs of name and value.
func (x *exchange) head(r reply, header []string) {
	h := x.w.Header()
	h["Content-Type"] = []string{cmp.Or(r.typ, contentType)}
	h["Content-Length"] = []string{strconv.Itoa(len(r.body))}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	if len(r.body) >= bigAnswer {
		// Without one a client that stops reading would hold its connection for ever.
		_ = x.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	}
	x.w.WriteHeader(r.status)
}

// send hands bytes of the body, and whatever precedes them, to the socket.
func (x *exchange) send(b []byte) error {
	_, err := x.w.Write(b)
	if errors.Is(err, http.ErrBodyNotAllowed) {
		err = nil // a HEAD
	}
	if err = errors.Join(err, x.conn.Flush()); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// answer sends r.
func (x *exchange) answer(r reply, header ...string) error {
	x.head(r, header)
	err := x.send(r.body)
	x.complete = err == nil
	return err
}

// reset closes the connection so that the client sees it reset by its peer.
func (x *exchange) reset() {
	c, _, err := x.conn.Hijack()
	if err != nil {
		return // the connection is then closed, if not reset
	}
	x.hijacked = true
	faultlist.Reset(c)
}

// pause waits like lifecycle.Pause, and notes when the client gives up meanwhile. Of one that had before it is not
// known when.
func (x *exchange) pause(ctx context.Context, d time.Duration) error {
	left := x.r.Context().Done()
	if x.r.Context().Err() != nil {
		left = nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-left:
			x.gone, left = time.Now(), nil
			continue
		case <-ctx.Done():
		case <-t.C:
		}
		return context.Cause(ctx)
	}
}

// hang sends nothing until the client gives up or stop ends.
func (x *exchange) hang(stop context.Context) {
	select {
	case <-x.r.Context().Done():
	case <-stop.Done():
	}
}

// finish ends the connection unless the answer is complete.
func (x *exchange) finish() {
	if !x.complete && !x.hijacked {
		panic(http.ErrAbortHandler) // net/http closes the connection and logs nothing
	}
}
