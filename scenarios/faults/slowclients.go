package faults

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// slowClients connect and then send next to nothing: every tenth says so after a TLS
// handshake, the others within it.
type slowClients struct {
	address string
	count   int
	roots   *x509.CertPool

	connected, shaken, cut atomic.Int64
	stop                   context.CancelFunc
	wait                   sync.WaitGroup
}

// slowSeen is what became of them.
type slowSeen struct {
	Asked     int64 `json:"asked"`
	Connected int64 `json:"connected"` // by the kernel, of which the watcher need not know yet
	Shaken    int64 `json:"shaken"`    // got through the TLS handshake
	Cut       int64 `json:"cut"`       // were cut off by the watcher
}

const (
	// dialers connect at the same time.
	dialers = 64
	// slowPause is between two bytes of a slow client.
	slowPause = 2 * time.Second
	shakeOne  = 10 // of so many
)

func newSlowClients(address string, count int, roots *x509.CertPool) *slowClients {
	return &slowClients{address: address, count: count, roots: roots, stop: func() {}}
}

// run connects them and holds them until ctx ends.
func (s *slowClients) run(ctx context.Context) slowSeen {
	ctx, s.stop = context.WithCancel(ctx)
	turns := make(chan struct{}, dialers) // a slot for each that is being connected
	for i := range s.count {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		s.wait.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
			<-turns
			if err != nil {
				return
			}
			s.connected.Add(1)
			s.hold(ctx, conn, i%shakeOne == 0)
		})
	}
	<-ctx.Done()
	s.close()
	return slowSeen{Asked: int64(s.count), Connected: s.connected.Load(), Shaken: s.shaken.Load(), Cut: s.cut.Load()}
}

func (s *slowClients) close() {
	s.stop()
	s.wait.Wait()
}

// hold keeps the connection until ctx ends or the watcher closes it.
func (s *slowClients) hold(ctx context.Context, conn net.Conn, shake bool) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	// The beginning of a ClientHello, and of a request.
	text := []byte{0x16, 0x03, 0x01}
	if shake {
		secure := tls.Client(conn, &tls.Config{RootCAs: s.roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12})
		if secure.HandshakeContext(ctx) != nil {
			s.ended(ctx)
			return
		}
		s.shaken.Add(1)
		conn, text = secure, []byte("GET / HTTP/1.1\r\nX: ")
	}
	ticks := time.NewTicker(slowPause)
	defer ticks.Stop()
	gone := make(chan struct{})
	s.wait.Go(func() { // ends with the connection
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1<<10))
	})
	if _, err := conn.Write(text); err != nil {
		s.ended(ctx)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-gone:
			s.ended(ctx)
			return
		case <-ticks.C:
			if shake {
				_, _ = conn.Write([]byte("x"))
			}
		}
	}
}

// ended counts an end that the client did not make.
func (s *slowClients) ended(ctx context.Context) {
	if ctx.Err() == nil {
		s.cut.Add(1)
	}
}
