package pipetest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// ForBubbles makes client-go usable in testing/synctest bubbles; call it before the first. client-go keeps, for the
// process, when it last reported an error, and pauses for a millisecond between two: in a bubble, where time begins
// anew in the year 2000, that pause would last for decades.
func ForBubbles() { utilruntime.ErrorHandlers = nil }

// Direct makes a client's transport of a handler, without sockets. A request is served by one goroutine that ends when
// the handler does; the body passes through a pipe without a buffer, so that in a testing/synctest bubble all waiting
// is durable and time can move on.
//
// Closing a body, or the end of the request's context, ends the request's context in the handler. http.ErrAbortHandler
// breaks the answer as a reset connection would. If the handler has a method Refusing and it says true, requests fail
// as if nobody listened.
func Direct(h http.Handler) http.RoundTripper { return direct{h} }

type direct struct{ handler http.Handler }

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// remoteAddr is the client's address for handlers, from a range for documentation.
const remoteAddr = "192.0.2.1:1234"

// RoundTrip serves one request.
func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	if r, ok := d.handler.(interface{ Refusing() bool }); ok && r.Refusing() {
		closeBody(req)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	ctx, cancel := context.WithCancel(req.Context())
	in := req.Clone(ctx)
	in.RequestURI, in.RemoteAddr = req.URL.RequestURI(), remoteAddr
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	if in.Host == "" {
		in.Host = req.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	out, body := io.Pipe()
	w := &directWriter{ctx: ctx, header: http.Header{}, pipe: body, begun: make(chan struct{})}
	// The writing side alone: the reader then sees the context's error.
	stop := context.AfterFunc(ctx, func() { _ = body.CloseWithError(ctx.Err()) })
	go d.serve(w, in, func() { stop(); cancel(); closeBody(req) })
	select {
	case <-w.begun:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if w.failed != nil {
		return nil, w.failed
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: in.Proto, ProtoMajor: in.ProtoMajor, ProtoMinor: in.ProtoMinor,
		Header: w.sent, ContentLength: -1, Request: req,
		Body: &directBody{out, cancel},
	}, nil
}

// CloseIdleConnections does nothing: no connections are used.
func (d direct) CloseIdleConnections() {}

func (d direct) serve(w *directWriter, in *http.Request, done func()) {
	var err error // of the end of the body; nil is a normal one
	defer func() {
		if p := recover(); p != nil {
			if e, ok := p.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
				panic(p)
			}
			err = errReset
			w.begin(http.StatusOK, errReset)
		}
		w.begin(http.StatusOK, nil)
		_ = w.pipe.CloseWithError(err)
		done()
	}()
	d.handler.ServeHTTP(w, in)
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// directBody ends the request when the client has enough.
type directBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *directBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// directWriter is used by the handler's goroutine alone until begun is closed.
type directWriter struct {
	ctx    context.Context // of the request
	header http.Header
	pipe   *io.PipeWriter

	once   sync.Once
	begun  chan struct{} // closed when the fields below are final
	status int
	sent   http.Header
	failed error
}

var (
	_ http.ResponseWriter = (*directWriter)(nil)
	_ http.Flusher        = (*directWriter)(nil)
)

func (w *directWriter) begin(status int, failed error) {
	w.once.Do(func() {
		if w.status == 0 {
			w.status = status
		}
		w.sent, w.failed = w.header.Clone(), failed
		close(w.begun)
	})
}

func (w *directWriter) Header() http.Header { return w.header }

// WriteHeader keeps the status until something is written or flushed, as a server with a buffer does.
func (w *directWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
}

func (w *directWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK, nil)
	// Whoever sees the context end may write before the pipe is closed.
	if err := w.ctx.Err(); err != nil {
		_ = w.pipe.CloseWithError(err)
		return 0, err
	}
	return w.pipe.Write(p)
}

func (w *directWriter) Flush() { w.begin(http.StatusOK, nil) }
