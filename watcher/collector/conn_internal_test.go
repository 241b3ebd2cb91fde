package collector

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestConnCountsAndPaces: bytes are counted; one that comes alone is read at once,
// the next within the pace waits for it.
func TestConnCountsAndPaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		var in, out atomic.Int64
		dial := metered(func(context.Context, string, string) (net.Conn, error) { return near, nil }, DefaultReadPace, &in, &out)
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
		}{{"012345", 0}, {"6789", 0}, {"012345", DefaultReadPace}, {"6789", DefaultReadPace}, {"012345", 2 * DefaultReadPace}} {
			n, err := c.Read(p)
			if err != nil || string(p[:n]) != want.text || time.Since(began) != want.at {
				t.Errorf("read %q after %s, %v; want %q after %s", p[:n], time.Since(began), err, want.text, want.at)
			}
		}
		rest, err := io.ReadAll(c)
		if err != nil || len(rest) != 4+3*connBuffer {
			t.Errorf("read %d bytes, %v", len(rest), err)
		}
		if took := time.Since(began); took > time.Minute+3*DefaultReadPace {
			t.Errorf("full reads were paced: %s", took)
		}
		if got := in.Load(); got != 30+3*connBuffer {
			t.Errorf("in = %d", got)
		}
		_ = c.Close()
	})
}

// TestLoneChangeIsReadAtOnce: a change that comes alone on an idle watch, in one piece or in
// several, as the records of a TLS server are, is never delayed by the pace.
func TestLoneChangeIsReadAtOnce(t *testing.T) {
	for _, pieces := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			c := &conn{Conn: near, in: new(atomic.Int64), out: new(atomic.Int64), pace: DefaultReadPace}
			const changes, idle, record = 20, 50 * time.Millisecond, 1400
			var sender sync.WaitGroup
			defer sender.Wait()
			defer func() { _ = far.Close() }()
			sender.Go(func() {
				for range changes {
					time.Sleep(idle)
					for range pieces {
						_, _ = far.Write(make([]byte, record))
						time.Sleep(100 * time.Microsecond)
					}
				}
			})
			began := time.Now()
			for i := range changes {
				if _, err := io.ReadFull(c, make([]byte, pieces*record)); err != nil {
					t.Fatal(err)
				}
				sent := time.Duration(i+1)*idle + time.Duration(i*pieces)*100*time.Microsecond
				if took := time.Since(began) - sent; took >= 2*time.Millisecond {
					t.Errorf("change %d, in %d pieces, was read %s after it was sent", i, pieces, took)
				}
			}
		})
	}
}

// TestConnCountsWhatIsWritten, and nothing of what the peer did not take.
func TestConnCountsWhatIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		var in, out atomic.Int64
		c := &conn{Conn: near, in: &in, out: &out}
		go func() {
			_, _ = io.ReadFull(far, make([]byte, 5))
			_ = far.Close()
		}()
		if _, err := c.Write([]byte("abc")); err != nil {
			t.Error(err)
		}
		if n, err := c.Write([]byte("defg")); err == nil || n != 2 {
			t.Errorf("wrote %d bytes, %v; the peer took 2 of 4", n, err)
		}
		if in.Load() != 0 || out.Load() != 5 {
			t.Errorf("in %d, out %d; want 0 and 5", in.Load(), out.Load())
		}
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

// TestPaceDoesNotSlowABulkTransfer: 100 MB at 200 MB/s, which a full pace between reads would hold to 50 MB/s.
func TestPaceDoesNotSlowABulkTransfer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &window{}
		w.cond = sync.NewCond(&w.mu)
		var in, out atomic.Int64
		c := &conn{Conn: w, in: &in, out: &out, pace: DefaultReadPace}
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
