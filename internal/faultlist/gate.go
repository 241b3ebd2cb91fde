package faultlist

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

// GateSettings configure a Gate.
type GateSettings struct {
	Reset  bool // Shut resets connections instead of closing them
	Listen func(addr string) (net.Listener, error)
}

// Gate is a listener whose port can be closed for a while: the kernel then refuses connections.
type Gate struct {
	s    GateSettings
	addr net.Addr

	mu     sync.Mutex // guards the rest
	cond   sync.Cond  // changes of the rest
	l      net.Listener
	conns  map[*conn]struct{}
	closed bool // for good
}

var _ net.Listener = (*Gate)(nil)

// TCP is the Listen of a Gate on a network.
func TCP(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }

// NewGate listens on addr.
func NewGate(addr string, s GateSettings) (*Gate, error) {
	l, err := s.Listen(addr)
	if err != nil {
		return nil, err
	}
	g := &Gate{s: s, addr: l.Addr(), l: l, conns: map[*conn]struct{}{}}
	g.cond.L = &g.mu
	return g, nil
}

// Accept waits for a connection, also while the port is closed.
func (g *Gate) Accept() (net.Conn, error) {
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
		if err != nil {
			return nil, err
		}
		if admitted := g.admit(c, l); admitted != nil {
			return admitted, nil
		}
	}
}

// admit takes a connection that l accepted. It is nil, and c closed, if the port was closed meanwhile.
func (g *Gate) admit(c net.Conn, l net.Listener) *conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	admitted := &conn{Conn: c, gate: g}
	if g.l != l {
		g.end(admitted)
		return nil
	}
	g.conns[admitted] = struct{}{}
	return admitted
}

// end closes or resets a connection. Its owner notices, and closes it too.
func (g *Gate) end(c *conn) {
	if g.s.Reset {
		Reset(c.Conn)
		return
	}
	_ = c.Conn.Close()
}

// Refuse closes the port and every connection, or opens the port again.
func (g *Gate) Refuse(on bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if on {
		err := g.shut() // first: a client that is cut off may come back at once
		for c := range g.conns {
			g.end(c)
		}
		return err
	}
	if g.l != nil || g.closed {
		return nil
	}
	l, err := g.s.Listen(g.addr.String())
	if err != nil {
		return fmt.Errorf("listening again on %s after refusing connections: %w", g.addr, err)
	}
	g.l = l
	g.cond.Broadcast()
	return nil
}

// reopenRetry is the time between attempts to listen again on the same port.
const reopenRetry = 100 * time.Millisecond

// RefuseOnTime closes and opens gates as the faults say until ctx ends. begun gets the name of each that begins.
func (s *Set[S]) RefuseOnTime(ctx context.Context, log *slog.Logger, begun func(name string), gates ...*Gate) error {
	refusing := false
	for {
		refuse, names, edge, changed := s.Refusal(time.Now())
		for _, name := range names {
			begun(name)
		}
		timer := time.NewTimer(time.Until(edge))
		if edge.IsZero() {
			timer.Stop()
		}
		if refuse != refusing {
			var err error
			for _, g := range gates {
				err = errors.Join(err, g.Refuse(refuse))
			}
			if err != nil {
				log.Warn("accepting connections again", "error", err)
				timer.Reset(reopenRetry)
			} else {
				refusing = refuse
				log.Info("connections", "refused", refuse)
			}
		}
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}

// Close closes the port for good. Connections stay.
func (g *Gate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.cond.Broadcast()
	return g.shut()
}

// shut closes the port; g.mu is held.
func (g *Gate) shut() error {
	if g.l == nil {
		return nil
	}
	err := g.l.Close()
	g.l = nil
	return err
}

// Addr is the bound address, also while the port is closed.
func (g *Gate) Addr() net.Addr { return g.addr }

// conn is a connection of a gate.
type conn struct {
	net.Conn
	gate *Gate
}

// Close may be called again.
func (c *conn) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// Reset closes a connection, also one over TLS, so that the peer sees a reset where the network knows one.
func Reset(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	socket := c
	if admitted, ok := c.(*conn); ok {
		socket = admitted.Conn
	}
	if t, ok := socket.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
