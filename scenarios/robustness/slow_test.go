package robustness

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
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// slowClients are clients that take the connections of a TLS server and hold them: they connect and then send next to
// nothing. Every tenth does so after a handshake, the others within it. With a URL, each requests that again and again
// instead.
//
// How many connect is up to the server and its kernel. Beyond those that are served, Linux keeps as many as the smaller
// of the listener's backlog and net.core.somaxconn; it drops the SYNs of the others, who try again until the end.
type slowClients struct {
	Address string        `json:"address,omitempty"` // host:port
	CAFile  string        `json:"caFile,omitempty"`  // of the CA that the server's certificate is of
	URL     string        `json:"url,omitempty"`
	Count   int           `json:"count"` // clients; each needs a port of this machine
	For     time.Duration `json:"for"`
}

// slowSeen counts their outcomes.
type slowSeen struct {
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
	// slowGrace is how long after their time they may take to close their connections.
	slowGrace = 30 * time.Second
)

// asSlow has the test binary be slow clients: a slowClients as JSON.
const asSlow = "ROBUSTNESS_SLOW_CLIENTS"

// runSlow has a process of the lowest priority be slow clients: who attacks a watcher does not do so with its CPUs, nor
// with those of the apiserver and etcd.
func runSlow(ctx context.Context, c slowClients) (seen slowSeen, err error) {
	text, err := json.Marshal(c)
	if err != nil {
		return seen, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.For+slowGrace)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), asSlow+"="+string(text)), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // whose threads all get the priority, and nobody else
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &seen)
	}
	if err != nil {
		return seen, fmt.Errorf("the slow clients: %w", err)
	}
	return seen, nil
}

// beSlow is the process: it says what became of the clients, as JSON. Each is a descriptor: the Go runtime has raised
// the soft limit to the hard one.
func beSlow(text string) error {
	if err := syscall.Setpriority(syscall.PRIO_PGRP, 0, 19); err != nil {
		return err
	}
	var c slowClients
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	seen, err := c.run(context.Background())
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(seen))
}

// run has the clients at work for their time.
func (c slowClients) run(ctx context.Context) (slowSeen, error) {
	ctx, cancel := context.WithCancel(ctx) // a deadline would end dials on its own, a moment before the context is over
	defer cancel()
	defer time.AfterFunc(c.For, cancel).Stop()
	s := &slow{slowClients: c, seen: slowSeen{Asked: int64(c.Count)}}
	if c.URL != "" {
		s.seen.Answers = map[int]int64{}
		s.each(ctx, s.ask)
		return s.seen, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return s.seen, fmt.Errorf("CA of the server: %w", err)
	}
	host, _, _ := net.SplitHostPort(c.Address)
	s.tls = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: host, MinVersion: tls.VersionTLS12}
	s.tls.RootCAs.AppendCertsFromPEM(pem)
	s.turns = make(chan struct{}, dialers)
	s.each(ctx, s.hold)
	return s.seen, nil
}

type slow struct {
	slowClients
	tls   *tls.Config
	turns chan struct{} // a slot for each that is being connected
	mu    sync.Mutex    // guards seen
	seen  slowSeen
}

func (s *slow) see(note func(*slowSeen)) {
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
	client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		code, err := statusOf(ctx, client, s.URL)
		if ctx.Err() != nil {
			return
		}
		s.see(func(seen *slowSeen) {
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

// statusOf returns the status of an answer read to its end, 0 without one.
func statusOf(ctx context.Context, client *http.Client, url string) (int, error) {
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
		s.see(func(seen *slowSeen) { seen.Connected++ })
	case ctx.Err() != nil:
		return
	default:
		s.see(func(seen *slowSeen) { seen.Error = err.Error() })
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	s.drip(ctx, conn, i%shakeOne == 0)
	if ctx.Err() == nil {
		s.see(func(seen *slowSeen) { seen.Cut++ })
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
		s.see(func(seen *slowSeen) { seen.Shaken++ })
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
