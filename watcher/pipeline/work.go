package pipeline

import (
	"context"
	"log/slog"
	"time"
)

// keepIdle is how many workers of a queue wait when there is nothing to take. Further
// ones end and are started again: that costs less than a microsecond, and thirty workers
// of each kind that had a burst once would hold some megabytes.
const keepIdle = 2

// work is one worker of one queue: take, send, settle, until the pipeline stops or there
// is nothing to take and enough others wait for that to change. Nobody waits for a
// retired kind.
func (l *lane) work(q *partition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.stopped || q.started > q.workers { // the end, or one too many since a Resize
			q.started--
			return
		}
		s, probe := l.take(q, l.p.now())
		if s == nil && (l.retired || q.idle >= keepIdle) {
			q.started--
			return
		}
		if s == nil {
			q.idle++
			q.wake.Wait()
			q.idle--
			continue
		}
		verify := l.p.verifier != nil && s.ent.trouble.covers(&s.ev)
		l.mu.Unlock()
		err := l.p.deliver(&s.ev, verify)
		now := l.p.now()
		l.mu.Lock()
		if r := l.finish(s, probe, err, now); r != nil {
			l.mu.Unlock()
			l.p.act(r)
			l.mu.Lock()
		}
	}
}

// covers reports that the event is the one whose outcome is unknown, so that it may
// be found in storage already.
func (t *trouble) covers(e *Event) bool {
	return t != nil && t.asked != nil && t.asked.Action == e.Action &&
		t.asked.UID == e.UID && t.asked.ResourceVersion == e.ResourceVersion
}

// deliver sends one event, unless storage is found to have it.
func (p *Pipeline) deliver(e *Event, verify bool) error {
	if verify {
		if ok, err := p.verifier.Verify(p.sending, *e); ok && err == nil {
			return nil
		}
	}
	return p.sender.Send(p.sending, *e)
}

// keepTime is the lane's only clock: it brings back keys whose backoff or fence has
// ended, discards what waited too long, and offers the probes of a shut gate. It
// starts when the first of these is needed, and ends when none is.
func (l *lane) keepTime() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.mu.Lock()
		if l.stopped {
			l.mu.Unlock()
			return
		}
		now := l.p.now()
		if l.alarmAt != 0 && l.alarmAt <= now {
			l.tick(now)
		}
		r := l.reportDiscards(now)
		if r == nil {
			r = l.reportShed(now)
		}
		next := l.alarmAt
		if l.discarded > l.discardsLogged && (next == 0 || l.nextDiscardLog < next) {
			next = l.nextDiscardLog
		}
		if l.shedUnlogged() && (next == 0 || l.nextShedLog < next) {
			next = l.nextShedLog
		}
		if next == 0 && r == nil {
			l.keeping = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()

		if r != nil {
			l.p.act(r)
		}
		timer.Reset(time.Duration(next - now))
		select {
		case <-timer.C:
		case <-l.poke:
		}
	}
}

// discardsEvery is the pause between two log lines about discards.
const discardsEvery = 10 * time.Second

// reportDiscards reports the events that a full queue dropped since the last report.
func (l *lane) reportDiscards(now int64) *report {
	if l.discarded == l.discardsLogged || now < l.nextDiscardLog {
		return nil
	}
	n := l.discarded - l.discardsLogged
	l.discardsLogged, l.nextDiscardLog = l.discarded, after(now, discardsEvery)
	return newReport(slog.LevelWarn, "events dropped", "reason", "queue full", "kind", l.kind, "events", n, "queueFullTimeout", l.p.config.QueueFullTimeout)
}

// tick does what is due and sets the next alarm.
func (l *lane) tick(now int64) {
	l.alarmAt = 0
	for len(l.blocked) > 0 && l.blocked[0].at <= now {
		ent := l.blocked.pop()
		ent.state = resting
		l.resume(ent, now)
	}
	if len(l.blocked) > 0 {
		l.alarm(l.blocked[0].at)
	}
	if l.p.config.QueueFull == Drop {
		for _, q := range l.parts {
			l.discardOverdue(q, now)
			if q.over.head != nil {
				l.alarm(after(q.over.head.entered, l.p.config.QueueFullTimeout))
			}
		}
	}
	if l.bound != nil && l.staleAt != 0 {
		if l.staleAt <= now {
			l.shed(now)
		}
		if l.held() == 0 {
			l.staleAt = 0
		} else if l.staleAt != 0 {
			l.alarm(l.staleAt)
		}
	}
	if l.gate.shut && !l.gate.probing {
		l.offerProbe(now)
	}
}

// offerProbe lets one worker look, of a different queue each time, so that a key that
// always fails cannot be the probe forever.
func (l *lane) offerProbe(now int64) {
	for range l.parts {
		l.turn = (l.turn + 1) % len(l.parts)
		q := l.parts[l.turn]
		if !q.hasReady() || q.idle == 0 && q.started >= q.workers {
			continue // nothing to send, or nobody free: who finishes looks by itself
		}
		if l.gate.until > now {
			l.alarm(l.gate.until)
		} else {
			l.wakeWorker(q)
		}
		return
	}
}

// wait is Enqueue's slow path: the event, counted as queued already, found no place.
// The lane's mutex is held on entry and not on return.
func (l *lane) wait(ctx context.Context, e *Event) error {
	var timeout <-chan time.Time
	if l.p.config.QueueFull == Drop {
		timer := time.NewTimer(l.p.config.QueueFullTimeout)
		defer timer.Stop()
		timeout = timer.C
	}
	on := &waiter{lane: l, room: make(chan struct{}, 1)}
	l.waiting++
	defer l.p.writer.forget(on)
	for {
		if l.place(e, l.p.now(), on) {
			l.waiting--
			l.trim(l.p.now())
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		var err error
		select {
		case <-on.room:
			l.mu.Lock()
			continue
		case <-timeout:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-l.p.closing.Done():
			err = ErrClosed
		}
		l.mu.Lock()
		l.turnAway(err == nil)
		l.mu.Unlock()
		return err
	}
}

// turnAway drops an event that waited for room in vain; discard: since its time is over.
func (l *lane) turnAway(discard bool) {
	l.waiting--
	l.dropped++
	l.settle(1)
	if discard {
		l.discarded++
		l.p.writer.discard()
	}
}
