package storage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// How long an endpoint is left out before it is probed: doubled at each failure.
const (
	minDown = 250 * time.Millisecond
	maxDown = 15 * time.Second
)

// tolerated is how many answers in a row may be none of a bcs-storage at work. One may be
// an object's own fault.
const tolerated = 2

// trusted is how long after its last answer a connection is used without a look
// whether the peer has closed it, which costs a system call.
const trusted = 200 * time.Millisecond

// endpoint is one storage server with its idle connections.
type endpoint struct {
	client   *Client
	name     string // as configured
	url      *url.URL
	addr     string
	prefix   string // the path before every other, without a slash at its end
	hostLine []byte // "Host: …\r\n"
	up       prometheus.Gauge

	// mu guards what follows.
	mu        sync.Mutex
	idle      []*conn // most recently used last
	downUntil time.Time
	downFor   time.Duration
	why       error     // nil while it is not down
	probing   bool      // a probe is under way
	bad       int       // answers in a row that do not count
	answered  time.Time // when the last one came that does
	closed    bool
}

// line is the request line for this endpoint.
func (e *endpoint) line(r *request) []byte {
	if e.prefix == "" {
		return r.line
	}
	at := len(r.method) + len(" ")
	return slices.Concat(r.line[:at], []byte(e.prefix), r.line[at:])
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

// usable reports whether requests may be sent there while others are up. What is down waits
// for a probe, or where nobody probes for its time.
func (e *endpoint) usable(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.why == nil || !e.client.running.Load() && !now.Before(e.downUntil)
}

// judge learns from an exchange that began at start: err is nil if an answer came.
func (e *endpoint) judge(start time.Time, a answer, err error) {
	switch {
	case err == nil && a.works():
		e.markUp()
	case err == nil:
		e.fault(fmt.Errorf("HTTP %d: %s", a.status, excerpt(a.body)))
	case errors.Is(err, os.ErrDeadlineExceeded):
		e.mu.Lock()
		silent := !e.answered.After(start)
		e.mu.Unlock()
		if silent { // else it is that request that storage does not answer
			e.markDown(time.Now(), fmt.Errorf("no answer within %s", time.Since(start).Round(time.Millisecond)))
		}
	default:
		e.fault(err)
	}
}

// fault notes an answer that does not count; too many in a row mark the endpoint down.
func (e *endpoint) fault(err error) {
	e.mu.Lock()
	e.bad++
	down := e.bad > tolerated || e.why != nil
	e.mu.Unlock()
	if down {
		e.markDown(time.Now(), err)
	}
}

func (e *endpoint) markDown(now time.Time, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Before(e.downUntil) {
		return // another request of the same outage
	}
	if e.why == nil {
		e.client.set.Logger.Warn("storage endpoint is down", "endpoint", e.name, "error", err)
	}
	e.why = err
	e.downFor = min(max(2*e.downFor, minDown), maxDown)
	e.downUntil = now.Add(e.downFor)
	e.up.Set(0)
	e.client.look()
}

// down is why the endpoint is down, nil if it is not.
func (e *endpoint) down() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.why
}

func (e *endpoint) markUp() {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why != nil {
		e.client.set.Logger.Info("storage endpoint is up again", "endpoint", e.name)
	}
	e.downFor, e.downUntil, e.why = 0, time.Time{}, nil
	e.bad, e.answered = 0, now
	e.up.Set(1)
}

// due reports when the next probe is, zero if none is wanted. At that time it begins: the
// caller must make it.
func (e *endpoint) due(now time.Time) (at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.why == nil || e.probing {
		return time.Time{}
	}
	e.probing = !now.Before(e.downUntil)
	return e.downUntil
}

// probe asks a down endpoint for one record, so that no write has to find out.
func (e *endpoint) probe(ctx context.Context) {
	cn, err := e.get(ctx)
	if err == nil {
		_, err = e.client.exchange(ctx, e, cn, probeRequest(e.client.cfg.ClusterID))
	}
	if err != nil && ctx.Err() == nil && e.down() != nil {
		e.markDown(time.Now(), err)
	}
	e.mu.Lock()
	e.probing = false
	e.mu.Unlock()
	e.client.look()
}
