package lifecycle

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Fresh holds a server's connections on which no request has begun: net/http would let
// them delay its Shutdown by 5 s.
type Fresh struct {
	conns  sync.Map // net.Conn → struct{}
	closed atomic.Bool
}

// Track is the server's ConnState.
func (f *Fresh) Track(c net.Conn, state http.ConnState) {
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

// Close closes them, and those that are still to come.
func (f *Fresh) Close() {
	f.closed.Store(true)
	f.conns.Range(func(c, _ any) bool {
		_ = c.(net.Conn).Close()
		return true
	})
}
