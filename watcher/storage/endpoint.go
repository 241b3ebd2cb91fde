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

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// How long an endpoint is left out before it is probed: doubled at each failure.
const (
	minDown = 250 * time.Millisecond
	maxDown = 15 * time.Second
)

// doubt is how long a failed write weighs more than answered reads. A sender with something to
// write tries again every few seconds; after a minute without a try there is nothing to
// write, and the endpoint must not count as down for ever.
const doubt = time.Minute

// tolerated is how many answers in a row may be none of a bcs-storage at work. One may be
// an object's own fault.
const tolerated = 2

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
	since     time.Time // it is down
	probing   bool      // a probe is under way
	record    [2]record // of reads and of writes
	byWrite   bool      // a write found it down: an answered read only lets one write try
	trial     trial
	doubted   bool      // in this outage, a write failed that an answered read had let try
	failedAt  time.Time // the last write did
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

// record is how the requests of one sort fared.
type record struct {
	bad      int       // answers in a row that do not count
	answered time.Time // when the last one came that does
}

const reads, writes = 0, 1

// trial is the state of an endpoint that answers reads and did not take writes.
type trial uint8

const (
	noTrial trial = iota
	open          // one write may try
	trying        // and does
)

// get returns an idle connection, or dials.
func (e *endpoint) get(ctx context.Context) (*conn, error) {
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
	return c, nil
}

// ask makes one request on a connection that is silent. connected is false if there is none.
func (e *endpoint) ask(ctx context.Context, r *request) (a answer, connected bool, err error) {
	for {
		c, err := e.get(ctx)
		if err != nil {
			return a, false, err
		}
		again := c.used
		if a, err = e.client.exchange(ctx, e, c, r); !again || !errors.Is(err, errStray) {
			return a, true, err
		}
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
	return e.why == nil || e.trial == open || !e.client.running.Load() && !now.Before(e.downUntil)
}

// begin notes that a write leaves, which may be the one that tries.
func (e *endpoint) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.trial == open {
		e.trial = trying
	}
}

// undecided notes that a request ended before the endpoint had its time.
func (e *endpoint) undecided() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.trial == trying {
		e.trial = open
	}
}

// judge learns from an exchange of a sort, reads or writes, that began at start: err is
// nil if an answer came.
func (e *endpoint) judge(sort int, start time.Time, a answer, err error) {
	switch {
	case err == nil && a.works():
		e.markUp(sort)
	case err == nil:
		e.fault(sort, fmt.Errorf("HTTP %d: %s", a.status, excerpt(a.body)))
	case errors.Is(err, os.ErrDeadlineExceeded):
		e.mu.Lock()
		// Else it is that request that storage does not answer. An answered read says
		// nothing of writes.
		silent := !e.record[writes].answered.After(start) && (sort == writes || !e.record[reads].answered.After(start))
		e.mu.Unlock()
		if silent {
			e.markDown(sort, time.Now(), fmt.Errorf("no answer within %s", time.Since(start).Round(time.Millisecond)))
		}
	default:
		e.fault(sort, err)
	}
}

// fault notes an answer that does not count; too many in a row mark the endpoint down.
func (e *endpoint) fault(sort int, err error) {
	e.mu.Lock()
	e.record[sort].bad++
	down := e.record[sort].bad > tolerated || e.why != nil
	e.mu.Unlock()
	if down {
		e.markDown(sort, time.Now(), err)
	}
}

func (e *endpoint) markDown(sort int, now time.Time, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if sort == writes {
		e.failedAt = now
	}
	if now.Before(e.downUntil) {
		return // another request of the same outage
	}
	if e.why == nil || e.trial != noTrial && !e.doubted { // it was up
		e.since = now
	}
	e.why = err
	e.byWrite = e.byWrite || sort == writes
	e.doubted = e.doubted || e.trial != noTrial
	e.trial = noTrial
	e.downFor = min(max(2*e.downFor, minDown), maxDown)
	e.downUntil = now.Add(e.downFor)
	e.up.Set(0)
	lifecycle.Signal(e.client.looks)
}

// down is since when the endpoint is down and why, nil if it is not. One that answers reads
// again counts as up, unless a write has proved the contrary: then only an
// answered write says so or, where none has been tried for as long as doubt, another read.
func (e *endpoint) down() (since time.Time, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.trial != noTrial && !e.doubted {
		return time.Time{}, nil
	}
	return e.since, e.why
}

func (e *endpoint) markUp(sort int) {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.record[sort] = record{answered: now}
	if sort == reads && e.byWrite {
		if e.trial == noTrial && !now.Before(e.downUntil) {
			e.trial = open
			if !e.doubted {
				e.up.Set(1)
			} else {
				lifecycle.Signal(e.client.looks) // at when the doubt ends
			}
		}
		return
	}
	e.downFor, e.downUntil, e.why = 0, time.Time{}, nil
	e.byWrite, e.trial, e.doubted = false, noTrial, false
	e.up.Set(1)
}

// due reports when the next probe is, zero if none is wanted. At that time it begins: the
// caller must make it.
func (e *endpoint) due(now time.Time) (at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.doubted && e.trial == open {
		if at = e.failedAt.Add(doubt); now.Before(at) {
			return at
		}
		e.doubted, e.trial, e.downUntil = false, noTrial, now
	}
	if e.why == nil || e.probing || e.trial != noTrial {
		return time.Time{}
	}
	e.probing = !now.Before(e.downUntil)
	return e.downUntil
}

// probe asks a down endpoint for one record, so that no write has to find out.
func (e *endpoint) probe(ctx context.Context) {
	_, _, err := e.ask(ctx, probeRequest(e.client.cfg.ClusterID))
	e.mu.Lock()
	still := e.why != nil && e.trial == noTrial
	e.mu.Unlock()
	if err != nil && ctx.Err() == nil && still {
		e.markDown(reads, time.Now(), err)
	}
	e.mu.Lock()
	e.probing = false
	e.mu.Unlock()
	lifecycle.Signal(e.client.looks)
}
