package storagemock

import (
	"context"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

// misbehave applies the fault to a request whose latency has passed.
func (in *instance) misbehave(c *call, f *behavior.FaultSpec) {
	s := in.srv
	switch f.Effect {
	case behavior.Status, behavior.HTML:
		s.failWith(c, f)
	case behavior.Interim:
		for range f.Pieces {
			c.w.WriteHeader(f.Interim)
		}
		if f.Status == 200 {
			s.answer(c, s.apply(c, time.Now()))
		} else {
			s.failWith(c, f)
		}
	case behavior.Late:
		s.answerBeforeApplying(in.soft, c, f)
	case behavior.Double:
		again := *c
		s.answer(c, s.apply(c, time.Now()))
		s.applyLate(&again, f.Delay, reply{})
	case behavior.Truncate:
		r := s.apply(c, time.Now())
		s.unanswered(c, r)
		c.head(r, nil)
		_ = c.send(r.body[:f.Cut(len(r.body))])
		s.cut(c, r)
	case behavior.Reset, behavior.BlackHole:
		r := s.applyIf(f.Apply, c, reply{})
		s.unanswered(c, r)
		switch f.Effect {
		case behavior.Reset:
			c.reset()
		case behavior.BlackHole:
			c.hang(in.soft)
		}
		s.cut(c, r)
	default: // a stall has passed
		s.answer(c, s.apply(c, time.Now()))
	}
}

// applyIf applies the call, or records that it was not applied. Either way it returns r with the ledger entries of the
// call, to be sent instead of the true answer.
func (s *Server) applyIf(apply bool, c *call, r reply) reply {
	if apply {
		truth := s.apply(c, time.Now())
		r.first, r.last, r.effect = truth.first, truth.last, truth.effect
		return r
	}
	s.reject(c, &r)
	return r
}

// unanswered completes a call that gets no answer, or only part of one.
func (s *Server) unanswered(c *call, r reply) {
	s.answered(r, 0, 0)
	s.metrics.count(c.method, c.key.Kind, r.outcome(c), time.Since(c.received))
}

// cut records in the ledger that the connection of a call without an answer ends now, or when it had before.
func (s *Server) cut(c *call, r reply) {
	if c.gone.IsZero() {
		c.gone = time.Now()
	}
	for seq := r.first; seq != 0 && seq <= r.last; seq++ {
		s.ledger.Gone(seq, c.gone.UnixNano())
	}
}

func (s *Server) failWith(c *call, f *behavior.FaultSpec) {
	var header []string
	r := failure(f.Status, c.failCode(), "an injected fault", c.endpoint == objectList)
	if f.Effect == behavior.HTML {
		r.body, r.typ = behavior.Page(f.Status), "text/html"
	}
	if f.RetryAfter > 0 {
		header = []string{"Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds()))}
	}
	s.answer(c, s.applyIf(f.Apply, c, r), header...)
}

// answerBeforeApplying sends an early answer, or none, and applies the call later. Without an answer it waits until the
// client gives up or stop ends.
func (s *Server) answerBeforeApplying(stop context.Context, c *call, f *behavior.FaultSpec) {
	s.metrics.count(c.method, c.key.Kind, "late", time.Since(c.received))
	var given reply // the early answer
	switch {
	case f.ResetFirst:
		c.reset()
		s.cut(c, given)
	case f.Status == 200:
		given = reply{status: 200, body: done}
	case f.Status != 0:
		given = failure(f.Status, c.failCode(), "an injected fault", false)
	default:
		c.hang(stop)
		s.cut(c, given)
	}
	if given.status != 0 && (c.answer(given) != nil || !c.gone.IsZero()) {
		given = reply{}
	}
	s.applyLate(c, f.Delay, given)
}

// applyLate applies the call after that delay, or when the server stops. given, if it has a status, is the answer that
// the client has already received.
func (s *Server) applyLate(c *call, after time.Duration, given reply) {
	sent := time.Now()
	run := func() {
		r := s.apply(c, time.Now())
		given.first, given.last = r.first, r.last
		if given.status != 0 {
			s.answered(given, sent.UnixNano(), given.status)
		}
	}
	if after == 0 {
		run()
		return
	}
	s.late.Go(func() {
		// An error means that the server is stopping: apply now or never.
		_ = lifecycle.Pause(s.lateCtx, time.Until(sent.Add(after)))
		run()
	})
}
