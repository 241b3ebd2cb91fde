package watcher

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// serving runs one of the two servers on loopback and returns its address.
func serving(t *testing.T, h http.Handler) string {
	t.Helper()
	s, err := bind(nil, "127.0.0.1", 0, nil, h)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.listener.Addr().String()
}

// churn has clients connect, send, and leave with a reset, each again at once, until the test ends
// or stop is called, which returns how many did.
func churn(t *testing.T, address, send string) (stop func() int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	var count atomic.Int64
	for range 6 {
		clients.Go(func() {
			for ctx.Err() == nil {
				c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
				if err != nil {
					continue
				}
				count.Add(1)
				_ = c.(*net.TCPConn).SetLinger(0)
				_, _ = io.WriteString(c, send)
				_ = c.Close()
			}
		})
	}
	stop = func() int64 { cancel(); clients.Wait(); return count.Load() }
	t.Cleanup(func() { stop() })
	return stop
}

// get is an honest client's request.
func get(t *testing.T, url string, patience time.Duration) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.Status + "\n" + string(body), err
}

func connectTo(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// heap is what is live.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func manySeries() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	series := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "k8swatch_flood_total", Help: "Something."}, []string{"kind", "code"})
	reg.MustRegister(series)
	for i := range 5000 {
		series.WithLabelValues(fmt.Sprintf("a-kind-with-a-name-%04d", i), "200").Inc()
	}
	return reg
}

// TestProbeAmongResets: connections that end at once, as many as come, keep no probe from being
// answered.
func TestProbeAmongResets(t *testing.T) {
	address := serving(t, healthHandler(func() error { return nil }, func() []error { return nil }, false))
	stop := churn(t, address, "")
	time.Sleep(3 * time.Second) // the kernel's queue is as full as it gets
	slowest, failed := time.Duration(0), 0
	for range 20 {
		began := time.Now()
		if _, err := get(t, "http://"+address+"/healthz", 3*time.Second); err != nil {
			t.Log(err)
			failed++
		}
		slowest = max(slowest, time.Since(began))
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%d connections, slowest probe: %s", stop(), slowest)
	if failed > 0 {
		t.Errorf("%d of 20 probes failed", failed)
	}
}

// TestMetricsFlood: who asks for metrics many times and reads nothing costs bytes, not what was
// gathered for each request, and keeps no other from being answered.
func TestMetricsFlood(t *testing.T) {
	address := serving(t, metricsHandler(manySeries()))
	before := heap()
	for range 40 {
		c := connectTo(t, address)
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		if _, err := c.Write([]byte(strings.Repeat("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", 20))); err != nil {
			t.Fatal(err)
		}
	}
	const most = 30 << 20 // an answer each, and its buffer's room
	peak := before
	for began := time.Now(); time.Since(began) < 3*time.Second; time.Sleep(200 * time.Millisecond) {
		peak = max(peak, heap())
	}
	t.Logf("heap: %d MiB, then %d", before>>20, peak>>20)
	if peak > before+most {
		t.Errorf("the heap grew from %d to %d MiB, want by %d at most", before>>20, peak>>20, most>>20)
	}
	if text, err := get(t, "http://"+address+"/metrics", 5*time.Second); err != nil || !strings.Contains(text, "name-4999") {
		t.Errorf("a client that reads: %v, %.200s", err, text)
	}
}

// TestProbeAmongIdlers: connections that are only held keep no probe from being answered.
func TestProbeAmongIdlers(t *testing.T) {
	address := serving(t, healthHandler(func() error { return nil }, func() []error { return nil }, false))
	held := make([]net.Conn, 2*serverConnections)
	for i := range held {
		held[i] = connectTo(t, address)
	}
	c := connectTo(t, address)
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	open := 0
	for _, c := range held {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); err != nil && strings.Contains(err.Error(), "timeout") {
			open++
		}
	}
	if resp.StatusCode != http.StatusOK || open >= serverConnections {
		t.Errorf("%s, and %d connections of idlers are still open; want 200, and fewer than %d", resp.Status, open, serverConnections)
	}
}
