package storagemock

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// gate is a listener whose port can be closed for a while: the kernel then
// refuses connections, which is what a crashed server looks like.
type gate struct {
	addr   net.Addr
	listen func(addr string) (net.Listener, error)

	mu     sync.Mutex // guards the rest
	cond   sync.Cond  // changes of the rest
	l      net.Listener
	closed bool // for good
}

var _ net.Listener = (*gate)(nil)

func listenTCP(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }

func listenGate(addr string, listen func(string) (net.Listener, error)) (*gate, error) {
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	g := &gate{addr: l.Addr(), listen: listen, l: l}
	g.cond.L = &g.mu
	return g, nil
}

// Accept waits for a connection, also through times when the port is closed.
func (g *gate) Accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		for g.l == nil && !g.closed {
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
		return c, err
	}
}

// shut closes the port until open.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.l != nil {
		_ = g.l.Close()
		g.l = nil
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

// Close closes the port for good.
func (g *gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
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
