package pipeline

import (
	"errors"
	"log/slog"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/storage"
)

type outcome uint8

const (
	delivered outcome = iota
	transient         // not applied: try again
	throttled         // not applied: try again, not before the time storage named
	unknown           // perhaps applied, perhaps later: fence, then write the state again
	permanent         // refused for good
	early             // not sent: offer it again
)

// judge reads the policy off an error's type. An error without one says nothing about
// what storage did, so it is treated like a lost answer.
func judge(err error) (outcome, time.Duration) {
	if err == nil {
		return delivered, 0
	}
	if _, ok := errors.AsType[*storage.PermanentError](err); ok {
		return permanent, 0
	}
	if e, ok := errors.AsType[*EarlyError](err); ok {
		return early, e.After
	}
	if e, ok := errors.AsType[*storage.ThrottledError](err); ok {
		return throttled, e.RetryAfter
	}
	if _, ok := errors.AsType[*storage.TransientError](err); ok {
		return transient, 0
	}
	return unknown, 0
}

// statusOf is the HTTP status of a refusal, 0 where nothing was sent.
func statusOf(err error) int {
	e, ok := errors.AsType[*storage.PermanentError](err)
	if !ok {
		return 0
	}
	return e.Status
}

// trouble is the record of a key that failed, until it succeeds.
type trouble struct {
	tries  int
	until  int64  // no request before: backoff, throttle or fence
	round  uint64 // the gate's, at the last failure
	fenced bool   // an outcome is unknown
	before health // the kind's requests up to the first failure
}

// finish settles one request. The returned report, if not nil, is for logging after
// the mutex has been given back.
func (l *lane) finish(s *slot, probe bool, err error, now int64) (r *report) {
	ent := s.ent
	q := ent.part
	ent.inFlight--
	l.inFlight--
	l.share.end(l.inFlight)
	q.inFlight--
	if ent.busy == s {
		ent.busy = nil
	}
	if l.settled != nil {
		l.settled[ent.key] = struct{}{}
	}
	end := len(l.sends) - 1
	l.sends[s.sending] = l.sends[end]
	l.sends[s.sending].sending = s.sending
	l.sends[end] = nil
	l.sends = l.sends[:end]
	result, retryAfter := judge(err)
	if result == unknown {
		raise(&l.p.fenced, after(now, l.p.config.FenceDelay))
	}
	if err != nil && l.p.sending.Err() != nil { // cut off by the end of the drain, which counts it
		l.freeSlot(s)
		return nil
	}
	begins := false
	if result == permanent {
		var outage bool
		if outage, begins = l.p.refused.add(s.ev.Key, statusOf(err), s.again, now); outage {
			result, s.again = transient, true // refused after the outage too, it is poison
		}
	}
	if l.share != nil && result != early {
		l.share.learn(result, q.hasReady() || l.fed, now)
		l.gate.set(l.share.limit)
	}
	switch result {
	case delivered:
		l.succeed(s, now)
	case permanent:
		l.answer()
		ent.recordFailure(&l.health)
		r = l.giveUp(s, err, now)
	case early:
		l.postpone(s, probe, retryAfter, now)
	default:
		r = l.fail(s, probe, result, retryAfter, err, now)
	}
	l.resume(ent, now)
	if q.over.head != nil || l.waiting > 0 {
		l.refill(q, now)
	}
	if begins {
		r = newReport(slog.LevelWarn, "storage refuses different objects alike, taken for an outage", "error", err)
		r.release = true
	}
	return r
}

func (l *lane) succeed(s *slot, now int64) {
	l.p.refused.end()
	l.answer()
	ent := s.ent
	if ent.state != blocked { // unordered: an older event of the key may wait for its next try
		ent.trouble = nil
	}
	l.sent++
	l.freshness.Observe(now - s.since)
	l.freeSlot(s)
	l.settle(1)
}

// answer notes that storage is there, and lets everybody go on if it was not.
func (l *lane) answer() {
	l.health.answered++
	if l.gate.answered() {
		l.wakeWorkers()
	}
}

// fail handles every outcome after which the event, or a later one of its key, must be
// tried again.
func (l *lane) fail(s *slot, probe bool, result outcome, retryAfter time.Duration, err error, now int64) *report {
	c := &l.p.config
	t := s.ent.recordFailure(&l.health)
	l.health.failed++
	t.until = now + c.Backoff.delay(t.tries)
	switch result {
	case throttled:
		// The key comes back a little after the pause, so that it is not the one to
		// find out for all whether the pause was long enough.
		d := min(retryAfter, c.MaxThrottle)
		t.until = after(t.until, d)
		// A storage that throttles is to be left alone by all kinds; a key that is
		// throttled again and again while others are served is not.
		if d > 0 && (t.tries == 1 || l.health.answered == t.before.answered) {
			raise(&l.p.pause, after(now, d))
			l.gate.pause(after(now, d))
		}
	case unknown:
		t.fenced = true
		t.until = max(t.until, after(now, c.FenceDelay))
	}
	l.gate.failed(probe, t.tries > 1 && t.round == l.gate.round, now, c.Backoff)
	t.round = l.gate.round
	if l.gate.shut {
		// Let another key be the next probe: this one may be why the last failed.
		t.until = max(t.until, l.gate.until+c.Backoff.delay(1))
		l.awaitProbe()
	}
	l.gate.why = err
	if l.health.poisons(t, c.ParkAfter) {
		return l.giveUp(s, err, now)
	}
	l.putBack(s, now)
	return nil
}

// postpone puts an event back that was not sent.
func (l *lane) postpone(s *slot, probe bool, d time.Duration, now int64) {
	t := s.ent.troubled(&l.health)
	t.until = max(t.until, after(now, d))
	if probe { // another key may ask
		l.gate.probing = false
		l.awaitProbe()
	}
	l.putBack(s, now)
}

// giveUp parks an event until the next change of its key, or lets that go ahead if
// it is there already.
func (l *lane) giveUp(s *slot, err error, now int64) *report {
	ent := s.ent
	ent.trouble.tries = 0
	if !ent.trouble.fenced {
		ent.trouble = nil
	}
	if ent.head != nil {
		ent.head.replaces(s)
		l.freeSlot(s)
		l.settleCoalesced(1)
		return nil
	}
	if ent.parked != nil { // unordered only: two requests of one key were refused
		l.unpark(ent)
	}
	ent.parked, s.entered = s, now
	l.parked++
	l.settle(1)
	if now < l.quiet {
		return nil
	}
	l.quiet = after(now, time.Second)
	return newReport(slog.LevelWarn, "object parked until its next change", "kind", l.kind, "object", s.ev.Key.String(),
		"parked", l.parked, "error", err)
}

// unpark drops a parked event in favour of a later one.
func (l *lane) unpark(ent *entry) {
	l.freeSlot(ent.parked)
	ent.parked = nil
	l.parked--
	l.coalesced++
}

// putBack returns a failed event to the front of its key. What arrived behind it
// meanwhile is merged with it: replaying a history late is useless.
func (l *lane) putBack(s *slot, now int64) {
	ent := s.ent
	q := ent.part
	q.meter.Account(q.depth, now)
	if ent.head == nil {
		s.entered = now
		ent.push(s)
		q.depth++
		return
	}
	keep := ent.head
	if keep.since > s.since {
		keep.since = s.since
	}
	latest := ent.tail
	if s.seq > latest.seq {
		latest = s
	}
	latest.replaces(s)
	for waiting := keep; waiting != nil; waiting = waiting.next {
		latest.replaces(waiting)
	}
	keep.ev, keep.several = latest.ev, latest.several
	l.weigh(keep)
	merged := 1
	for rest := keep.next; rest != nil; merged++ {
		next := rest.next
		q.depth--
		q.meter.Left(now - rest.entered)
		l.freeSlot(rest)
		rest = next
	}
	l.freeSlot(s)
	keep.next, ent.tail = nil, keep
	l.settleCoalesced(merged)
}

func (l *lane) block(ent *entry) {
	ent.state = blocked
	l.blocked.push(keyItem{at: ent.trouble.until, item: ent})
	l.clock.alarm(ent.trouble.until)
	if l.spare() {
		lifecycle.Signal(l.room)
	}
}

func (l *lane) wakeWorkers() {
	for _, q := range l.parts {
		if q.hasReady() {
			l.wakeWorker(q)
		}
	}
}

func newReport(level slog.Level, message string, attrs ...any) *report {
	return &report{level: level, message: message, attrs: attrs}
}

// report is something worth a log line, made while the mutex is held and written
// afterwards.
type report struct {
	level   slog.Level
	message string
	attrs   []any
	release bool // what all kinds have just parked is to be taken back
}
