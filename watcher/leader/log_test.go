package leader

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// everySecond fails every second request, once it is sick.
type everySecond struct {
	next http.RoundTripper
	sick atomic.Bool
	n    atomic.Int64
}

func (*everySecond) CloseIdleConnections() {}

func (e *everySecond) RoundTrip(r *http.Request) (*http.Response, error) {
	if e.sick.Load() && e.n.Add(1)%2 == 0 {
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Status: "503 Service Unavailable", Body: http.NoBody}, nil
	}
	return e.next.RoundTrip(r)
}

// TestLogOfAFlappingApiserver: an apiserver that answers every second request costs a pair
// of lines a minute at most, for the leader and for who waits.
func TestLogOfAFlappingApiserver(t *testing.T) {
	for name, leads := range map[string]bool{"leader": true, "standby": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				var log bytes.Buffer
				api := &everySecond{next: s}
				e := elector("a", api)
				e.log = slog.New(slog.NewTextHandler(&log, nil))
				ctx, cancel := context.WithCancel(t.Context())
				done, other := make(chan error, 1), make(chan error, 1)
				until := func(ctx context.Context) error { <-ctx.Done(); return nil }
				octx, stop := context.WithCancel(t.Context())
				if leads {
					other <- nil
				} else {
					go func() { other <- elector("b", s).Run(octx, until) }()
					time.Sleep(time.Second)
				}
				go func() { done <- e.Run(ctx, until) }()
				time.Sleep(time.Second)
				api.sick.Store(true)
				time.Sleep(10 * time.Minute)
				if e.Leading() != leads {
					t.Errorf("leading: %t", e.Leading())
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				stop()
				if err := <-other; err != nil {
					t.Error(err)
				}
				n := strings.Count(log.String(), "\n")
				if n < 5 || n > 22 {
					t.Errorf("%d lines in ten minutes:\n%s", n, log.String())
				}
			})
		})
	}
}
