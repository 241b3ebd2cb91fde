package http1

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Exchange is a request and the means to answer it, or not. Exactly one of its
// methods is called, once; if none is, the connection is closed without an
// answer.
type Exchange struct {
	Request
	c     *conn
	state state
}

type state uint8

const (
	open     state = iota
	answered       // completely: the connection may go on
	broken         // the connection ends
)

// Answer is a response. Header holds further complete lines without line ends.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte
	Header      []string
}

// bigAnswer is the size from which a write gets a deadline: what is smaller fits
// into the socket's buffer even if the client does not read.
const bigAnswer = 64 << 10

// head appends status line and headers. length < 0 announces chunks.
func (x *Exchange) head(dst []byte, a Answer, length int) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(a.Status), 10)
	dst = append(dst, ' ')
	dst = append(dst, http.StatusText(a.Status)...)
	dst = append(dst, "\r\nContent-Type: "...)
	dst = append(dst, a.ContentType...)
	if length < 0 {
		dst = append(dst, "\r\nTransfer-Encoding: chunked"...)
	} else {
		dst = append(dst, "\r\nContent-Length: "...)
		dst = strconv.AppendInt(dst, int64(length), 10)
	}
	for _, h := range a.Header {
		dst = append(dst, "\r\n"...)
		dst = append(dst, h...)
	}
	if x.closing || x.c.srv.stopping.Load() {
		dst = append(dst, "\r\nConnection: close"...)
	}
	return append(dst, "\r\n\r\n"...)
}

func (x *Exchange) write(b []byte) error {
	if len(b) >= bigAnswer {
		_ = x.c.SetWriteDeadline(time.Now().Add(x.c.srv.limits.WriteTimeout))
		defer func() { _ = x.c.SetWriteDeadline(time.Time{}) }()
	}
	n, err := x.c.Write(b)
	x.c.srv.bytesOut.Add(int64(n))
	if err != nil {
		x.state = broken
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// Answer sends a.
func (x *Exchange) Answer(a Answer) error {
	x.state = answered
	x.c.out = x.head(x.c.out[:0], a, len(a.Body))
	if x.Method != http.MethodHead {
		x.c.out = append(x.c.out, a.Body...)
	}
	err := x.write(x.c.out)
	if cap(x.c.out) > bigAnswer { // do not keep a list's size on every connection
		x.c.out = nil
	}
	return err
}

// AnswerPart announces all of a but sends only the first n bytes of its body,
// then closes the connection.
func (x *Exchange) AnswerPart(a Answer, n int) error {
	x.state = broken
	b := x.head(nil, a, len(a.Body))
	return x.write(append(b, a.Body[:min(max(n, 0), len(a.Body))]...))
}

// AnswerSlowly sends the head at once and the body in pieces; wait is called
// before each piece.
func (x *Exchange) AnswerSlowly(a Answer, pieces int, wait func() error) error {
	x.state = broken
	if err := x.write(x.head(nil, a, len(a.Body))); err != nil {
		return err
	}
	rest := a.Body
	for i := min(pieces, len(rest)); i > 0; i-- {
		if err := wait(); err != nil {
			return err
		}
		n := len(rest) / i
		if err := x.write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	x.state = answered
	return nil
}

// Stream begins a chunked answer. Every Write becomes a chunk and is sent at
// once; end finishes the answer.
func (x *Exchange) Stream(a Answer) (w io.Writer, end func() error, err error) {
	x.state = broken
	if err := x.write(x.head(nil, a, -1)); err != nil {
		return nil, nil, err
	}
	return chunkWriter{x}, func() error {
		err := x.write([]byte("0\r\n\r\n"))
		if err == nil {
			x.state = answered
		}
		return err
	}, nil
}

type chunkWriter struct{ x *Exchange }

func (w chunkWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	b := strconv.AppendInt(nil, int64(len(p)), 16)
	b = append(b, "\r\n"...)
	b = append(b, p...)
	if err := w.x.write(append(b, "\r\n"...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Reset closes the connection so that the client sees it reset by its peer.
func (x *Exchange) Reset() {
	x.state = broken
	if t, ok := x.c.Conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = x.c.Close()
}

// Hang says nothing until the client gives up, the server stops or ctx ends.
func (x *Exchange) Hang(ctx context.Context) {
	x.state = broken
	x.c.rest()
	stop := context.AfterFunc(ctx, func() { _ = x.c.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, x.c.Conn)
}

// Gone is for streams: it returns a context that ends when the client closes the
// connection, or the server stops. No further request is read from it.
func (x *Exchange) Gone(ctx context.Context) (context.Context, context.CancelFunc) {
	x.closing = true
	x.c.rest()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		_, _ = io.Copy(io.Discard, x.c.Conn)
	}()
	return ctx, func() {
		cancel()
		_ = x.c.SetReadDeadline(time.Unix(1, 0))
		<-done
	}
}
