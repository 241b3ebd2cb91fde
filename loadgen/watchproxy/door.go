package watchproxy

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/watchbench/watchbench/loadgen/watchfault"
)

// reopenRetry is the time between attempts to listen again on the same port.
const reopenRetry = 100 * time.Millisecond

// door is a listener that is shut, with all its connections, while connections are
// to be refused.
type door struct {
	faults *watchfault.Injector
	logger *slog.Logger
	addr   net.Addr

	mu     sync.Mutex
	inner  net.Listener      // guarded by mu; nil while shut
	conns  map[*entered]bool // guarded by mu
	turned chan struct{}     // guarded by mu; closed and replaced when inner changes
	closed bool              // guarded by mu
}

var _ net.Listener = (*door)(nil)

func openDoor(address string, f *watchfault.Injector, logger *slog.Logger) (*door, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &door{faults: f, logger: logger, addr: l.Addr(), inner: l, conns: map[*entered]bool{}, turned: make(chan struct{})}, nil
}

// Addr is the same whether the door is open or not.
func (d *door) Addr() net.Addr { return d.addr }

// Accept waits for a connection, also while the door is shut.
func (d *door) Accept() (net.Conn, error) {
	for {
		d.mu.Lock()
		inner, turned, closed := d.inner, d.turned, d.closed
		d.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		if inner == nil {
			<-turned
			continue
		}
		c, err := inner.Accept()
		if err == nil {
			return d.enter(c), nil
		}
		select {
		case <-turned: // shut meanwhile, which is why it failed
		default:
			return nil, err
		}
	}
}

func (d *door) enter(c net.Conn) net.Conn {
	e := &entered{Conn: c, door: d}
	d.mu.Lock()
	d.conns[e] = true
	shut := d.inner == nil
	d.mu.Unlock()
	if shut {
		watchfault.ResetConn(e)
	}
	return e
}

// Close ends Accept. Connections stay open.
func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return d.turn(nil)
}

// turn replaces the inner listener. The caller holds mu.
func (d *door) turn(next net.Listener) error {
	old := d.inner
	d.inner = next
	close(d.turned)
	d.turned = make(chan struct{})
	if old == nil {
		return nil
	}
	return old.Close()
}

// run shuts and opens the door until ctx ends.
func (d *door) run(ctx context.Context) error {
	for {
		refuse, edge, changed := d.faults.Refusal()
		retry := d.set(refuse)
		timer := time.NewTimer(time.Until(edge))
		switch {
		case retry:
			timer.Reset(reopenRetry)
		case edge.IsZero():
			timer.Stop()
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

// set shuts or opens the door. It asks to be called again if that was not possible.
func (d *door) set(shut bool) (again bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed || shut == (d.inner == nil):
	case shut:
		if err := d.turn(nil); err != nil {
			d.logger.Warn("stop listening", "error", err)
		}
		d.logger.Info("refusing connections", "reset", len(d.conns))
		for c := range d.conns {
			watchfault.ResetConn(c.Conn)
		}
	default:
		l, err := net.Listen("tcp", d.addr.String())
		if err != nil {
			d.logger.Warn("listen again", "error", fmt.Errorf("%s: %w", d.addr, err))
			return true
		}
		_ = d.turn(l) // there was no listener that could fail to close
		d.logger.Info("accepting connections again")
	}
	return false
}

// entered is a connection that came in by the door.
type entered struct {
	net.Conn
	door *door
}

// SetLinger lets ResetConn through.
func (e *entered) SetLinger(sec int) error {
	if t, ok := e.Conn.(*net.TCPConn); ok {
		return t.SetLinger(sec)
	}
	return nil
}

func (e *entered) Close() error {
	e.door.mu.Lock()
	delete(e.door.conns, e)
	e.door.mu.Unlock()
	return e.Conn.Close()
}
