package access

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/watchbench/watchbench/internal/pipetest"
)

// serve runs a server until the test ends.
func serve(t *testing.T, c Config, s ServerSettings) *Server {
	t.Helper()
	server := must(NewServer(t.Context(), c, s))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return server
}

var ok = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
		return
	}
	_, _ = io.WriteString(w, "ok")
})

// TestCodes: what is refused before the handler, and as what.
func TestCodes(t *testing.T) {
	fake := newFake()
	r, _ := fake.reviewer(t, guarded())
	away := newFake()
	away.status = 500
	unavailable, _ := away.reviewer(t, guarded())
	busy, _ := fake.reviewer(t, guarded())
	busy.tokens.waiting.Store(maxWaiting)
	for range maxReviews {
		busy.tokens.turns <- struct{}{}
	}
	good := map[string]string{"Authorization": "Bearer good"}
	with := func(name, value string) map[string]string {
		return map[string]string{"Authorization": "Bearer good", name: value}
	}
	for _, tc := range []struct {
		name   string
		guard  Guard
		host   string
		header map[string]string
		body   int // bytes; < 0: of a length that is not told
		code   int
	}{
		{"good token", r, "any.example", good, 0, 200},
		{"no token", r, "127.0.0.1", nil, 0, 401},
		{"bad token", r, "127.0.0.1", map[string]string{"Authorization": "Bearer bad"}, 0, 401},
		{"no apiserver", unavailable, "127.0.0.1", good, 0, 503},
		{"flood", busy, "127.0.0.1", good, 0, 429},
		{"small body", r, "127.0.0.1", good, maxBody, 200},
		{"large body", r, "127.0.0.1", good, maxBody + 1, 413},
		{"large body in chunks", r, "127.0.0.1", good, -maxBody - 1, 413},
		{"large body without a token", r, "127.0.0.1", nil, 10 << 20, 413},
		{"another user", r, "127.0.0.1", with("Impersonate-User", "admin"), 0, 403},
		{"another group", r, "127.0.0.1", with("impersonate-group", "system:masters"), 0, 403},
		{"a page", r, "127.0.0.1", with("Origin", "https://evil.example"), 0, 403},
		{"a page without a name", r, "127.0.0.1", with("Origin", ""), 0, 403},
		{"another site", r, "127.0.0.1", with("Sec-Fetch-Site", "cross-site"), 0, 403},
		{"another port", r, "127.0.0.1", with("Sec-Fetch-Site", "same-site"), 0, 403},
		{"the address bar", r, "127.0.0.1", with("Sec-Fetch-Site", "none"), 0, 200},
		{"open", Open(), "127.0.0.1:8080", nil, 0, 200},
		{"open, localhost", Open(), "LocalHost:1", nil, 0, 200},
		{"open, IPv6", Open(), "[::1]:1", nil, 0, 200},
		{"open, a page", Open(), "127.0.0.1", map[string]string{"Origin": "http://127.0.0.1"}, 0, 403},
		{"open, rebinding", Open(), "evil.example", nil, 0, 403},
		{"open, rebinding and the same port", Open(), "evil.example:10253", map[string]string{"Sec-Fetch-Site": "same-origin"}, 0, 403},
		{"open, another address", Open(), "10.0.0.1", nil, 0, 403},
		{"open, no host", Open(), "", nil, 0, 403},
	} {
		_, unguarded := tc.guard.(open)
		body := io.Reader(http.NoBody)
		if tc.body != 0 {
			body = bytes.NewReader(make([]byte, max(tc.body, -tc.body)))
		}
		req := httptest.NewRequest(http.MethodPost, "/x", body)
		req.Host = tc.host
		if tc.body < 0 {
			req.ContentLength = -1
		}
		for k, v := range tc.header {
			req.Header.Set(k, v)
		}
		reached := false
		rec := httptest.NewRecorder()
		front{guard: tc.guard, hosts: unguarded, next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached = true
			ok(w, r)
		})}.ServeHTTP(rec, req)
		if rec.Code != tc.code {
			t.Errorf("%s: %d, want %d: %s", tc.name, rec.Code, tc.code, rec.Body)
		}
		if reached != (rec.Code == 200 || tc.body < 0) {
			t.Errorf("%s: the handler was reached: %t", tc.name, reached)
		}
		if rec.Code == 200 || reached {
			continue
		}
		var s metav1.Status
		if err := json.Unmarshal(rec.Body.Bytes(), &s); err != nil || s.Kind != "Status" || int(s.Code) != tc.code || s.Reason == "" || s.Message == "" {
			t.Errorf("%s: %v: %s", tc.name, err, rec.Body)
		}
		if h := rec.Header(); (h.Get("Connection") == "close") != (tc.code != 403) || (h.Get("Retry-After") != "") != (tc.code == 429 || tc.code == 503) {
			t.Errorf("%s: %v", tc.name, h)
		}
	}
}

// TestHandlerKnowsTheUser: the guard answers the handler without another question.
func TestHandlerKnowsTheUser(t *testing.T) {
	fake := newFake()
	r, _ := fake.reviewer(t, guarded())
	req := request("good")
	front{guard: r, next: http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		req.Header.Del("Authorization")
		if u, err := r.Authenticate(req); err != nil || u.Name != "ann" {
			t.Error(u, err)
		}
	})}.ServeHTTP(httptest.NewRecorder(), req)
	if n := len(fake.take()); n != 1 {
		t.Errorf("%d reviews", n)
	}
}

func TestNewServerRefuses(t *testing.T) {
	r, _ := newFake().reviewer(t, guarded())
	exposed := Default()
	exposed.Address = "0.0.0.0"
	half := guarded()
	half.CertFile, half.KeyFile, half.Address = "/nowhere", "/nowhere", "0.0.0.0"
	for _, tc := range []struct {
		name  string
		c     Config
		guard Guard
		want  string
	}{
		{"beyond loopback", exposed, Open(), "address:"},
		{"a guard that asks nobody", guarded(), Open(), "authentication:"},
		{"a guard that asks", Default(), r, "authentication:"},
		{"no certificate", half, r, "certFile, keyFile:"},
	} {
		bound := false
		s := ServerSettings{Handler: ok, Guard: tc.guard, Listen: func(string) (net.Listener, error) { bound = true; return pipetest.Listen(), nil }}
		if _, err := NewServer(t.Context(), tc.c, s); err == nil || !strings.Contains(err.Error(), tc.want) || bound {
			t.Errorf("%s: %v; bound: %t", tc.name, err, bound)
		}
	}
	p := pipetest.Listen()
	s := serve(t, Default(), ServerSettings{Handler: ok, Guard: Open(), Listen: func(address string) (net.Listener, error) {
		if address != "127.0.0.1:10253" {
			t.Errorf("bound %s", address)
		}
		return p, nil
	}})
	_ = p.Connect().Close() // Run has begun
	if err := s.Run(t.Context()); err == nil {
		t.Error("Run may be called twice")
	}
}

// get asks once over a connection.
func get(c net.Conn, more string) (*http.Response, error) {
	if _, err := io.WriteString(c, "GET /x HTTP/1.1\r\nHost: localhost\r\n"+more+"\r\n"); err != nil {
		return nil, err
	}
	return http.ReadResponse(bufio.NewReader(c), nil)
}

// ended is how long it takes from now until the server closes the connection.
func ended(c net.Conn) time.Duration {
	began := time.Now()
	_, _ = io.Copy(io.Discard, c)
	return time.Since(began)
}

// TestSlowClients: whoever sends or takes too slowly is cut off.
func TestSlowClients(t *testing.T) {
	for _, tc := range []struct {
		name   string
		client func(net.Conn) time.Duration
		want   time.Duration
	}{
		{"sends nothing", ended, headerTimeout},
		{"sends its header byte by byte", func(c net.Conn) time.Duration {
			began := time.Now()
			go func() { _, _ = io.Copy(io.Discard, c) }()
			for {
				if _, err := io.WriteString(c, "G"); err != nil {
					return time.Since(began)
				}
				time.Sleep(time.Second / 10)
			}
		}, headerTimeout},
		{"asks no more", func(c net.Conn) time.Duration {
			resp, err := get(c, "")
			if err != nil || resp.StatusCode != 200 {
				t.Error(resp, err)
				return 0
			}
			return ended(c)
		}, idleTimeout},
		{"does not send its body", func(c net.Conn) time.Duration {
			_, _ = io.WriteString(c, "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
			return ended(c)
		}, readTimeout},
		{"sends its body byte by byte", func(c net.Conn) time.Duration {
			began := time.Now()
			_, _ = io.WriteString(c, "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n")
			go func() { _, _ = io.Copy(io.Discard, c) }()
			for {
				if _, err := io.WriteString(c, "x"); err != nil {
					return time.Since(began)
				}
				time.Sleep(time.Second / 10)
			}
		}, readTimeout},
		{"takes nothing", func(c net.Conn) time.Duration {
			_, _ = io.WriteString(c, "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
			began := time.Now()
			time.Sleep(writePatience - time.Second)
			if _, err := io.CopyN(io.Discard, c, 100); err != nil { // something: but less than a piece in all its time
				t.Error("cut off too early:", err)
			}
			time.Sleep(2 * time.Second)
			_, _ = io.Copy(io.Discard, c)
			return time.Since(began)
		}, writePatience + time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := pipetest.Listen()
			var handler sync.WaitGroup
			serve(t, Default(), ServerSettings{Guard: Open(), Listen: func(string) (net.Listener, error) { return p, nil }, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				handler.Add(1)
				defer handler.Done()
				for r.URL.Path == "/endless" {
					_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Hour)) // another patience than the server's
					if _, err := w.Write(make([]byte, 1<<20)); err != nil {
						return
					}
				}
				ok(w, r)
			})})
			c := p.Connect()
			defer c.Close()
			if got := tc.client(c); got < tc.want || got > tc.want+time.Second {
				t.Errorf("%s: cut off after %s, want %s", tc.name, got, tc.want)
			}
			handler.Wait()
		})
	}
}

// TestWatchLasts: what bounds a body does not end an answer that lasts, and an end of the client is noticed.
func TestWatchLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pipetest.Listen()
		gone := make(chan time.Time, 1)
		serve(t, Default(), ServerSettings{Guard: Open(), Listen: func(string) (net.Listener, error) { return p, nil }, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for {
				select {
				case <-r.Context().Done():
					gone <- time.Now()
					return
				case <-time.After(time.Minute):
					_, _ = io.WriteString(w, "x")
					_ = http.NewResponseController(w).Flush()
				}
			}
		})})
		c := p.Connect()
		_, _ = io.WriteString(c, "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx")
		resp := must(http.ReadResponse(bufio.NewReader(c), nil))
		if n, err := io.ReadFull(resp.Body, make([]byte, 60)); err != nil {
			t.Errorf("ended after %d minutes: %v", n, err)
		}
		at := time.Now()
		_ = c.Close()
		if since := (<-gone).Sub(at); since > time.Second {
			t.Errorf("noticed after %s", since)
		}
	})
}

// TestConnectionsAreBounded: of many clients that send nothing only so many are
// accepted; the others come in as those are cut off.
func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, clients = 20, 10_000
		p := pipetest.Listen()
		c := Default()
		c.MaxConnections = most
		serve(t, c, ServerSettings{Guard: Open(), Handler: ok, Listen: func(string) (net.Listener, error) { return p, nil }})
		accepted := make(chan net.Conn, clients) // all of them
		for range clients {
			go func() {
				if c, err := p.Dial(context.Background(), "", ""); err == nil {
					accepted <- c
				}
			}()
		}
		synctest.Wait()
		if n := len(accepted); n != most {
			t.Errorf("%d accepted, want %d", n, most)
		}
		time.Sleep(headerTimeout)
		synctest.Wait()
		if n := len(accepted); n != 2*most {
			t.Errorf("%d accepted after the first were cut off, want %d", n, 2*most)
		}
		for len(accepted) > 0 {
			_ = (<-accepted).Close()
		}
	})
}

// TestUnauthenticatedKeepNoConnection: a 401 ends it, another answer does not.
func TestUnauthenticatedKeepNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFake().reviewer(t, guarded())
		p := pipetest.Listen()
		serve(t, guarded(), ServerSettings{Guard: r, Handler: ok, Listen: func(string) (net.Listener, error) { return p, nil }})
		for header, want := range map[string]time.Duration{"": 0, "Authorization: Bearer good\r\n": idleTimeout} {
			c := p.Connect()
			resp := must(get(c, header))
			if got := ended(c); got < want || got > want+time.Second {
				t.Errorf("%d: ended after %s, want %s", resp.StatusCode, got, want)
			}
			_ = c.Close()
		}
	})
}

func TestHeaderIsBounded(t *testing.T) {
	s := serve(t, anyPort(), ServerSettings{Guard: Open(), Handler: ok})
	for size, want := range map[int]int{8 << 10: 200, 64 << 10: 431} {
		c := must(net.Dial("tcp", s.Addr().String()))
		resp, err := get(c, "X: "+strings.Repeat("x", size)+"\r\n")
		if err != nil || resp.StatusCode != want {
			t.Errorf("%d bytes: %v %v, want %d", size, resp, err, want)
		}
		_ = c.Close()
	}
}

func anyPort() Config {
	c := Default()
	c.Port = 0
	return c
}

// TestComplaints: a panic of the handler is an error in the log; what clients do wrong is
// seen only by who looks for it.
func TestComplaints(t *testing.T) {
	log := &logged{}
	c := complaints{log.logger()}
	for line, level := range map[string]string{
		"http: panic serving 127.0.0.1:1: oh\n":             "level=ERROR",
		"http: TLS handshake error from 127.0.0.1:1: EOF\n": "level=DEBUG",
	} {
		if n, err := io.WriteString(c, line); n != len(line) || err != nil {
			t.Error(n, err)
		}
		if s := log.String(); !strings.Contains(s, level) {
			t.Errorf("%q: %s", line, s)
		}
	}
}
