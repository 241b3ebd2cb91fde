package virtual

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// network is a TCP in memory: who waits for it is durably blocked, so that virtual time can move on.
type network struct {
	secret []byte // must not cross it

	mu        sync.Mutex // guards the rest
	listeners map[string]*listener
	port      int
	open      map[string]int // connections by address
	peak      map[string]int
	refused   map[string]int
	leaks     int // writes that held the secret
}

func newNetwork(secret string) *network {
	return &network{secret: []byte(secret), listeners: map[string]*listener{}, port: 40000, open: map[string]int{}, peak: map[string]int{}, refused: map[string]int{}}
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

type listener struct {
	net    *network
	addr   address
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// listen binds an address; port 0 takes the next free one.
func (n *network) listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == "0" {
		n.port++
		addr = net.JoinHostPort(host, fmt.Sprint(n.port))
	}
	if n.listeners[addr] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: syscall.EADDRINUSE}
	}
	l := &listener{net: n, addr: address(addr), conns: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[addr] = l
	return l, nil
}

// dial connects to an address where somebody listens.
func (n *network) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[addr]
	n.mu.Unlock()
	refuse := func() (net.Conn, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.refused[addr]++
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	if l == nil {
		return refuse()
	}
	near, far := net.Pipe()
	select {
	case l.conns <- far:
	case <-l.closed:
		return refuse()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open[addr]++
	n.peak[addr] = max(n.peak[addr], n.open[addr])
	return &conn{Conn: near, net: n, addr: addr}, nil
}

func (n *network) peakOf(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.peak[addr]
}

func (n *network) refusedOf(addr string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refused[addr]
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		delete(l.net.listeners, string(l.addr))
	})
	return nil
}

func (l *listener) Addr() net.Addr { return l.addr }

// conn is the client's end: it counts, and looks for the secret in what is sent.
type conn struct {
	net.Conn
	net  *network
	addr string
	once sync.Once
}

func (c *conn) Write(p []byte) (int, error) {
	if bytes.Contains(p, c.net.secret) {
		c.net.mu.Lock()
		c.net.leaks++
		c.net.mu.Unlock()
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.once.Do(func() {
		c.net.mu.Lock()
		defer c.net.mu.Unlock()
		c.net.open[c.addr]--
	})
	return c.Conn.Close()
}
