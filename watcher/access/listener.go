package access

import (
	"net"
	"sync"
	"time"
)

// writePatience is how long a client may take to accept a piece of an answer. Whoever takes
// longer is cut off: its answer would otherwise be kept for it without end.
const writePatience = 30 * time.Second

// piece is the most that is written under one deadline, in bytes: a client has to take some
// 2 KB/s.
const piece = 64 << 10

// bounded accepts a number of connections at a time. When that many are open, the next ones
// wait in the kernel's queue, where they cost no memory of this process.
type bounded struct {
	net.Listener
	free   chan struct{} // capacity: connections
	closed chan struct{}
	once   sync.Once
}

func bound(l net.Listener, connections int) *bounded {
	return &bounded{Listener: l, free: make(chan struct{}, connections), closed: make(chan struct{})}
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.free <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.free
		return nil, err
	}
	return &conn{Conn: c, release: sync.OnceFunc(func() { <-b.free })}, nil
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// conn cuts off a client that takes nothing, also where a handler sets no deadline, or a
// later one.
type conn struct {
	net.Conn
	release func()

	mu       sync.Mutex
	deadline time.Time // guarded by mu: the handler's
}

func (c *conn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetWriteDeadline also reaches a write that is under way.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if t.IsZero() {
		return nil // the deadline of a write under way stays, the next one sets its own
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *conn) Write(p []byte) (n int, err error) {
	for {
		if err := c.patience(); err != nil {
			return n, err
		}
		m, err := c.Conn.Write(p[n:min(n+piece, len(p))])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

func (c *conn) patience() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now().Add(writePatience)
	if !c.deadline.IsZero() && c.deadline.Before(at) {
		at = c.deadline
	}
	return c.Conn.SetWriteDeadline(at)
}
