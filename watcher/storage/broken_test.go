package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

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
func putScripted(t *testing.T, size, takes int, then string) (conclusion string, got []byte) {
	t.Helper()
	near, far := net.Pipe()
	peer := &scripted{Conn: near, far: far, takes: takes, then: then}
	defer func() { _ = errors.Join(near.Close(), far.Close()) }()
	cfg := Default()
	cfg.ClusterID, cfg.Endpoints, cfg.Timeout = "BCS-K8S-90001", []string{"http://storage:50024"}, time.Second
	c, err := New(cfg, Settings{Dial: func(context.Context, string, string) (net.Conn, error) { return peer, nil }})
	if err != nil {
		t.Fatal(err)
	}
	o := *pod
	o.Raw = []byte(`"` + strings.Repeat("y", size) + `"`)
	err = c.Put(t.Context(), &o)
	for _, ep := range *c.endpoints.Load() {
		ep.reap(time.Now(), true)
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

// TestConclusionFromABrokenConnection compares what the client concludes with what the peer
// got. Taking a whole request for unsent loses the fence (G10) and must never happen; taking an
// unsent one for unknown costs a fence for nothing.
func TestConclusionFromABrokenConnection(t *testing.T) {
	for _, size := range []int{3 << 10, 64 << 10} {
		conclusion, request := putScripted(t, size, all, "answer")
		if conclusion != "answered" || !whole(request) {
			t.Fatalf("%s with the whole request: %t", conclusion, whole(request))
		}
		for _, tc := range []struct {
			name  string
			takes int
			then  string
			want  string
		}{
			{"reset before the first byte", 0, "", "unsent"},
			{"reset within the head", 60, "", "unsent"},
			{"reset within the body", len(request) / 2, "", "unsent"},
			{"reset before the last byte", len(request) - 1, "", "unsent"},
			{"reset after the last byte", all, "reset", "unknown"},
			{"no answer", all, "silence", "unknown"},
		} {
			t.Run(fmt.Sprintf("%s, %d KiB", tc.name, size>>10), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					conclusion, got := putScripted(t, size, tc.takes, tc.then)
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
	if got := conclude(client(t, 0, "http://127.0.0.1:1").Put(t.Context(), pod)); got != "unsent" {
		t.Errorf("nobody listens: %s", got)
	}
}

// BenchmarkPut sends PUTs of 3 KiB over kept connections.
func BenchmarkPut(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go leanServer(l)
	o := *pod
	o.Raw = []byte(`{"apiVersion":"v1","kind":"Pod","x":"` + strings.Repeat("y", 3<<10) + `"}`)
	c := client(b, 0, "http://"+l.Addr().String())
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := c.Put(b.Context(), &o); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
