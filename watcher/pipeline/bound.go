package pipeline

// Bound limits what waits or is parked of a kind whose deletions are not sent: no
// deletion ever takes the place of what waits there, so that the number of live keys does not bound it.
type Bound struct {
	Count int
	Bytes int64 // of the objects
}

func (b *Bound) exceeded(count int, bytes int64) bool { return count > b.Count || bytes > b.Bytes }

// undeleted reports that deletions of a kind are not sent: those of Kubernetes' own Events.
func undeleted(kind string) bool { return kind == "Event" }

// trim sheds what is beyond the bound, after something was added: first what is parked, which
// nothing would ever release, then the oldest. What is in flight or held by a backoff or fence stays.
func (l *lane) trim(now int64) {
	if l.bound == nil || !l.bound.exceeded(l.held(), l.bytes) {
		return
	}
	before := l.shed
	if l.parked > 0 {
		for _, ent := range l.keys {
			t := ent.trouble
			fenced := t != nil && t.fenced && t.until > now
			if ent.parked != nil && !fenced {
				l.freeSlot(ent.parked)
				ent.parked = nil
				l.parked--
				l.dropped++
				l.shed++
				l.forget(ent)
			}
		}
	}
	for l.bound.exceeded(l.held(), l.bytes) && l.shedOldest(now) {
	}
	if l.shed > before {
		l.clock.alarm(now) // for the log
	}
}

// shedOldest drops the oldest event that waits for a worker, else one that waits for room; it
// reports whether there was any.
func (l *lane) shedOldest(now int64) bool {
	var from, full *partition
	for _, q := range l.parts {
		switch {
		case q.hasReady():
			if from == nil || q.oldest() < from.oldest() {
				from = q
			}
		case q.over.head != nil:
			full = q
		}
	}
	switch {
	case from != nil:
		ent := from.popReady()
		s := ent.pop()
		from.meter.Account(from.depth, now)
		from.depth--
		from.meter.Left(now - s.entered)
		l.drop(s)
		l.resume(ent, now)
		l.refill(from, now)
	case full != nil:
		l.drop(l.popOver(full, now, false))
	default:
		return false
	}
	l.shed++
	return true
}

// drop gives an event up that is in no list any more.
func (l *lane) drop(s *slot) {
	ent := s.ent
	l.dropped++
	l.freeSlot(s)
	l.settle(1)
	l.forget(ent)
}
