package readers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// Slow are clients that take the connections of a TLS server and hold them: they connect and then send next to
// nothing. Every tenth does so after a handshake, the others within it. With a URL, each requests that again and again
// instead.
//
// How many connect is up to the server and its kernel. Beyond those that are served, Linux keeps as many as the smaller
// of the listener's backlog and net.core.somaxconn; it drops the SYNs of the others, who try again until the end.
type Slow struct {
	Address string        `json:"address,omitempty"` // host:port
	CAFile  string        `json:"caFile,omitempty"`  // of the CA that the server's certificate is of
	URL     string        `json:"url,omitempty"`
	Count   int           `json:"count"` // clients; each needs a port of this machine
	For     time.Duration `json:"for"`
}

// Seen is what became of them.
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
	// slowPause is between two bytes of a client; shakeOne of so many shakes hands.
	slowPause = 2 * time.Second
	shakeOne  = 10
	// refusedPause is how long a client waits after a refusal, less than Retry-After says.
	refusedPause = 100 * time.Millisecond
)

// Run has the clients at work for their time, and says on out, as JSON, what became of them. Each is a descriptor: the
// Go runtime has raised the soft limit to the hard one.
func (c Slow) Run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx) // a deadline would end dials on its own, a moment before the context is over
	defer cancel()
	defer time.AfterFunc(c.For, cancel).Stop()
	s := &slow{Slow: c, seen: Seen{Asked: int64(c.Count)}}
	if c.URL != "" {
		s.seen.Answers = map[int]int64{}
		s.each(ctx, s.ask)
	} else {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return fmt.Errorf("CA of the server: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return errors.New("CA of the server: no certificate in " + c.CAFile)
		}
		host, _, _ := net.SplitHostPort(c.Address)
		s.tls = &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}
		s.turns = make(chan struct{}, dialers)
		s.each(ctx, s.hold)
	}
	return json.NewEncoder(out).Encode(s.seen)
}

type slow struct {
	Slow
	tls   *tls.Config
	turns chan struct{} // a slot for each that is being connected
	mu    sync.Mutex    // guards seen
	seen  Seen
}

func (s *slow) see(note func(*Seen)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note(&s.seen)
}

func (s *slow) each(ctx context.Context, client func(ctx context.Context, i int)) {
	var all sync.WaitGroup
	for i := range s.Count {
		all.Go(func() { client(ctx, i) })
	}
	all.Wait()
	<-ctx.Done()
}

// ask requests the URL until ctx ends.
func (s *slow) ask(ctx context.Context, _ int) {
	client := &http.Client{Transport: &http.Transport{}, Timeout: requestLimit}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		code, err := get(ctx, client, s.URL)
		if ctx.Err() != nil {
			return
		}
		s.see(func(seen *Seen) {
			seen.Answers[code]++
			if err != nil {
				seen.Error = err.Error()
			}
		})
		if code != http.StatusOK {
			_ = lifecycle.Pause(ctx, refusedPause) // an end of ctx is seen above
		}
	}
}

// get returns the status of an answer read to its end, 0 without one.
func get(ctx context.Context, client *http.Client, url string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	return resp.StatusCode, nil
}

// hold connects and keeps the connection until ctx ends or the server closes it.
func (s *slow) hold(ctx context.Context, i int) {
	select {
	case s.turns <- struct{}{}:
	case <-ctx.Done():
		return
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address)
	<-s.turns
	switch {
	case err == nil:
		s.see(func(seen *Seen) { seen.Connected++ })
	case ctx.Err() != nil:
		return
	default:
		s.see(func(seen *Seen) { seen.Error = err.Error() })
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	s.drip(ctx, conn, i%shakeOne == 0)
	if ctx.Err() == nil {
		s.see(func(seen *Seen) { seen.Cut++ })
	}
}

// drip sends next to nothing until the connection is closed.
func (s *slow) drip(ctx context.Context, conn net.Conn, shake bool) {
	text, more := []byte{0x16, 0x03, 0x01}, []byte(nil) // the beginning of a ClientHello
	if shake {
		secure := tls.Client(conn, s.tls)
		if secure.HandshakeContext(ctx) != nil {
			return
		}
		s.see(func(seen *Seen) { seen.Shaken++ })
		conn, text, more = secure, []byte("GET / HTTP/1.1\r\nX: "), []byte("x")
	}
	buf := make([]byte, 1<<10)
	for _, err := conn.Write(text); err == nil; {
		_ = conn.SetReadDeadline(time.Now().Add(slowPause)) // the read fails as well
		if _, err = conn.Read(buf); errors.Is(err, os.ErrDeadlineExceeded) {
			_, err = conn.Write(more)
		}
	}
}
