// Package slowclients takes the connections of a server and holds them: its clients
// connect and then send next to nothing. Every tenth does so after a TLS handshake, the
// others within it.
//
// How many connect is up to the server and its kernel. Beyond those that are served, Linux
// keeps as many as the smaller of the listener's backlog and net.core.somaxconn; it drops
// the SYNs of the others, who try again until the end.
package slowclients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/userfile"
)

// Config says whose connections are held.
type Config struct {
	Address string // host:port
	CAFile  string // of the CA that the server's certificate is of
	Count   int    // clients
	// URL, if set, is requested by each client again and again, instead of all that.
	URL string
}

// MaxCount bounds the clients of a Config: each needs a port of this machine.
const MaxCount = 10_000

// Validate reports the first value that cannot be carried out.
func (c *Config) Validate() error {
	if _, _, err := net.SplitHostPort(c.Address); err != nil && c.URL == "" {
		return fmt.Errorf("address: %w: want for example 127.0.0.1:10253", err)
	}
	if c.Count < 1 || c.Count > MaxCount {
		return fmt.Errorf("count: %d is not 1 to %d", c.Count, MaxCount)
	}
	return nil
}

// Seen is what became of the clients.
type Seen struct {
	Asked     int64  `json:"asked"`
	Connected int64  `json:"connected"`       // by the kernel, of which the server need not know yet
	Shaken    int64  `json:"shaken"`          // got through the TLS handshake
	Cut       int64  `json:"cut"`             // were cut off by the server
	Error     string `json:"error,omitempty"` // the last of one that could not connect, or got no answer
	// Answers to requests for a URL, by status.
	Answers map[int]int64 `json:"answers,omitempty"`
}

const (
	// dialers connect at the same time.
	dialers = 64
	// slowPause is between two bytes of a client.
	slowPause = 2 * time.Second
	shakeOne  = 10 // of so many
)

// clients are those of one Run.
type clients struct {
	tls                    *tls.Config
	connected, shaken, cut atomic.Int64
	failed                 atomic.Value // string
	wait                   sync.WaitGroup
}

// Run connects the clients and holds them until ctx ends. Each is a descriptor: the Go
// runtime has raised the soft limit to the hard one.
func Run(ctx context.Context, c Config) (Seen, error) {
	if err := c.Validate(); err != nil {
		return Seen{}, err
	}
	if c.URL != "" {
		return ask(ctx, c), nil
	}
	pem, err := userfile.ReadFile(c.CAFile)
	if err != nil {
		return Seen{}, fmt.Errorf("CA of the server: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return Seen{}, errors.New("CA of the server: no certificate in " + c.CAFile)
	}
	host, _, _ := net.SplitHostPort(c.Address)
	// A deadline would end dials on its own, a moment before the context is over.
	until := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(until))
	defer context.AfterFunc(until, cancel)()
	defer cancel()
	s := &clients{tls: &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}}
	s.connect(ctx, c)
	<-ctx.Done()
	s.wait.Wait()
	failed, _ := s.failed.Load().(string)
	return Seen{Asked: int64(c.Count), Connected: s.connected.Load(), Shaken: s.shaken.Load(), Cut: s.cut.Load(), Error: failed}, nil
}

func (s *clients) connect(ctx context.Context, c Config) {
	turns := make(chan struct{}, dialers) // a slot for each that is being connected
	for i := range c.Count {
		select {
		case turns <- struct{}{}:
		case <-ctx.Done():
			return
		}
		s.wait.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.Address)
			<-turns
			if err != nil {
				if ctx.Err() == nil {
					s.failed.Store(err.Error())
				}
				return
			}
			s.connected.Add(1)
			s.hold(ctx, conn, i%shakeOne == 0)
		})
	}
}

// hold keeps the connection until ctx ends or the server closes it.
func (s *clients) hold(ctx context.Context, conn net.Conn, shake bool) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	// The beginning of a ClientHello, and of a request.
	text := []byte{0x16, 0x03, 0x01}
	if shake {
		secure := tls.Client(conn, s.tls)
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
func (s *clients) ended(ctx context.Context) {
	if ctx.Err() == nil {
		s.cut.Add(1)
	}
}
