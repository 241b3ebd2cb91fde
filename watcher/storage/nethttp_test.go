package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
)

// netHTTP is the same client built on net/http. httptrace.WroteRequest reports
// whether the request was written.
type netHTTP struct {
	transport *http.Transport
	endpoint  *url.URL
	timeout   time.Duration
}

func newNetHTTP(endpoint string, timeout time.Duration, dial func(ctx context.Context, network, address string) (net.Conn, error)) *netHTTP {
	u, err := url.Parse(endpoint)
	if err != nil {
		panic(err)
	}
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	return &netHTTP{
		transport: &http.Transport{
			DialContext: dial, MaxIdleConnsPerHost: DefaultMaxIdle, IdleConnTimeout: DefaultIdleTimeout, DisableCompression: true,
		},
		endpoint: u, timeout: timeout,
	}
}

var netHTTPHeader = http.Header{"User-Agent": {"k8s-watch"}, "Content-Type": {"application/json"}}

func (c *netHTTP) put(ctx context.Context, o *object.Object) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	wrote := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { wrote = false }, // net/http may try again on its own
		WroteRequest: func(i httptrace.WroteRequestInfo) { wrote = i.Err == nil },
	})
	u := *c.endpoint
	u.Path = objectPath("BCS-K8S-90001", o.Key)
	// One piece of memory: for a body of any other type net/http writes the head on its
	// own first. It may read the body after RoundTrip has returned, so no pool.
	joined := append(append(append(make([]byte, 0, len(dataOpen)+len(o.Raw)+len(dataClose)), dataOpen...), o.Raw...), dataClose...)
	body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(joined)), nil }
	req := (&http.Request{
		Method: http.MethodPut, URL: &u, Host: u.Host, Header: netHTTPHeader, ContentLength: int64(len(joined)), GetBody: body,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	req.Body, _ = body()
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		if wrote {
			return &UnknownOutcomeError{Err: err}
		}
		return &TransientError{Err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{status: resp.StatusCode, header: resp.Header, body: make([]byte, resp.ContentLength)}
	if _, err := io.ReadFull(resp.Body, a.body); err != nil {
		return &UnknownOutcomeError{Err: err}
	}
	return a.judge(time.Now(), true)
}

// scripted is a connection whose peer resets after so many bytes, or takes the whole
// request and then answers, resets or stays silent.
type scripted struct {
	net.Conn          // near end of a pipe: reads and deadlines
	far      net.Conn // what the peer writes comes from here
	takes    int      // bytes; all: no limit
	then     string   // after a whole request

	mu  sync.Mutex // guards got
	got []byte
}

const all = -1

func (s *scripted) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	if s.takes != all {
		n = min(n, s.takes-len(s.got))
	}
	s.got = append(s.got, p[:n]...)
	if n < len(p) {
		_ = s.far.Close()
		return n, &net.OpError{Op: "write", Err: syscall.ECONNRESET}
	}
	if !whole(s.got) {
		return n, nil
	}
	switch s.then {
	case "answer":
		go func() {
			_, _ = fmt.Fprintf(s.far, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(okBody), okBody)
		}()
	case "reset":
		_ = s.far.Close()
	}
	return n, nil
}

// whole reports whether b is a request to its end.
func whole(b []byte) bool {
	head, body, found := bytes.Cut(b, []byte("\r\n\r\n"))
	_, text, long := strings.Cut(string(head), "Content-Length: ")
	var want int
	_, err := fmt.Sscan(text, &want)
	return found && (!long || err == nil) && len(body) == want
}

// putScripted sends one PUT of size bytes to such a peer and returns what the client
// concludes and what the peer has got.
func putScripted(t *testing.T, client string, size, takes int, then string) (conclusion string, got []byte) {
	t.Helper()
	near, far := net.Pipe()
	peer := &scripted{Conn: near, far: far, takes: takes, then: then}
	defer func() { _ = errors.Join(near.Close(), far.Close()) }()
	dialled := false
	dial := func(context.Context, string, string) (net.Conn, error) {
		if dialled {
			return nil, errors.New("dialled twice")
		}
		dialled = true
		return peer, nil
	}
	const timeout = time.Second
	o := *pod
	o.Raw = []byte(`"` + strings.Repeat("y", size) + `"`)
	var err error
	if client == "own" {
		cfg := Default()
		cfg.ClusterID, cfg.Endpoints, cfg.Timeout = "BCS-K8S-90001", []string{"http://storage:50024"}, timeout
		c, err2 := New(cfg, Settings{Dial: dial})
		if err2 != nil {
			t.Fatal(err2)
		}
		err = c.Put(t.Context(), &o)
		for _, ep := range *c.endpoints.Load() {
			ep.reap(time.Now(), true)
		}
	} else {
		c := newNetHTTP("http://storage:50024", timeout, dial)
		err = c.put(t.Context(), &o)
		c.transport.CloseIdleConnections()
	}
	peer.mu.Lock()
	defer peer.mu.Unlock()
	return conclude(err), peer.got
}

// conclude is what the type of an error says about the request.
func conclude(err error) string {
	var unsent *TransientError
	var unknown *UnknownOutcomeError
	switch {
	case err == nil:
		return "answered"
	case errors.As(err, &unsent):
		return "unsent"
	case errors.As(err, &unknown):
		return "unknown"
	}
	return "untyped: " + err.Error()
}

// TestConclusionFromABrokenConnection compares what the two clients conclude with what
// the peer got. Taking a whole request for unsent loses the fence (G10) and must never
// happen; taking an unsent one for unknown costs a fence for nothing.
func TestConclusionFromABrokenConnection(t *testing.T) {
	for _, size := range []int{3 << 10, 64 << 10} {
		for _, client := range []string{"own", "net/http"} {
			conclusion, request := putScripted(t, client, size, all, "answer")
			if conclusion != "answered" || !whole(request) {
				t.Fatalf("%s: %s with the whole request: %t", client, conclusion, whole(request))
			}
			for _, tc := range []struct {
				name     string
				takes    int
				then     string
				want     string
				buffered string // of net/http with a request that fits its write buffer, if not want
			}{
				{"reset before the first byte", 0, "", "unsent", "unknown"},
				{"reset within the head", 60, "", "unsent", "unknown"},
				{"reset within the body", len(request) / 2, "", "unsent", "unknown"},
				{"reset before the last byte", len(request) - 1, "", "unsent", "unknown"},
				{"reset after the last byte", all, "reset", "unknown", ""},
				{"no answer", all, "silence", "unknown", ""},
			} {
				if client == "net/http" && len(request) <= 4<<10 && tc.buffered != "" {
					tc.want = tc.buffered
				}
				t.Run(fmt.Sprintf("%s, %d KiB, %s", tc.name, size>>10, client), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						conclusion, got := putScripted(t, client, size, tc.takes, tc.then)
						if sent := tc.takes == all; whole(got) != sent {
							t.Fatalf("the peer got a whole request: %t, want %t", whole(got), sent)
						}
						if conclusion != tc.want {
							t.Errorf("%s, want %s", conclusion, tc.want)
						}
					})
				})
			}
		}
	}
}

func TestConclusionFromARefusedConnection(t *testing.T) {
	const nobody = "http://127.0.0.1:1"
	if got := conclude(client(t, 0, nobody).Put(t.Context(), pod)); got != "unsent" {
		t.Errorf("own: %s", got)
	}
	if got := conclude(newNetHTTP(nobody, DefaultTimeout, nil).put(t.Context(), pod)); got != "unsent" {
		t.Errorf("net/http: %s", got)
	}
}

// TestClosedIdleConnectionIsNoticed is the same for this client: net/http reads from
// idle connections too, and dials anew.
func TestNetHTTPNoticesAClosedIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		var peer *scripted
		c := newNetHTTP("http://storage:50024", DefaultTimeout, func(context.Context, string, string) (net.Conn, error) {
			dials++
			near, far := net.Pipe()
			peer = &scripted{Conn: near, far: far, takes: all, then: "answer"}
			return peer, nil
		})
		for i := range 3 {
			if got := conclude(c.put(t.Context(), pod)); got != "answered" || dials != i+1 {
				t.Errorf("%s after %d dials, want answered after %d", got, dials, i+1)
			}
			_ = peer.far.Close()
			synctest.Wait()
		}
	})
}

// BenchmarkClients sends PUTs of 3 KiB over kept connections to a server in a process
// of its own, by this client and by net/http, and reports the CPU time of the client's
// process, user and system, per request.
//
//	go test -run '^$' -bench Clients -benchtime 3s -count 5 ./watcher/storage
func BenchmarkClients(b *testing.B) {
	endpoint := leanProcess(b)
	o := *pod
	o.Raw = []byte(`{"apiVersion":"v1","kind":"Pod","x":"` + strings.Repeat("y", 3<<10) + `"}`)
	for _, conns := range []int{1, 64} {
		own := client(b, 0, endpoint)
		std := newNetHTTP(endpoint, DefaultTimeout, nil)
		defer std.transport.CloseIdleConnections()
		for _, c := range []struct {
			name string
			put  func(context.Context, *object.Object) error
		}{{"own", own.Put}, {"nethttp", std.put}} {
			b.Run(fmt.Sprintf("%s/conns=%d", c.name, conns), func(b *testing.B) {
				b.ReportAllocs()
				before := cpuTime(b)
				var left atomic.Int64
				left.Store(int64(b.N))
				var wg sync.WaitGroup
				for range conns {
					wg.Go(func() {
						for left.Add(-1) >= 0 {
							if err := c.put(b.Context(), &o); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
			})
		}
	}
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serveEnv makes the test binary a server until its input ends.
const serveEnv = "STORAGE_TEST_SERVE"

func leanProcess(b *testing.B) (endpoint string) {
	b.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), serveEnv+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	var addr string
	if _, err := fmt.Fscan(stdout, &addr); err != nil {
		b.Fatal(err)
	}
	return "http://" + addr
}

// serveUntilEOF is the server process.
func serveUntilEOF() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go leanServer(l)
	fmt.Println(l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
