package lifecycle

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// piece is the most that is written under one deadline, in bytes, and about what the kernel keeps
// of an answer that nobody reads.
const piece = 64 << 10

// What new connections may take from the process. Without these bounds, all that wait in the
// kernel's queue are accepted in one go when slots become free: 3,800 whose clients had given up
// delayed changes by half a second.
const (
	// connectionRate is how many are accepted per second beyond connectionBurst, a tenth of a
	// core. It does not apply with Evict: a probe must not wait behind a flood of connections.
	connectionRate  = 2000
	connectionBurst = 64
	// handshakeCost is how many more connections a TLS handshake counts as once its ClientHello
	// has arrived. It takes 0.4 ms with an ECDSA key, 1.4 with RSA.
	handshakeCost = 8
	// evictAge is the least age at which a connection is evicted: long enough to be answered.
	evictAge = 20 * time.Millisecond
)

// HandshakeTimeout bounds a TLS handshake, including its wait.
const HandshakeTimeout = 5 * time.Second

// Bounds configure a Bounded.
type Bounds struct {
	Connections int // at a time
	// Patience is how long a client may take to accept 64 KiB of an answer before it is cut off.
	Patience time.Duration
	// Evict closes a connection for one beyond Connections: one whose client has left, else the oldest
	// that has asked for nothing, else the oldest. Otherwise the new one waits in the kernel's
	// queue, where it costs no memory here and uses up no time limit.
	Evict bool
}

// AdminBounds are for servers used by people and scripts.
var AdminBounds = Bounds{Connections: 256, Patience: 30 * time.Second, Evict: true}

// Bounded limits the connections at a time and per second.
type Bounded struct {
	net.Listener
	bounds Bounds
	free   chan struct{} // capacity: connections
	pace   *rate.Limiter
	open   context.Context // ends with Close
	cancel context.CancelFunc

	mu    sync.Mutex
	conns list.List // guarded by mu; of *boundConn, the oldest first
}

var _ net.Listener = (*Bounded)(nil)

// Bound accepts from l.
func Bound(l net.Listener, bounds Bounds) *Bounded {
	b := &Bounded{
		Listener: l, bounds: bounds, free: make(chan struct{}, bounds.Connections),
		pace: rate.NewLimiter(connectionRate, connectionBurst),
	}
	b.open, b.cancel = context.WithCancel(context.Background())
	return b
}

// Accept waits for a connection and its turn.
func (b *Bounded) Accept() (net.Conn, error) {
	c, err := b.accept()
	if err != nil {
		return nil, err
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetWriteBuffer(piece) // it would grow to MiB for a client that reads nothing
	}
	return b.admit(c), nil
}

func (b *Bounded) accept() (net.Conn, error) {
	if b.bounds.Evict {
		for b.crowded() && Pause(b.open, time.Millisecond) == nil {
		}
		return b.Listener.Accept()
	}
	select {
	case b.free <- struct{}{}:
	case <-b.open.Done():
		return nil, net.ErrClosed
	}
	err := net.ErrClosed
	if b.pace.Wait(b.open) == nil {
		var c net.Conn
		if c, err = b.Listener.Accept(); err == nil {
			return c, nil
		}
	}
	<-b.free
	return nil, err
}

func (b *Bounded) crowded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conns.Len() >= b.bounds.Connections && b.victim() == nil
}

// victim is the connection to evict, nil while all that remain are too young. Clients that leave by
// the thousand must not evict one that waits for its answer, nor one whose request is yet to be read:
// first go those whose client left, then those that asked for nothing, then the oldest. The caller holds mu.
func (b *Bounded) victim() *list.Element {
	grown := func(e *list.Element) bool {
		return e != nil && time.Since(e.Value.(*boundConn).began) >= evictAge
	}
	oldest := b.conns.Front()
	var silent *list.Element
	for e := oldest; e != nil; e = e.Next() {
		c := e.Value.(*boundConn)
		left, waits := c.peek()
		switch {
		case left:
			return e
		case silent == nil && grown(e) && !waits && !c.asked.Load():
			silent = e
		}
	}
	switch {
	case silent != nil:
		return silent
	case grown(oldest):
		return oldest
	}
	return nil
}

// admit tracks a connection, and evicts another if there is no room.
func (b *Bounded) admit(c net.Conn) net.Conn {
	admitted := &boundConn{Conn: c, patience: b.bounds.Patience, began: time.Now()}
	if !b.bounds.Evict {
		admitted.release = sync.OnceFunc(func() { <-b.free })
		return admitted
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conns.Len() >= b.bounds.Connections {
		evicted := b.conns.Remove(cmp.Or(b.victim(), b.conns.Front())).(*boundConn)
		_ = evicted.Conn.Close() // its owner notices, and closes it too
	}
	at := b.conns.PushBack(admitted)
	admitted.release = func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.conns.Remove(at) // nothing if it is gone
	}
	return admitted
}

// Close ends Accept even while it waits.
func (b *Bounded) Close() error {
	b.cancel()
	return b.Listener.Close()
}

// Secure serves TLS, with c's GetConfigForClient.
func (b *Bounded) Secure(c *tls.Config) net.Listener {
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

// handshake charges one to pace, so that connections whose handshakes all begin at once take no
// more either. It fails at once if the wait would exceed the client's time.
func (b *Bounded) handshake(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, HandshakeTimeout)
	defer cancel()
	defer context.AfterFunc(b.open, cancel)() // net/http does not end ctx with the server
	return b.pace.WaitN(ctx, handshakeCost)
}

// boundConn cuts off a client that reads nothing, even if the handler sets no deadline or a later
// one.
type boundConn struct {
	net.Conn
	patience time.Duration
	release  func()
	began    time.Time
	asked    atomic.Bool // something was read

	mu       sync.Mutex
	deadline time.Time // guarded by mu: the handler's
}

func (c *boundConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 && !c.asked.Load() {
		c.asked.Store(true)
	}
	return n, err
}

// peek reports whether the client has closed the connection and nothing is left to be read, and
// whether something waits to be read.
func (c *boundConn) peek() (left, waits bool) {
	socket, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false, false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true, false
	}
	var n int
	control := raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	return control != nil || n <= 0 && !errors.Is(err, syscall.EAGAIN), control == nil && n > 0
}

func (c *boundConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

func (c *boundConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetWriteDeadline also affects a write under way.
func (c *boundConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if t.IsZero() {
		return nil // the deadline of a write under way stays, the next one sets its own
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *boundConn) Write(p []byte) (n int, err error) {
	for {
		if err := c.arm(); err != nil {
			return n, err
		}
		m, err := c.Conn.Write(p[n:min(n+piece, len(p))])
		if n += m; err != nil || n == len(p) {
			return n, err
		}
	}
}

func (c *boundConn) arm() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now().Add(c.patience)
	if !c.deadline.IsZero() && c.deadline.Before(at) {
		at = c.deadline
	}
	return c.Conn.SetWriteDeadline(at)
}
