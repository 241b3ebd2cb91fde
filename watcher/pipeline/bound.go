package pipeline

import (
	"cmp"
	"slices"
	"time"
)

// Bound limits what waits or is parked of a kind whose deletions are not sent: no
// deletion ever takes the place of what waits there, so that the number of live keys does not bound it.
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

// bounded is the Bound of one kind, and what was shed to keep it. Its lane's mutex guards it.
type bounded struct {
	Bound
	staleAt int64 // when something that waits may be too old; 0: nothing is known to wait
	by      [shedReasons]uint64
	log     notice
}

// total is how many events were shed.
func (b *bounded) total() (n uint64) {
	for _, by := range b.by {
		n += by
	}
	return n
}

// await has ages looked at from when something added now may be too old.
func (b *bounded) await(now int64) {
	if b.staleAt == 0 {
		b.staleAt = after(now, b.Age)
	}
}

// doom marks what is too old and, of the rest, the oldest until the bound is kept. It reports
// whether there is any. Of all that may be shed, the oldest come first.
func (b *bounded) doom(all []*slot, held int, bytes int64, age func(*slot) time.Duration, now int64) bool {
	count, size := b.Count, b.Bytes
	if held > count {
		count -= count / slack
	}
	if bytes > size {
		size -= size / slack
	}
	n := 0
	for _, s := range all {
		var reason int
		switch {
		case age(s) >= b.Age:
			reason = shedAge
		case held > count:
			reason = shedCount
		case bytes > size:
			reason = shedBytes
		default:
			b.staleAt = after(now, max(b.Age-age(s), b.Age/(2*slack)))
			return n > 0
		}
		s.doomed = true
		b.by[reason]++
		held--
		bytes -= int64(s.size)
		n++
	}
	b.staleAt = 0
	return n > 0
}

// trim sheds what is beyond the bound, after something was added.
func (l *lane) trim(now int64) {
	b := l.bounded
	if b == nil {
		return
	}
	b.await(now)
	if l.held() > b.Count || l.bytes > b.Bytes || now >= b.staleAt {
		l.shed(now)
	}
}

// watchAge has the timekeeper look for what is too old, since it may wait for long.
func (l *lane) watchAge(now int64) {
	if l.bounded != nil {
		l.bounded.await(now)
		l.clock.alarm(l.bounded.staleAt)
	}
}

// shed drops what is beyond the bound. What is in flight stays, and so does what waits for a
// fence, which must outlive it.
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
	// A merged slot is as young as its youngest change.
	age := func(s *slot) time.Duration {
		if s.ev.Received.IsZero() {
			return time.Duration(now - s.since)
		}
		return time.Duration(now) - s.ev.Received.Sub(l.start)
	}
	if l.bounded.doom(all, l.held(), l.bytes, age, now) {
		l.removeDoomed(now)
		l.clock.alarm(now) // for the log
	}
}

// removeDoomed takes the slots that are marked so out of every list, and the keys that
// have nothing left.
func (l *lane) removeDoomed(now int64) {
	var ready []keyItem
	var over []*slot
	settled := 0
	for _, q := range l.parts {
		ready, over = q.empty(ready, over, now)
	}
	for _, s := range over {
		s.ent.over = nil
	}
	for _, s := range over {
		if s.doomed {
			l.p.writer.release(now, s.entered, false)
			l.freeSlot(s)
			settled++
		} else {
			s.ent.part.over.push(s)
			s.ent.over = s
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
	for i := range ready {
		if e := ready[i].item; e.head != nil {
			ready[i].at = e.head.seq
		} else {
			e.next, e.state = nil, resting
		}
	}
	pushAll(slices.DeleteFunc(ready, func(key keyItem) bool { return key.item.head == nil }))
	for _, key := range blocked {
		if key.item.state = resting; key.item.head != nil {
			l.block(key.item)
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
