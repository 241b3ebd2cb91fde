package lifecycle

import (
	"net"
	"net/http"
	"sync"
)

// Fresh holds a server's connections on which no request has begun: net/http would let
// them delay its Shutdown by 5 s.
type Fresh struct {
	conns sync.Map // net.Conn → struct{}
}

// Track is the server's ConnState.
func (f *Fresh) Track(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		f.conns.Store(c, struct{}{})
	case http.StateActive, http.StateClosed:
		f.conns.Delete(c)
	}
}

// Close closes them.
func (f *Fresh) Close() {
	f.conns.Range(func(c, _ any) bool {
		_ = c.(net.Conn).Close()
		return true
	})
}
