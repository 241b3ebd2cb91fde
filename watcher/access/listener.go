package access

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// writePatience is how long a client may take to accept a piece of an answer. Whoever takes
// longer is cut off: its answer would otherwise be kept for it without end.
const writePatience = 30 * time.Second

// piece is the most that is written under one deadline, in bytes: a client has to take some
// 2 KB/s.
const piece = 64 << 10

// Bounds of what new connections take from the pipeline, which shares one processor with
// them. Without, all that wait in the kernel's queue are accepted in one go when slots
// become free: 3,800 whose clients had given up delayed changes by half a second.
const (
	// connectionRate is how many are accepted per second beyond connectionBurst: a tenth of
	// a core.
	connectionRate  = 2000
	connectionBurst = 64
	// handshakeCost is how many connections a TLS handshake counts as beside its own, from
	// when its ClientHello is there. It takes 0.4 ms with an ECDSA key, 1.4 with RSA.
	handshakeCost = 8
)

// bounded accepts a number of connections at a time and per second. The others wait in the
// kernel's queue, where they cost no memory of this process, nor of their own time limits.
type bounded struct {
	net.Listener
	free   chan struct{} // capacity: connections
	pace   *rate.Limiter
	open   context.Context // ends with Close
	cancel context.CancelFunc
}

func bound(l net.Listener, connections int) *bounded {
	b := &bounded{Listener: l, free: make(chan struct{}, connections), pace: rate.NewLimiter(connectionRate, connectionBurst)}
	b.open, b.cancel = context.WithCancel(context.Background())
	return b
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.free <- struct{}{}:
	case <-b.open.Done():
		return nil, net.ErrClosed
	}
	c, err := b.accept()
	if err != nil {
		<-b.free
		return nil, err
	}
	return &conn{Conn: c, release: sync.OnceFunc(func() { <-b.free })}, nil
}

func (b *bounded) accept() (net.Conn, error) {
	if b.pace.Wait(b.open) != nil {
		return nil, net.ErrClosed
	}
	return b.Listener.Accept()
}

func (b *bounded) Close() error {
	b.cancel()
	return b.Listener.Close()
}

// secure serves TLS.
func (b *bounded) secure(c *tls.Config) net.Listener {
	c = c.Clone()
	choose := c.GetConfigForClient
	c.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if err := b.handshake(hello.Context()); err != nil {
			return nil, err
		}
		return choose(hello)
	}
	return tls.NewListener(b, c)
}

// handshake waits for the turn of one, as accepting then does for its own: connections
// that all begin with it at the same moment take no more either. It returns an error at
// once where the wait would be longer than the client has.
func (b *bounded) handshake(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, headerTimeout)
	defer cancel()
	defer context.AfterFunc(b.open, cancel)() // net/http does not end ctx with the server
	return b.pace.WaitN(ctx, handshakeCost)
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
