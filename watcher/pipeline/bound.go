package pipeline

import (
	"cmp"
	"log/slog"
	"slices"
	"time"
)

// Bound limits what waits or is parked of a kind whose deletions are not sent: no
// deletion ever takes the place of what waits there, so that live keys are no bound.
type Bound struct {
	Count int
	Bytes int64 // of the objects
	Age   time.Duration
}

// undeleted reports that deletions of a kind are not sent: those of Kubernetes' own Events.
func undeleted(kind string) bool { return kind == "Event" }

// Reasons for which an event is shed, the values of the label reason.
const (
	shedCount = iota
	shedBytes
	shedAge
	shedReasons
)

var shedNames = [shedReasons]string{"count", "bytes", "age"}

// slack is which part of a bound is made free at once, so that not every event that
// comes costs a look at all that wait.
const slack = 8

// weigh keeps the account of a slot's bytes.
func (l *lane) weigh(s *slot) {
	if l.bound == nil {
		return
	}
	n := 0
	if s.ev.Object != nil {
		n = s.ev.Object.Size()
	}
	l.bytes += int64(n - s.size)
	s.size = n
}

// held is how many events the bound is about.
func (l *lane) held() int { return l.queued - l.waiting - l.inFlight + l.parked }

// trim sheds what is beyond the bound, after something was added.
func (l *lane) trim(now int64) {
	if l.bound == nil {
		return
	}
	if l.staleAt == 0 {
		l.staleAt = after(now, l.bound.Age)
	}
	if l.held() > l.bound.Count || l.bytes > l.bound.Bytes || now >= l.staleAt {
		l.shed(now)
	}
}

// watchAge has the timekeeper look for what is too old, since it may wait for long.
func (l *lane) watchAge(now int64) {
	if l.bound == nil {
		return
	}
	if l.staleAt == 0 {
		l.staleAt = after(now, l.bound.Age)
	}
	l.alarm(l.staleAt)
}

// shed drops what is too old and, of the rest, the oldest until the bound is kept. What is
// in flight stays, and so does what waits for a fence, which must outlive it.
func (l *lane) shed(now int64) {
	var all []*slot
	for _, ent := range l.keys {
		for s := ent.head; s != nil; s = s.next {
			all = append(all, s)
		}
		if ent.parked != nil {
			all = append(all, ent.parked)
		}
	}
	for _, q := range l.parts {
		for s := q.over.head; s != nil; s = s.next {
			all = append(all, s)
		}
	}
	all = slices.DeleteFunc(all, func(s *slot) bool {
		t := s.ent.trouble
		return t != nil && t.asked != nil && t.until > now
	})
	slices.SortFunc(all, func(a, b *slot) int {
		return cmp.Or(a.ev.Received.Compare(b.ev.Received), cmp.Compare(a.seq, b.seq))
	})
	count, bytes := l.bound.Count, l.bound.Bytes
	if l.held() > count {
		count -= count / slack
	}
	if l.bytes > bytes {
		bytes -= bytes / slack
	}
	held, weight, n := l.held(), l.bytes, 0
	for _, s := range all {
		reason := shedAge
		switch {
		case l.age(s, now) >= l.bound.Age:
		case held > count:
			reason = shedCount
		case weight > bytes:
			reason = shedBytes
		default:
			reason = shedReasons
		}
		if reason == shedReasons {
			break
		}
		s.doomed = true
		l.shedBy[reason]++
		held--
		weight -= int64(s.size)
		n++
	}
	l.staleAt = 0
	if n < len(all) {
		l.staleAt = after(now, max(l.bound.Age-l.age(all[n], now), l.bound.Age/(2*slack)))
	}
	if n > 0 {
		l.removeDoomed(now)
		l.alarm(now) // for the log
	}
}

// age is that of the latest change in a slot: one that is merged is as young as its
// youngest.
func (l *lane) age(s *slot, now int64) time.Duration {
	if s.ev.Received.IsZero() {
		return time.Duration(now - s.since)
	}
	return time.Duration(now) - s.ev.Received.Sub(l.p.start)
}

// removeDoomed takes the slots that are marked so out of every list, and the keys that
// have nothing left.
func (l *lane) removeDoomed(now int64) {
	var ready []*entry
	settled := 0
	for _, q := range l.parts {
		q.meter.Account(q.depth, now)
		for e := q.first; e != nil; e = e.next {
			ready = append(ready, e)
		}
		for _, item := range q.late {
			ready = append(ready, item.ent)
		}
		q.first, q.last, q.late = nil, nil, nil
		over := q.over
		q.over = slots{}
		for s := over.head; s != nil; s = s.next {
			s.ent.over = nil
		}
		for s := over.head; s != nil; {
			next := s.next
			if s.doomed {
				l.p.writer.release(now, s.entered, false)
				l.freeSlot(s)
				settled++
			} else {
				q.over.push(s)
				s.ent.over = s
			}
			s = next
		}
	}
	blocked := l.blocked
	l.blocked = nil
	for _, ent := range l.keys {
		chain := ent.slots
		ent.slots = slots{}
		for s := chain.head; s != nil; {
			next := s.next
			if s.doomed {
				ent.part.depth--
				ent.part.meter.Left(now - s.entered)
				l.freeSlot(s)
				settled++
			} else {
				ent.push(s)
			}
			s = next
		}
		if ent.parked != nil && ent.parked.doomed {
			l.freeSlot(ent.parked)
			ent.parked = nil
			l.parked--
			l.dropped++
		}
	}
	ready = slices.DeleteFunc(ready, func(e *entry) bool { e.next, e.state = nil, resting; return e.head == nil })
	slices.SortFunc(ready, func(a, b *entry) int { return cmp.Compare(a.head.seq, b.head.seq) })
	for _, e := range ready {
		e.part.push(e)
	}
	for _, item := range blocked {
		if item.ent.state = resting; item.ent.head != nil {
			l.block(item.ent)
		}
	}
	for _, ent := range l.keys {
		l.forget(ent)
	}
	l.dropped += uint64(settled)
	l.settle(settled)
	for _, q := range l.parts {
		l.refill(q, now)
		if q.hasReady() {
			l.offer(q)
		}
	}
}

// reportShed reports the events that were shed since the last report.
func (l *lane) reportShed(now int64) *report {
	var total uint64
	for _, n := range l.shedBy {
		total += n
	}
	if total == l.shedLogged || now < l.nextShedLog {
		return nil
	}
	attrs := []any{"kind", l.kind, "events", total - l.shedLogged}
	for i, n := range l.shedBy {
		if n > 0 {
			attrs = append(attrs, "by_"+shedNames[i], n)
		}
	}
	l.shedLogged, l.nextShedLog = total, after(now, discardsEvery)
	return newReport(slog.LevelWarn, "events shed: more wait than are kept, or for too long", attrs...)
}

// shedUnlogged reports that there is something for reportShed, at the time it may be.
func (l *lane) shedUnlogged() bool {
	var total uint64
	for _, n := range l.shedBy {
		total += n
	}
	return total > l.shedLogged
}
