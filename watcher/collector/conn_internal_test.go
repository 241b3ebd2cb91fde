package collector

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

func value(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// TestConnCountsAndPaces: bytes are counted; one that comes alone is read at once,
// the next within the pace waits for it.
func TestConnCountsAndPaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		in, out := prometheus.NewCounter(prometheus.CounterOpts{Name: "in"}), prometheus.NewCounter(prometheus.CounterOpts{Name: "out"})
		dial := meter(func(context.Context, string, string) (net.Conn, error) { return near, nil }, in, out)
		c, err := dial(t.Context(), "tcp", "x")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for range 3 {
				_, _ = far.Write([]byte("0123456789"))
			}
			time.Sleep(time.Minute)
			_, _ = far.Write(bytes.Repeat([]byte("x"), 3*connBuffer))
			_ = far.Close()
		}()
		began := time.Now()
		p := make([]byte, 6)
		for _, want := range []struct {
			text string
			at   time.Duration
		}{{"012345", 0}, {"6789", 0}, {"012345", readPace}, {"6789", readPace}, {"012345", 2 * readPace}} {
			n, err := c.Read(p)
			if err != nil || string(p[:n]) != want.text || time.Since(began) != want.at {
				t.Errorf("read %q after %s, %v; want %q after %s", p[:n], time.Since(began), err, want.text, want.at)
			}
		}
		rest, err := io.ReadAll(c)
		if err != nil || len(rest) != 4+3*connBuffer {
			t.Errorf("read %d bytes, %v", len(rest), err)
		}
		if took := time.Since(began); took > time.Minute+3*readPace {
			t.Errorf("full reads were paced: %s", took)
		}
		if got := value(t, in); got != float64(30+3*connBuffer) {
			t.Errorf("in = %v", got)
		}
		go func() { _, _ = io.Copy(io.Discard, far) }()
		_, _ = c.Write([]byte("abc"))
		_ = c.Close()
	})
}

// window is a connection whose peer may be bufferSize bytes ahead, as with TCP.
type window struct {
	net.Conn
	mu   sync.Mutex
	cond *sync.Cond
	have int
	done bool
}

const bufferSize = 256 << 10

func (w *window) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.have == 0 {
		if w.done {
			return 0, io.EOF
		}
		w.cond.Wait()
	}
	n := min(len(p), w.have)
	w.have -= n
	w.cond.Broadcast()
	return n, nil
}

func (w *window) send(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n > 0 {
		for w.have == bufferSize {
			w.cond.Wait()
		}
		k := min(n, bufferSize-w.have)
		w.have += k
		n -= k
		w.cond.Broadcast()
	}
}

// TestPaceDoesNotSlowABulkTransfer: 100 MB at 200 MB/s, which a full pace between
// reads would hold to 50 MB/s.
func TestPaceDoesNotSlowABulkTransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &window{}
		w.cond = sync.NewCond(&w.mu)
		count := prometheus.NewCounter(prometheus.CounterOpts{Name: "c"})
		c := &conn{Conn: w, in: count, out: count}
		const total, piece = 100 << 20, 16 << 10
		go func() {
			for range total / piece {
				time.Sleep(piece * time.Second / (200 << 20))
				w.send(piece)
			}
			w.mu.Lock()
			w.done = true
			w.cond.Broadcast()
			w.mu.Unlock()
		}()
		began := time.Now()
		n, err := io.Copy(io.Discard, c)
		if err != nil || n != total {
			t.Errorf("read %d bytes, %v", n, err)
		}
		if took := time.Since(began); took > 600*time.Millisecond {
			t.Errorf("the transfer took %s, want about 500ms", took)
		}
	})
}
