package robustness

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// trap listens where the watcher must not connect to, except for one subscription that is allowed to.
type trap struct {
	*httptest.Server
	allowed   string // the subscription's name, which is its path
	elsewhere string // where it sends them; empty: it takes what is delivered

	mu         sync.Mutex
	conns      map[string]bool // guarded by mu; by the client's address: a request of the allowed subscription came by it
	deliveries int64           // guarded by mu; of the allowed one
	strange    string          // guarded by mu; a request that was not allowed
	bodies     bytes.Buffer    // guarded by mu; the first that were delivered
}

// mostKept bounds the bodies that a trap keeps, in bytes.
const mostKept = 8 << 20

// newTrap listens and serves until it is closed.
func newTrap(address, allowed, elsewhere string) (*trap, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen where the watcher must not connect to: %w", err)
	}
	t := &trap{allowed: allowed, elsewhere: elsewhere, conns: map[string]bool{}}
	t.Server = &httptest.Server{Listener: l, Config: &http.Server{
		Handler: t, ReadHeaderTimeout: 10 * time.Second, ConnState: func(c net.Conn, s http.ConnState) {
			if s == http.StateNew {
				t.mu.Lock()
				defer t.mu.Unlock()
				t.conns[c.RemoteAddr().String()] = false
			}
		}}}
	t.Start()
	return t, nil
}

func (t *trap) address() string { return t.Listener.Addr().String() }

// network is what is to be allowed for the address alone.
func (t *trap) network() string {
	ip := t.Listener.Addr().(*net.TCPAddr).IP
	if ip.To4() != nil {
		return ip.String() + "/32"
	}
	return ip.String() + "/128"
}

// ServeHTTP takes what is delivered.
func (t *trap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, mostKept))
	t.mu.Lock()
	if r.Method != http.MethodPost || r.URL.Path != "/"+t.allowed {
		t.strange = fmt.Sprintf("%s %.100s", r.Method, r.URL.Path)
	} else {
		t.conns[r.RemoteAddr] = true
		t.deliveries++
		if t.bodies.Len()+len(body) < mostKept {
			t.bodies.Write(append(body, '\n'))
		}
	}
	t.mu.Unlock()
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

// seen sums up the connections. A request that is not allowed makes its connection strange, whatever else came by it.
func (t *trap) seen() trapSeen {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := trapSeen{Address: t.address(), Connections: int64(len(t.conns)), Deliveries: t.deliveries, Example: t.strange}
	for _, allowed := range t.conns {
		if !allowed {
			s.Strange++
		}
	}
	if s.Example != "" {
		s.Strange = max(s.Strange, 1)
	}
	return s
}
