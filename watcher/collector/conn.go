package collector

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

const (
	// connBuffer is the size of one read from the kernel: two TLS records.
	connBuffer = 32 << 10
	// DefaultReadPace is Config.ReadPace where nothing is said. At 300 events a second
	// 20 ms instead of 5 take 97 µs of CPU per request instead of 164, and add 7 ms to
	// the median freshness (measured on two cores, storage at 20 ms).
	DefaultReadPace = 20 * time.Millisecond
	// lone is how long after a connection was idle it is read without a pause: what
	// came may have more pieces, such as further TLS records of one change.
	lone = time.Millisecond
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// metered makes connections that count their bytes on the wire, TLS and headers included, and read in large pieces.
func metered(dial dialFunc, pace time.Duration, in, out *atomic.Int64) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c, in: in, out: out, pace: pace}, nil
	}
}

// conn has one reader at a time, as a net/http connection does.
type conn struct {
	net.Conn
	in, out *atomic.Int64
	pace    time.Duration // Config.ReadPace

	buf     []byte    // connBuffer, from the first read on
	r, w    int       // buf[r:w] is read and not taken
	last    time.Time // of the last read
	woke    time.Time // when a read last had to wait for what it read
	drained bool      // it left nothing behind
	mark    time.Time // since when batch counts
	batch   int       // bytes read since then
	rate    float64   // bytes per second, smoothed
}

func (c *conn) Read(p []byte) (int, error) {
	if c.r == c.w {
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.buf[c.r:c.w])
	c.r += n
	return n, nil
}

func (c *conn) fill() error {
	if c.buf == nil {
		c.buf = make([]byte, connBuffer)
	}
	if c.drained {
		c.pause()
	}
	began := time.Now()
	n, err := c.Conn.Read(c.buf)
	c.r, c.w = 0, n
	c.batch += n
	c.drained, c.last = n < len(c.buf), time.Now()
	if c.last.Sub(began) > lone {
		c.woke = c.last
	}
	c.in.Add(int64(n))
	if n > 0 {
		return nil // an error comes again
	}
	return err
}

// pause waits until, at the rate so far, the buffer would be full, but no longer than the
// pace, and not within what came alone.
func (c *conn) pause() {
	now := time.Now()
	if now.Sub(c.woke) < lone {
		return
	}
	if took := now.Sub(c.mark).Seconds(); took > 0 {
		c.rate = (c.rate + float64(c.batch)/took) / 2
	}
	c.mark, c.batch = now, 0
	pace := c.pace
	if full := float64(len(c.buf)) / c.rate; full < pace.Seconds() {
		pace = time.Duration(full * float64(time.Second))
	}
	time.Sleep(pace - now.Sub(c.last)) // nothing if that is past
}

func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.out.Add(int64(n))
	return n, err
}
