package query_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestScansYield: beside hundreds of lists that look at each of 10,000 Pods, what comes by the
// network is not kept waiting, on one processor.
func TestScansYield(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := start(t)
	fill(s, 10_000, 30)
	near, far := loopback(t)
	go func() { _, _ = io.Copy(far, far) }()
	ctx, cancel := context.WithCancel(t.Context())
	var scans sync.WaitGroup
	for range 400 {
		scans.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/pods?labelSelector=app%3Dnone", nil)
				if err != nil {
					t.Error(err)
					return
				}
				s.h.ServeHTTP(&nowhere{header: http.Header{}}, r)
			}
		})
	}
	var took []time.Duration
	for began := time.Now(); time.Since(began) < 3*time.Second; time.Sleep(10 * time.Millisecond) {
		sent := time.Now()
		if _, err := near.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := near.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(sent))
	}
	cancel()
	scans.Wait()
	slices.Sort(took)
	const most = 250 * time.Millisecond
	if median := took[len(took)/2]; median > most {
		t.Errorf("a byte there and back took %s (%d times), want at most %s", median, len(took), most)
	}
	t.Logf("%d times: median %s, p99 %s", len(took), took[len(took)/2], took[len(took)*99/100])
}

// loopback is a connection and its other end.
func loopback(t *testing.T) (near, far net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close() })
	if far, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	return near, far
}

// sluggish is a client that takes so long for each write.
type sluggish struct {
	nowhere
	takes time.Duration
	until time.Time
}

func (c *sluggish) SetWriteDeadline(t time.Time) error { c.until = t; return nil }

func (c *sluggish) Flush() {}

func (c *sluggish) Write(p []byte) (int, error) {
	if at := time.Now().Add(c.takes); !c.until.IsZero() && at.After(c.until) {
		time.Sleep(time.Until(c.until))
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(c.takes)
	return c.nowhere.Write(p)
}

// TestAnswerRate: a list has to be taken at a rate; a client that takes a little now and then
// does not keep it in memory for an hour. Watches last as long as they like.
func TestAnswerRate(t *testing.T) {
	s := start(t)
	fill(s, 4000, 30)
	for _, tc := range []struct {
		name, path string
		takes      time.Duration // for 64 KiB
		least      time.Duration
		most       time.Duration
		whole      bool
	}{
		{"a slow client", "/api/v1/pods", 5 * time.Second, 10 * time.Second, time.Minute, false},
		{"one that is fast enough", "/api/v1/pods", 50 * time.Millisecond, 5 * time.Second, time.Minute, true},
		{"a watch", "/api/v1/pods?watch=true&resourceVersion=100&timeoutSeconds=3600", 5 * time.Second, time.Hour, time.Hour + time.Minute, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := must(http.NewRequestWithContext(ctx, http.MethodGet, tc.path, nil))
			w := &sluggish{nowhere: nowhere{header: http.Header{}}, takes: tc.takes}
			began := time.Now()
			whole := true
			func() {
				defer func() {
					p := recover()
					if whole = p == nil; !whole && p != http.ErrAbortHandler { //nolint:errorlint // the value itself
						panic(p)
					}
				}()
				s.h.ServeHTTP(w, r)
			}()
			if took := time.Since(began); took < tc.least || took > tc.most || whole != tc.whole {
				t.Errorf("%s: over after %s with %d bytes, whole: %v; want %s to %s, %v", tc.name, took, w.bytes, whole, tc.least, tc.most, tc.whole)
			}
		})
	}
}
