package storage

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is one connection to an endpoint, used by one request at a time.
type conn struct {
	raw    net.Conn // what the kernel knows
	rw     net.Conn // raw, or TLS over it
	br     *bufio.Reader
	idleAt time.Time
	bytes  *traffic
	alive  func() // called for each read that brought something, nil for none
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
	c := &conn{raw: raw, rw: raw, bytes: &e.client.traffic}
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

// countReader counts what is read.
type countReader struct{ c *conn }

func (r countReader) Read(p []byte) (int, error) {
	n, err := r.c.rw.Read(p)
	r.c.bytes.in.Add(int64(n))
	if n > 0 && r.c.alive != nil {
		r.c.alive()
	}
	return n, err
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

// stale reports whether the peer has closed an idle connection, or sent
// something nobody asked for. It looks without blocking and without consuming, and
// only at a socket of the kernel: of another connection it says false, and a request
// that finds it closed is safe to try again.
func (c *conn) stale() bool {
	if c.br.Buffered() > 0 {
		return true
	}
	sc, ok := c.raw.(syscall.Conn)
	if !ok {
		return false
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	var n int
	var rerr error
	var b [1]byte
	err = rc.Read(func(fd uintptr) bool {
		n, _, rerr = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	// Only "nothing there yet" is a connection that lives and is silent; n is 0 and rerr
	// nil after an orderly shutdown.
	return err != nil || n > 0 || !errors.Is(rerr, syscall.EAGAIN) && !errors.Is(rerr, syscall.EWOULDBLOCK)
}

func (c *conn) close() { _ = c.raw.Close() }
