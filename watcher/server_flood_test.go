package watcher

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/watcher/config"
)

// serving runs one of the two servers on loopback and returns its address.
func serving(t *testing.T, h http.Handler) string {
	t.Helper()
	w := &Watcher{cfg: config.Config{Address: "127.0.0.1"}}
	s, err := w.serve(0, nil, h)
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

// TestMetricsFlood: who asks for metrics many times and reads nothing costs bytes, not what was
// gathered for each request.
func TestMetricsFlood(t *testing.T) {
	reg := prometheus.NewRegistry()
	series := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "k8swatch_flood_total", Help: "Something."}, []string{"kind", "code"})
	reg.MustRegister(series)
	for i := range 5000 {
		series.WithLabelValues(fmt.Sprintf("a-kind-with-a-name-%04d", i), "200").Inc()
	}
	address := serving(t, metricsHandler(reg))
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
