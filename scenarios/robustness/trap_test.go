package robustness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// trap listens where the watcher must not connect to, except for one subscription that is
// allowed to.
type trap struct {
	listener  net.Listener
	allowed   string // the subscription's name, which is its path
	elsewhere string // where it sends them; empty: it takes what is delivered
	stop      context.CancelFunc
	ended     chan struct{}

	deliveries atomic.Int64 // of the allowed one

	mu      sync.Mutex
	conns   []*trapConn  // guarded by mu
	strange string       // guarded by mu; a request that was not allowed
	bodies  bytes.Buffer // guarded by mu; the first that were delivered
}

// mostKept bounds the bodies that a trap keeps, in bytes.
const mostKept = 8 << 20

// newTrap listens and serves until it is closed.
func newTrap(address, allowed, elsewhere string) (*trap, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen where the watcher must not connect to: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	t := &trap{listener: l, allowed: allowed, elsewhere: elsewhere, stop: stop, ended: make(chan struct{})}
	go func() { // close waits for it
		defer close(t.ended)
		_ = serveTrap(ctx, t, trapListener{l, t})
	}()
	return t, nil
}

func (t *trap) close() {
	t.stop()
	<-t.ended
}

func (t *trap) address() string { return t.listener.Addr().String() }

// network is what is to be allowed for the address alone.
func (t *trap) network() string {
	ip := t.listener.Addr().(*net.TCPAddr).IP
	if ip.To4() != nil {
		return ip.String() + "/32"
	}
	return ip.String() + "/128"
}

// trapListener notes each connection.
type trapListener struct {
	net.Listener
	trap *trap
}

// trapConn is one connection.
type trapConn struct {
	net.Conn
	allowed atomic.Bool // a request of the allowed subscription came by it
}

func (l trapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &trapConn{Conn: c}
	l.trap.mu.Lock()
	defer l.trap.mu.Unlock()
	l.trap.conns = append(l.trap.conns, conn)
	return conn, nil
}

// trapConnKey is where a request finds its connection.
type trapConnKey struct{}

func withTrapConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, trapConnKey{}, c)
}

// ServeHTTP takes what is delivered.
func (t *trap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, mostKept))
	conn, _ := r.Context().Value(trapConnKey{}).(*trapConn)
	ours := r.Method == http.MethodPost && r.URL.Path == "/"+t.allowed
	t.mu.Lock()
	if !ours {
		t.strange = fmt.Sprintf("%s %.100s", r.Method, r.URL.Path)
	} else if t.bodies.Len()+len(body) < mostKept {
		t.bodies.Write(append(body, '\n'))
	}
	t.mu.Unlock()
	if ours {
		t.deliveries.Add(1)
		if conn != nil {
			conn.allowed.Store(true)
		}
	}
	if t.elsewhere != "" {
		http.Redirect(w, r, t.elsewhere, http.StatusTemporaryRedirect)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (t *trap) kept() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.bodies.Bytes())
}

// seen sums up the connections. A request that is not allowed makes its connection strange,
// whatever else came by it.
func (t *trap) seen() trapSeen {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := trapSeen{Address: t.address(), Connections: int64(len(t.conns)), Deliveries: t.deliveries.Load(), Example: t.strange}
	for _, c := range t.conns {
		if !c.allowed.Load() {
			s.Strange++
		}
	}
	if s.Example != "" {
		s.Strange = max(s.Strange, 1)
	}
	return s
}
