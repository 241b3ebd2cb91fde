package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of a server that sets none of its own.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 5 * time.Minute
	maxHeader     = 64 << 10 // bytes
)

// Serve serves HTTP on l until ctx ends, then gives the requests under way at most
// grace before it cuts them off. It returns nil after ctx has ended, and otherwise why
// the listener failed. l is closed in any case. The ConnState of s is Serve's own, and
// what s does not bound of a client's header and idle time, Serve does.
func Serve(ctx context.Context, s *http.Server, l net.Listener, grace time.Duration) error {
	s.ReadHeaderTimeout = cmp.Or(s.ReadHeaderTimeout, headerTimeout)
	s.IdleTimeout = cmp.Or(s.IdleTimeout, idleTimeout)
	s.MaxHeaderBytes = cmp.Or(s.MaxHeaderBytes, maxHeader)
	var young fresh
	s.ConnState = young.track
	s.RegisterOnShutdown(young.close)
	failed := make(chan error, 1) // one send, by Serve
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.Shutdown(sctx); err != nil {
		_ = s.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// fresh holds a server's connections on which no request has begun: net/http would let them delay its Shutdown by 5 s.
type fresh struct {
	conns  sync.Map // net.Conn → struct{}
	closed atomic.Bool
}

func (f *fresh) track(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		f.conns.Store(c, struct{}{})
		if f.closed.Load() { // accepted just before the listener was closed
			_ = c.Close()
		}
	case http.StateActive, http.StateClosed:
		f.conns.Delete(c)
	}
}

// close closes them, and those that are still to come.
func (f *fresh) close() {
	f.closed.Store(true)
	f.conns.Range(func(c, _ any) bool {
		_ = c.(net.Conn).Close()
		return true
	})
}
