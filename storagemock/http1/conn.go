package http1

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

// conn is one connection; its fields belong to its goroutine unless marked.
type conn struct {
	net.Conn
	srv *Server
	buf []byte // what was read and not consumed is buf[r:w]
	r   int
	w   int
	out []byte
	// idle is set while no request is under way; read by the server when it stops.
	idle atomic.Bool
}

// readBufferLen holds the head and a typical object in one read.
const readBufferLen = 8 << 10

// serve reads requests until the connection ends.
func (c *conn) serve(ctx context.Context) {
	c.buf = make([]byte, readBufferLen)
	for {
		var req Request
		if err := c.readRequest(&req); err != nil {
			var pe *protocolError
			if errors.As(err, &pe) {
				c.refuse(pe)
			}
			return
		}
		x := &Exchange{Request: req, c: c}
		c.srv.handler.Serve(ctx, x)
		if x.state != answered || req.closing || c.srv.stopping.Load() {
			return
		}
		if c.rest(); c.srv.stopping.Load() {
			return
		}
	}
}

// rest says that no request is under way that a stopping server should wait for.
func (c *conn) rest() {
	c.idle.Store(true)
	if c.srv.stopping.Load() { // the server may have looked before idle was set
		_ = c.Close()
	}
}

// refuse answers a request that could not be read, then closes.
func (c *conn) refuse(pe *protocolError) {
	body, contentType := c.srv.refusal(pe.status, pe.text)
	x := &Exchange{Request: Request{closing: true}, c: c}
	if x.Answer(Answer{Status: pe.status, ContentType: contentType, Body: body}) == nil {
		// Closing with unread input would reset the connection and might take the
		// answer with it: say that no more comes, and read what the client still
		// sends, within limits.
		if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		_ = c.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
}

const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 1 << 20
)

// fill reads once more; there is room.
func (c *conn) fill() error {
	n, err := c.Read(c.buf[c.w:])
	c.w += n
	c.srv.bytesIn.Add(int64(n))
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

func (c *conn) readRequest(req *Request) error {
	timed := false
	defer func() {
		if timed {
			_ = c.SetReadDeadline(time.Time{})
		}
	}()
	scanned := 0
	for {
		// Tolerate empty lines before a request, as RFC 9112 §2.2 asks.
		for scanned == 0 && c.r < c.w && (c.buf[c.r] == '\r' || c.buf[c.r] == '\n') {
			c.r++
		}
		if end := headEnd(c.buf[c.r:c.w], scanned); end > 0 {
			c.idle.Store(false)
			head := c.buf[c.r : c.r+end]
			c.r += end
			if err := parseHead(head, req); err != nil {
				return err
			}
			break
		}
		scanned = max(0, c.w-c.r-3)
		if c.w-c.r >= MaxHead {
			return &protocolError{431, fmt.Sprintf("the request's head is longer than %d bytes", MaxHead)}
		}
		if c.r == c.w {
			c.r, c.w = 0, 0
		} else if !timed { // a head has begun: it must end in time
			timed = true
			c.idle.Store(false)
			_ = c.SetReadDeadline(time.Now().Add(c.srv.limits.ReadTimeout))
		}
		c.makeRoom()
		if err := c.fill(); err != nil {
			return err
		}
	}
	if req.contentLength > 0 || req.chunked {
		if err := c.readBody(req, &timed); err != nil {
			return err
		}
	}
	req.Received = time.Now()
	return nil
}

// makeRoom moves or grows the buffer so that fill has space. req.head of the
// request before is gone by then.
func (c *conn) makeRoom() {
	if c.w < len(c.buf) {
		return
	}
	if c.r > 0 {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
		return
	}
	grown := make([]byte, min(2*len(c.buf), MaxHead+readBufferLen))
	copy(grown, c.buf[:c.w])
	c.buf = grown
}

// headEnd is the index after the empty line, 0 when it has not come yet. from is
// how much was looked at before.
func headEnd(b []byte, from int) int {
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return 0
		}
		from += i + 1
		switch {
		case from < len(b) && b[from] == '\n':
			return from + 1
		case from+1 < len(b) && b[from] == '\r' && b[from+1] == '\n':
			return from + 2
		}
	}
}

func (c *conn) readBody(req *Request, timed *bool) error {
	limit := c.srv.limits.Body
	if req.contentLength > limit {
		return &protocolError{413, fmt.Sprintf("the body has %d bytes, the limit is %d", req.contentLength, limit)}
	}
	if req.expect {
		if _, err := c.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n")); err != nil {
			return err
		}
	}
	// From here on reads may move the buffer, so that the head must be kept.
	if req.chunked || int64(c.w-c.r) < req.contentLength {
		req.head = bytes.Clone(req.head)
		if !*timed {
			*timed = true
			_ = c.SetReadDeadline(time.Now().Add(c.srv.limits.ReadTimeout))
		}
	}
	if req.chunked {
		return c.readChunks(req, limit)
	}
	return c.readInto(&req.Body, int(req.contentLength))
}

// readInto appends n bytes to dst, from the buffer first and then directly. It
// allocates as bytes arrive, so that an announced length costs nothing.
func (c *conn) readInto(dst *[]byte, n int) error {
	const step = 1 << 20
	for n > 0 {
		m := min(n, step)
		at := len(*dst)
		if cap(*dst)-at < m {
			grown := make([]byte, at, at+m)
			if at > 0 {
				grown = make([]byte, at, max(at+m, 2*at))
			}
			copy(grown, *dst)
			*dst = grown
		}
		*dst = (*dst)[:at+m]
		part := (*dst)[at:]
		k := copy(part, c.buf[c.r:c.w])
		c.r += k
		if k < len(part) {
			got, err := io.ReadFull(c.Conn, part[k:])
			c.srv.bytesIn.Add(int64(got))
			if err != nil {
				return fmt.Errorf("reading the body: %w", err)
			}
		}
		n -= m
	}
	return nil
}

func (c *conn) readChunks(req *Request, limit int64) error {
	for {
		line, err := c.readLine()
		if err != nil {
			return err
		}
		size, _, _ := bytes.Cut(line, []byte(";"))
		n, err := strconv.ParseUint(string(bytes.TrimSpace(size)), 16, 62)
		if err != nil {
			return bad("a chunk without its size in hexadecimal")
		}
		if int64(n) > limit-int64(len(req.Body)) {
			return &protocolError{413, fmt.Sprintf("the body has more than %d bytes, which is the limit", limit)}
		}
		if n == 0 {
			break
		}
		if err := c.readInto(&req.Body, int(n)); err != nil {
			return err
		}
		if line, err := c.readLine(); err != nil || len(line) > 0 {
			return errors.Join(err, bad("a chunk longer than its size"))
		}
	}
	for range 100 { // trailers
		if line, err := c.readLine(); err != nil || len(line) == 0 {
			return err
		}
	}
	return bad("more than 100 trailers")
}

// readLine returns a line without its end, valid until the next read.
func (c *conn) readLine() ([]byte, error) {
	const maxLine = 4096
	for {
		if i := bytes.IndexByte(c.buf[c.r:c.w], '\n'); i >= 0 {
			line := bytes.TrimSuffix(c.buf[c.r:c.r+i], []byte("\r"))
			c.r += i + 1
			return line, nil
		}
		if c.w-c.r > maxLine {
			return nil, bad("a line of the chunked body is too long")
		}
		if c.r == c.w {
			c.r, c.w = 0, 0
		}
		c.makeRoom()
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}
