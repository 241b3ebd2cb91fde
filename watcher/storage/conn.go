package storage

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is one connection to an endpoint, used by one request at a time.
type conn struct {
	raw    net.Conn        // what the kernel knows
	sock   syscall.RawConn // raw's socket; nil if it is none
	rw     net.Conn        // raw, or TLS over it
	br     *bufio.Reader
	left   int64 // bytes that may still be read
	used   bool  // a request was written
	came   bool  // something of the answer's body
	idleAt time.Time
	bytes  *traffic
	alive  func() // called for each read that brought something, nil for none

	sending sending
	step    func(fd uintptr) bool // sendOn, made once
}

type sending struct {
	r          *request
	line, head []byte
	begun      bool
	complete   bool
	err        error
}

// traffic counts what crosses the sockets of all connections.
type traffic struct{ in, out atomic.Int64 }

// readBufferSize holds a usual answer (about 200 bytes) with its headers.
const readBufferSize = 1 << 10

func (e *endpoint) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, e.client.cfg.DialTimeout)
	defer cancel()
	raw, err := e.client.set.Dial(ctx, "tcp", e.addr)
	if err != nil {
		return nil, err
	}
	c := &conn{raw: raw, rw: raw, bytes: &e.client.traffic, left: math.MaxInt64}
	if e.url.Scheme == "https" {
		cfg := &tls.Config{MinVersion: minTLS}
		if e.client.set.TLS != nil {
			if cfg, err = e.client.set.TLS(); err != nil {
				_ = raw.Close()
				return nil, fmt.Errorf("TLS configuration: %w", err)
			}
			cfg = cfg.Clone()
			cfg.MinVersion = max(cfg.MinVersion, minTLS)
		}
		if cfg.ServerName == "" {
			cfg.ServerName = e.url.Hostname()
		}
		t := tls.Client(raw, cfg)
		if err := t.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("TLS handshake: %w", explain(err))
		}
		c.rw = t
	}
	c.br = bufio.NewReaderSize(countReader{c}, readBufferSize)
	c.step = c.sendOn
	if sc, ok := raw.(syscall.Conn); ok {
		if c.sock, err = sc.SyscallConn(); err != nil {
			c.close()
			return nil, err
		}
	}
	e.client.metrics.Opened.Inc()
	return c, nil
}

// minTLS is the least version that storage must support: RFC 8996 forbids what is older.
const minTLS = tls.VersionTLS12

// ErrTLSVersion means that a server speaks no version of TLS that may be used.
var ErrTLSVersion = errors.New("TLS 1.2 or later is wanted")

// explain says what would be right where versions do not match. crypto/tls has no
// type for that: the server's alert (RFC 8446 §6, protocol_version) and the client's
// own refusal both come as text.
func explain(err error) error {
	if s := err.Error(); strings.Contains(s, "protocol version") {
		return fmt.Errorf("%w; %w", err, ErrTLSVersion)
	}
	return err
}

type countReader struct{ c *conn }

func (r countReader) Read(p []byte) (int, error) {
	if r.c.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := r.c.rw.Read(p[:min(int64(len(p)), r.c.left)])
	r.c.left -= int64(n)
	r.c.bytes.in.Add(int64(n))
	r.c.came = r.c.came || n > 0 && r.c.left > maxHead
	if n > 0 && r.c.alive != nil {
		r.c.alive()
	}
	return n, err
}

// errStray means that the peer closed a connection or sent something unasked. Nothing was written.
var errStray = errors.New("the connection was closed, or carried bytes before a request")

// send writes one request on a silent connection and waits for the answer to begin. Checking
// costs no more than an immediate read, which would find nothing yet. complete is write's.
func (c *conn) send(r *request, line, head []byte) (complete bool, err error) {
	if c.sock == nil {
		c.used = true
		return c.write(r, line, head)
	}
	c.sending = sending{r: r, line: line, head: head}
	err = c.sock.Read(c.step)
	complete, err = c.sending.complete, cmp.Or(c.sending.err, err)
	c.sending = sending{}
	return complete, err
}

// sendOn checks the socket, then writes; after false it is called again when the socket is readable.
func (c *conn) sendOn(fd uintptr) bool {
	s := &c.sending
	if s.begun {
		return true
	}
	s.begun = true
	// The server's first TLS records after the handshake come unasked (RFC 8446 §4.6.1).
	if (c.used || c.rw == c.raw) && !silent(fd) {
		s.err = errStray
		return true
	}
	c.used = true
	s.complete, s.err = c.write(s.r, s.line, s.head)
	return s.err != nil
}

// write sends one request in one system call. complete reports whether everything
// was handed to the kernel: if not, the server cannot have seen a whole request. head are
// the header lines that are the endpoint's.
func (c *conn) write(r *request, line, head []byte) (complete bool, err error) {
	var parts [6][]byte
	bufs := net.Buffers(append(parts[:0], line, head, r.headers))
	want := len(line) + len(head) + len(r.headers)
	for _, p := range r.body {
		if p != nil {
			bufs = append(bufs, p)
			want += len(p)
		}
	}
	if c.rw != c.raw { // TLS has no gathering write: one record instead of six
		joined := make([]byte, 0, want)
		for _, p := range bufs {
			joined = append(joined, p...)
		}
		bufs = net.Buffers{joined}
	}
	n, err := bufs.WriteTo(c.rw)
	c.bytes.out.Add(n)
	return n == int64(want), err
}

// silent reports whether a socket is open with nothing to read. It neither blocks nor consumes.
func silent(fd uintptr) bool {
	var b [1]byte
	_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK)
}

// protocol begins every answer.
const protocol = "HTTP/"

// more returns the start of what was received after an answer; send finds what the kernel holds.
func (c *conn) more() []byte {
	if c.br.Buffered() == 0 && c.rw != c.raw { // TLS has a buffer of its own
		_ = c.raw.SetReadDeadline(time.Unix(1, 0))
		_, _ = c.br.Peek(1)
	}
	more, _ := c.br.Peek(min(len(protocol), c.br.Buffered()))
	return more
}

func (c *conn) close() { _ = c.raw.Close() }
