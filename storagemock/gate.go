package storagemock

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
)

// gate is a listener whose port can be closed for a while: the kernel then refuses
// connections, which is what a crashed server looks like. It counts the bytes on its
// connections and bounds their number.
type gate struct {
	addr    net.Addr
	listen  func(addr string) (net.Listener, error)
	max     int // connections at once; others queue
	in, out atomic.Int64

	mu     sync.Mutex // guards the rest
	cond   sync.Cond  // changes of the rest
	l      net.Listener
	conns  map[*gateConn]struct{}
	closed bool // for good
}

var _ net.Listener = (*gate)(nil)

func listenTCP(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }

func listenGate(addr string, maxConns int, listen func(string) (net.Listener, error)) (*gate, error) {
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	g := &gate{addr: l.Addr(), listen: listen, max: maxConns, l: l, conns: map[*gateConn]struct{}{}}
	g.cond.L = &g.mu
	return g, nil
}

// Accept waits for a connection, also while the port is closed.
func (g *gate) Accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		for (g.l == nil || len(g.conns) >= g.max) && !g.closed {
			g.cond.Wait()
		}
		l, closed := g.l, g.closed
		g.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			continue // shut, or closed for good
		}
		if err != nil {
			return nil, err
		}
		if conn := g.admit(c, l); conn != nil {
			return conn, nil
		}
	}
}

// admit takes a connection that l accepted. It is nil, and c closed, if the port was
// closed meanwhile.
func (g *gate) admit(c net.Conn, l net.Listener) *gateConn {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.l != l {
		_ = c.Close()
		return nil
	}
	conn := &gateConn{Conn: c, gate: g}
	g.conns[conn] = struct{}{}
	return conn
}

// shut closes the port until open, and every connection.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.l != nil {
		_ = g.l.Close()
		g.l = nil
	}
	for c := range g.conns {
		_ = c.Conn.Close() // its owner notices, and closes it too
	}
}

// open opens the port again.
func (g *gate) open() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.l != nil || g.closed {
		return nil
	}
	l, err := g.listen(g.addr.String())
	if err != nil {
		return fmt.Errorf("listening again on %s after refusing connections: %w", g.addr, err)
	}
	g.l = l
	g.cond.Broadcast()
	return nil
}

// Close closes the port for good. Connections stay.
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.cond.Broadcast()
	if g.l == nil {
		return nil
	}
	err := g.l.Close()
	g.l = nil
	return err
}

// Addr is the bound address, also while the port is closed.
func (g *gate) Addr() net.Addr { return g.addr }

// traffic is the number of bytes read and written so far.
func (g *gate) traffic() (in, out int64) { return g.in.Load(), g.out.Load() }

// gateConn is a connection of a gate.
type gateConn struct {
	net.Conn
	gate *gate
}

func (c *gateConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.gate.in.Add(int64(n))
	return n, err
}

func (c *gateConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.gate.out.Add(int64(n))
	return n, err
}

// Close makes room for another connection. It may be called again.
func (c *gateConn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.cond.Broadcast()
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// lingerNot makes the next Close a reset, where the network knows one.
func (c *gateConn) lingerNot() {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
}
