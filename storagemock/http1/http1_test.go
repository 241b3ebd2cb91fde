package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/watchbench/watchbench/storagemock/http1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves h on a loopback port until the test ends.
func start(t testing.TB, h http1.HandlerFunc, edit func(*http1.Limits)) (addr string, srv *http1.Server, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limits := http1.DefaultLimits()
	limits.Grace = 2 * time.Second
	if edit != nil {
		edit(&limits)
	}
	srv = http1.New(h, limits, slog.New(slog.NewTextHandler(t.Output(), nil)))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx, l) }()
	var stopped atomic.Bool
	stop = func() {
		cancel()
		if !stopped.Swap(true) {
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	}
	t.Cleanup(stop)
	return l.Addr().String(), srv, stop
}

// echo answers with what it understood.
func echo(_ context.Context, x *http1.Exchange) {
	body := fmt.Sprintf("%s|%s|%s|%s|%s", x.Method, x.Path, x.Query, x.Header("x-test"), x.Body)
	_ = x.Answer(http1.Answer{Status: 200, ContentType: "text/plain", Body: []byte(body), Header: []string{"X-Served: yes"}})
}

// exchange sends raw bytes on a new connection and returns all that comes back.
func exchange(t *testing.T, addr, raw string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, raw); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(c)
	return string(b)
}

func TestRequestsAsSent(t *testing.T) {
	addr, _, _ := start(t, echo, func(l *http1.Limits) { l.Body = 100 })
	long := strings.Repeat("p", 70)
	for name, tc := range map[string]struct{ raw, want string }{
		"get":           {"GET /a:b/c%2Fd?q=1&r HTTP/1.1\r\nHost: h\r\nX-Test:  v \r\n\r\n", "GET|/a:b/c%2Fd|q=1&r|v|"},
		"bare newlines": {"\r\n\nGET /a HTTP/1.1\nX-Test: v\n\n", "GET|/a||v|"},
		"put":           {"PUT /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nxyz", "PUT|/a|||xyz"},
		"chunked":       {"PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX-Test: v\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nT: 1\r\n\r\n", "PUT|/a||v|abc0123456789"},
		"absolute":      {"GET http://h:1/a?b HTTP/1.1\r\n\r\n", "GET|/a|b||"},
		"absolute root": {"GET http://h HTTP/1.1\r\n\r\n", "GET|/|||"},
		"expect":        {"PUT /a HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"},
		"pipelined":     {"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n", "GET|/2|||"},
		"http 1.0":      {"GET /a HTTP/1.0\r\n\r\n", "Connection: close"},
		"close":         {"GET /a HTTP/1.1\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\n\r\n", "Connection: close"},
		"empty body":    {"PUT /a HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "PUT|/a|||"},
		"long path":     {"GET /" + strings.Repeat(long, 300) + " HTTP/1.1\r\n\r\n", "GET|/" + long},

		"no http":         {"hello\r\n\r\n", "400 Bad Request"},
		"lower case":      {"get / HTTP/1.1\r\n\r\n", "400 Bad Request"},
		"http 2":          {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 HTTP Version"},
		"no slash":        {"GET a HTTP/1.1\r\n\r\n", "400 Bad Request"},
		"control":         {"GET /\x01 HTTP/1.1\r\n\r\n", "400 Bad Request"},
		"bad header":      {"GET / HTTP/1.1\r\nnothing\r\n\r\n", "400 Bad Request"},
		"folded header":   {"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "400 Bad Request"},
		"two lengths":     {"PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "400 Bad Request"},
		"negative length": {"PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400 Bad Request"},
		"both":            {"PUT / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 Bad Request"},
		"gzip coding":     {"PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "501 Not Implemented"},
		"expectation":     {"PUT / HTTP/1.1\r\nExpect: miracles\r\n\r\n", "417 Expectation"},
		"large body":      {"PUT / HTTP/1.1\r\nContent-Length: 101\r\n\r\n" + strings.Repeat("x", 101), "413 Request Entity Too Large"},
		"large chunks":    {"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" + strings.Repeat("x", 100) + "\r\n1\r\nx\r\n0\r\n\r\n", "413 Request Entity Too Large"},
		"huge chunk":      {"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3fffffffffffffff\r\n", "413 Request Entity Too Large"},
		"bad chunk":       {"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "400 Bad Request"},
		"chunk overrun":   {"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n", "400 Bad Request"},
		"large head":      {"GET / HTTP/1.1\r\nA: " + strings.Repeat("a", http1.MaxHead) + "\r\n\r\n", "431 Request Header Fields Too Large"},
		"truncated body":  {"PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := exchange(t, addr, tc.raw)
			if !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("got %q, want %q in it", got, tc.want)
			}
			if n := strings.Count(got, "HTTP/1.1 200"); name == "close" && n != 1 || name == "pipelined" && n != 2 {
				t.Errorf("%d answers in %q", n, got)
			}
		})
	}
}

func TestNetHTTPClientKeepsItsConnection(t *testing.T) {
	addr, srv, _ := start(t, echo, nil)
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr}
	for i := range 20 {
		body := strings.Repeat("b", i*5000)
		req, _ := http.NewRequest(http.MethodPut, "http://"+addr+"/x", strings.NewReader(body))
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != "PUT|/x|||"+body || resp.Header.Get("X-Served") != "yes" {
			t.Fatalf("request %d: %d bytes came back", i, len(got))
		}
	}
	// The last write may not be counted yet when its answer is read.
	if in, out, conns := srv.Traffic(); conns != 1 || in < 950_000 || out < 850_000 {
		t.Errorf("traffic %d in, %d out over %d connections", in, out, conns)
	}
}

func TestMisbehaviour(t *testing.T) {
	a := http1.Answer{Status: 200, ContentType: "text/plain", Body: []byte("0123456789")}
	for name, tc := range map[string]struct {
		h    http1.HandlerFunc
		want string // part of the error
		body string
	}{
		"reset":  {func(_ context.Context, x *http1.Exchange) { x.Reset() }, "reset by peer", ""},
		"part":   {func(_ context.Context, x *http1.Exchange) { _ = x.AnswerPart(a, 4) }, "unexpected EOF", "0123"},
		"none":   {func(context.Context, *http1.Exchange) {}, "EOF", ""},
		"panic":  {func(context.Context, *http1.Exchange) { panic("a test's panic") }, "EOF", ""},
		"slowly": {func(_ context.Context, x *http1.Exchange) { _ = x.AnswerSlowly(a, 4, func() error { return nil }) }, "", "0123456789"},
		"cut": {func(_ context.Context, x *http1.Exchange) {
			n := 0
			_ = x.AnswerSlowly(a, 5, func() error {
				if n++; n > 2 {
					return errors.New("enough")
				}
				return nil
			})
		}, "unexpected EOF", "0123"},
		"stream": {func(_ context.Context, x *http1.Exchange) {
			w, end, err := x.Stream(http1.Answer{Status: 200, ContentType: "text/plain"})
			if err == nil {
				_, err = io.WriteString(w, "one")
			}
			if err == nil {
				_, err = io.WriteString(w, "two")
			}
			if err == nil {
				_ = end()
			}
		}, "", "onetwo"},
	} {
		t.Run(name, func(t *testing.T) {
			addr, _, _ := start(t, tc.h, nil)
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			resp, err := (&http.Client{Transport: tr}).Post("http://"+addr+"/", "text/plain", strings.NewReader("x"))
			var body []byte
			if err == nil {
				body, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if string(body) != tc.body || (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q, %v", body, err)
			}
		})
	}
}

func TestHangEndsWithTheClient(t *testing.T) {
	hung := make(chan struct{})
	addr, _, _ := start(t, func(ctx context.Context, x *http1.Exchange) {
		x.Hang(ctx)
		close(hung)
	}, nil)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
	c.Close()
	<-hung
}

func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	addr, _, stop := start(t, func(_ context.Context, x *http1.Exchange) {
		close(entered)
		<-release
		_ = x.Answer(http1.Answer{Status: 200, ContentType: "text/plain", Body: []byte("late")})
	}, nil)
	idle, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	busy, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, _ = io.WriteString(busy, "GET / HTTP/1.1\r\n\r\n")
	<-entered
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	if _, err := idle.Read(make([]byte, 1)); err == nil {
		t.Error("the idle connection got bytes")
	}
	close(release)
	b, _ := io.ReadAll(busy)
	if !bytes.Contains(b, []byte("late")) || !bytes.Contains(b, []byte("Connection: close")) {
		t.Errorf("the request under way got %q", b)
	}
	<-stopped
}

func TestStopCutsAfterTheGrace(t *testing.T) {
	entered := make(chan struct{})
	addr, _, stop := start(t, func(ctx context.Context, x *http1.Exchange) {
		close(entered)
		<-ctx.Done()
	}, func(l *http1.Limits) { l.Grace = 50 * time.Millisecond })
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
	<-entered
	begin := time.Now()
	stop()
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("stopping took %s", d)
	}
}

func TestStopDoesNotWaitForHungRequests(t *testing.T) {
	entered := make(chan struct{})
	addr, _, stop := start(t, func(ctx context.Context, x *http1.Exchange) {
		close(entered)
		x.Hang(ctx)
	}, func(l *http1.Limits) { l.Grace = time.Minute })
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
	<-entered
	begin := time.Now()
	stop()
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("stopping took %s", d)
	}
}

func TestSlowSenderIsCutOff(t *testing.T) {
	addr, _, _ := start(t, echo, func(l *http1.Limits) { l.ReadTimeout = 50 * time.Millisecond })
	for _, raw := range []string{"GET / HT", "PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\nx"} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, raw)
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%q: the connection was not closed: %v", raw, err)
		}
		c.Close()
	}
}

// memConn is a connection whose client has sent everything at once.
type memConn struct {
	net.Conn
	in  *bytes.Reader
	out bytes.Buffer
}

func (c *memConn) Read(p []byte) (int, error)       { return c.in.Read(p) }
func (c *memConn) Write(p []byte) (int, error)      { return c.out.Write(p) }
func (c *memConn) Close() error                     { return nil }
func (c *memConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memConn) SetWriteDeadline(time.Time) error { return nil }

type memListener struct {
	c    chan net.Conn
	done chan struct{}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.c:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *memListener) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}
func (l *memListener) Addr() net.Addr { return &net.TCPAddr{} }

// FuzzServer compares with net/http: what both read must be read the same.
func FuzzServer(f *testing.F) {
	f.Add([]byte("PUT /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyzGET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("GET / HTTP/1.0\nA:b\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		type seen struct{ method, path, body string }
		var got []seen
		srv := http1.New(http1.HandlerFunc(func(ctx context.Context, x *http1.Exchange) {
			got = append(got, seen{x.Method, x.Path, string(x.Body)})
			echo(ctx, x)
		}), http1.DefaultLimits(), slog.New(slog.NewTextHandler(panicWriter{t}, nil)))
		l := &memListener{make(chan net.Conn), make(chan struct{})}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- srv.Run(ctx, l) }()
		c := &memConn{in: bytes.NewReader(raw)}
		l.c <- c
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		ref, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
		if err != nil || len(got) == 0 {
			return
		}
		body, err := io.ReadAll(ref.Body)
		if err != nil {
			return
		}
		if got[0].method != ref.Method || got[0].body != string(body) {
			t.Fatalf("read %q as %+v, net/http as %s with body %q", raw, got[0], ref.Method, body)
		}
	})
}

// panicWriter fails the test when the server logs, which it does for a panic.
type panicWriter struct{ t *testing.T }

func (w panicWriter) Write(p []byte) (int, error) {
	w.t.Errorf("logged: %s", p)
	return len(p), nil
}
