// Package pipetest is a network in memory, for tests in virtual time: goroutines that wait for it count as blocked
// there, which those that wait for sockets do not.
package pipetest

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Listener accepts what dials it.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen makes a listener.
func Listen() *Listener { return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept waits for a client.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close has the next client refused.
func (l *Listener) Close() error { l.once.Do(func() { close(l.closed) }); return nil }

// Addr is for display only.
func (l *Listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// Dial waits until the server accepts; use it as a transport's DialContext.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Connect is Dial without a limit; a connection that was refused is one nobody answers.
func (l *Listener) Connect() net.Conn {
	c, err := l.Dial(context.Background(), "", "")
	if err != nil {
		c, _ = net.Pipe()
	}
	return c
}
