package storagemock

import (
	"context"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/storagemock/behavior"
	"github.com/watchbench/watchbench/storagemock/ledger"
	"github.com/watchbench/watchbench/storagemock/store"
)

var _ http.Handler = (*instance)(nil)

// ServeHTTP reads and serves one request.
func (in *instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !in.serving.TryRLock() {
		panic(http.ErrAbortHandler) // the server has stopped
	}
	defer in.serving.RUnlock()
	x, refusal := readExchange(w, r)
	if refusal != nil {
		_ = x.answer(*refusal)
		return
	}
	in.serve(in.hard, x)
	x.finish()
}

// serve takes one request from arrival to answer.
func (in *instance) serve(ctx context.Context, x *exchange) {
	s := in.srv
	c, r, ok := newCall(x, in.number)
	if !ok {
		_ = x.answer(r)
		s.metrics.count(c.method, "", "unrouted", time.Since(c.received))
		return
	}
	in.pending.Add(1)
	var f *behavior.FaultSpec
	stall := func() time.Duration { // a request that is turned away meets no fault
		f = s.faults.Pick(behavior.Request{Method: c.method, Kind: c.key.Kind, Namespace: c.key.Namespace,
			Name: c.key.Name, Instance: c.instance}, c.received)
		if f == nil || f.Effect != behavior.Stall {
			return 0
		}
		return f.Delay
	}
	// From the request's last byte on, so that waiting for a CPU does not add to it.
	takes, err := in.stations.Serve(c.method, c.key.Kind, c.key.Name, c.received.Sub(s.began), stall)
	if err != nil {
		in.pending.Add(-1)
		in.turnAway(&c, err)
		return
	}
	if f != nil {
		c.fault = f.Name
		s.metrics.fired(f.Name)
	}
	if takes > 0 {
		err = x.pause(ctx, time.Until(c.received.Add(takes)))
	}
	in.pending.Add(-1)
	switch {
	case err != nil: // stopping, it cannot wait: the request is lost
	case f != nil:
		in.misbehave(&c, f)
	default:
		s.answer(&c, s.apply(&c, time.Now()))
	}
}

// turnAway refuses a request that found the queue full.
func (in *instance) turnAway(c *call, err error) {
	r := failure(503, c.failCode(), err.Error(), false)
	c.fault = "capacity"
	in.srv.reject(c, &r)
	in.srv.answer(c, r, "Retry-After", "1")
}

// reject records a write that is answered with r but not applied.
func (s *Server) reject(c *call, r *reply) {
	if c.write() {
		ch := store.Change{Key: c.key, UID: c.put.Meta.UID, ResourceVersion: c.put.Meta.ResourceVersion,
			Effect: ledger.EffectRejected}
		s.record(c, r, ch, time.Time{})
	}
}

// answer sends r and completes its ledger entries. They are completed first, so that a client that has the answer also
// finds it in the ledger and the metrics, and reverted if sending fails.
func (s *Server) answer(c *call, r reply, header ...string) {
	now := time.Now()
	s.answered(r, now.UnixNano(), r.status)
	s.metrics.count(c.method, c.key.Kind, r.outcome(c), now.Sub(c.received))
	if c.answer(r, header...) != nil || !c.gone.IsZero() {
		s.answered(r, 0, 0)
	}
}

// answered records in the ledger whether and when r was handed to the socket.
func (s *Server) answered(r reply, at int64, status int) {
	for seq := r.first; seq != 0 && seq <= r.last; seq++ {
		s.ledger.Answered(seq, at, status, int(r.code))
	}
}

// outcome returns the effect label for the request's metric.
func (r reply) outcome(c *call) string {
	switch {
	case c.write():
		return r.effect
	case r.code != 0:
		return "error"
	}
	return "read"
}
