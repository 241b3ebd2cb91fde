package storage

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// How long an unreachable endpoint is left out: doubled at each failure.
const (
	minDown = 250 * time.Millisecond
	maxDown = 15 * time.Second
)

// trusted is how long after its last answer a connection is used without a look
// whether the peer has closed it, which costs a system call.
const trusted = 200 * time.Millisecond

// endpoint is one storage server with its idle connections.
type endpoint struct {
	client   *Client
	name     string // as configured
	url      *url.URL
	addr     string
	hostLine []byte // "Host: …\r\n"
	up       prometheus.Gauge

	// mu guards what follows.
	mu        sync.Mutex
	idle      []*conn // most recently used last
	downUntil time.Time
	downFor   time.Duration
	closed    bool
}

// get returns an idle connection that is still open, or dials.
func (e *endpoint) get(ctx context.Context) (*conn, error) {
	for {
		e.mu.Lock()
		n := len(e.idle)
		if n == 0 {
			e.mu.Unlock()
			return e.dial(ctx)
		}
		c := e.idle[n-1]
		e.idle[n-1] = nil
		e.idle = e.idle[:n-1]
		e.mu.Unlock()
		// A server that keeps connections at all keeps them longer than trusted.
		if time.Since(c.idleAt) < trusted || !c.stale() {
			return c, nil
		}
		c.close()
	}
}

func (e *endpoint) put(c *conn) {
	c.idleAt = time.Now()
	e.mu.Lock()
	if e.closed || len(e.idle) >= e.client.cfg.MaxIdle {
		e.mu.Unlock()
		c.close()
		return
	}
	e.idle = append(e.idle, c)
	e.mu.Unlock()
}

// reap closes connections idle for too long; all of them when final.
func (e *endpoint) reap(now time.Time, final bool) {
	e.mu.Lock()
	e.closed = e.closed || final
	keep := 0
	for keep < len(e.idle) && (final || now.Sub(e.idle[keep].idleAt) > e.client.cfg.IdleTimeout) {
		keep++
	}
	old := append([]*conn(nil), e.idle[:keep]...)
	n := copy(e.idle, e.idle[keep:])
	clear(e.idle[n:])
	e.idle = e.idle[:n]
	e.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

func (e *endpoint) usable(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !now.Before(e.downUntil)
}

func (e *endpoint) markDown(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Before(e.downUntil) {
		return // another request of the same outage
	}
	e.downFor = min(max(2*e.downFor, minDown), maxDown)
	e.downUntil = now.Add(e.downFor)
	e.up.Set(0)
}

// isDown reports whether the last try to reach the endpoint failed.
func (e *endpoint) isDown() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.downFor > 0
}

func (e *endpoint) markUp() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.downFor, e.downUntil = 0, time.Time{}
	e.up.Set(1)
}
