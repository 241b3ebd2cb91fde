package pipeline

import (
	"sync"

	"github.com/watchbench/watchbench/watcher/meter"
)

// lane is everything about one kind: its handler queues, its share of the Writer, its
// counters. Lanes share no lock, so kinds do not wait for one another.
type lane struct {
	p     *Pipeline
	kind  string
	shape shape

	mu      sync.Mutex // guards everything below
	parts   []*partition
	keys    map[name]*entry
	peak    int // most keys since keys was made
	seq     int64
	blocked heap // keys whose backoff or fence runs, by the time it ends
	gate    gate
	climb   *climber // nil unless the strategy adapts
	turn    int      // partition that is offered the next probe

	running bool // between the start of Run and the end of its drain
	closed  bool // refuses events
	stopped bool // workers end
	retired bool // the kind is not collected: goroutines end when they have nothing to do

	quiet          int64         // no log line about parked objects before
	nextDiscardLog int64         // no log line about discards before
	discardsLogged uint64        // discards reported in the log
	keeping        bool          // the timekeeper's goroutine runs
	alarmAt        int64         // when the timekeeper looks next; 0: when poked
	poke           chan struct{} // size 1: one token says "alarmAt changed"

	sends []*slot // in flight, in no order

	bound       *Bound // nil for a kind whose deletions are sent
	bytes       int64  // of the slots in use, if there is a bound
	staleAt     int64  // when something that waits may be too old; 0: nothing is known to wait
	shedBy      [shedReasons]uint64
	shedLogged  uint64 // reported in the log
	nextShedLog int64  // no log line about shed events before

	direct                                      uint64 // events that found room in their handler queue at once
	received, sent, coalesced, dropped, retried uint64
	discarded                                   uint64 // of the dropped ones, by a full queue
	parked, queued, inFlight                    int
	waiting                                     int    // Enqueue calls that wait for room
	answered, failed                            uint64 // requests, for the judgement of poison keys
	freshness                                   meter.Histogram

	room    chan struct{}     // size 1: one token says "spare may be true"
	fed     bool              // somebody hands over a backlog: there is more to send than waits
	traces  int               // that have not ended
	settled map[name]struct{} // while there are traces: keys that had a request since

	freeSlots   *slot
	freeEntries *entry
	free        int // slots and entries in the two lists together
}

// maxFree bounds the slots and entries kept for reuse per kind; about 250 bytes each.
const maxFree = 2048

func newLane(p *Pipeline, kind string) *lane {
	l := &lane{
		p: p, kind: kind, shape: shapeOf(p.config, kind),
		keys:      make(map[name]*entry),
		poke:      make(chan struct{}, 1),
		room:      make(chan struct{}, 1),
		freshness: meter.NewFreshness(),
	}
	if undeleted(kind) {
		l.bound = &p.config.Events
	}
	l.parts = make([]*partition, l.shape.partitions)
	now := p.now()
	for i := range l.parts {
		l.parts[i] = l.newPartition(l.shape.queueName(kind, i), now)
	}
	l.gate.set(l.shape.partitions * l.shape.workers)
	if l.shape.adaptive {
		l.climb = newClimber(l.shape.workers)
		l.gate.set(l.climb.limit)
	}
	return l
}

func (l *lane) newPartition(name string, now int64) *partition {
	q := &partition{
		name: name, capacity: l.p.config.HandlerQueueLen, workers: l.shape.workers,
		latency: meter.NewLatency(), refused: meter.NewLatency(),
	}
	q.wake.L = &l.mu
	q.meter.Changed = now
	return q
}

// place finds the event its place: merged into a waiting one, in the handler queue,
// or in the Writer. It reports false when there is none, which Coalesce never does.
func (l *lane) place(e *Event, now int64, on *waiter) bool {
	key := name{e.Key.Namespace, e.Key.Name}
	ent := l.keys[key]
	var q *partition
	if ent != nil {
		if stale(e, ent.newest()) {
			l.settleCoalesced(1)
			return true
		}
		q = ent.part
	} else {
		q = l.parts[PartitionOf(key.namespace, key.name, len(l.parts))]
	}

	room := q.over.head == nil && q.room()
	if ent != nil {
		if into := l.mergeTarget(ent, room); into != nil {
			into.become(*e)
			l.weigh(into)
			l.settleCoalesced(1)
			return true
		}
	}
	if !room && !l.p.writer.acquire(now, l.p.config.QueueFull == Coalesce, on) {
		return false
	}

	if ent == nil {
		ent = l.newEntry(key, q)
	}
	s := l.newSlot(e, ent, now)
	if room {
		l.direct++
		l.enter(q, s, now)
		return true
	}
	ent.over = s
	q.over.push(s)
	if q.over.head == s && l.p.config.QueueFull == Drop {
		l.alarm(after(now, l.p.config.QueueFullTimeout))
	}
	return true
}

// mergeTarget is the waiting event that a new one of the same key replaces, nil if the
// new one must be kept beside it.
func (l *lane) mergeTarget(ent *entry, room bool) *slot {
	merge := l.shape.merge || !room && l.p.config.QueueFull == Coalesce
	switch {
	case ent.over != nil: // nothing may overtake it
		if merge {
			return ent.over
		}
	case ent.tail != nil:
		if merge || ent.state == blocked {
			return ent.tail
		}
	}
	return nil
}

// stale reports that an event is older than one already known of the same object, as
// a repair decided from an older list is. Only then do resourceVersions tell more
// than the order of arrival.
func stale(e, known *Event) bool {
	return known != nil && e.Action == Put && !e.Older && e.UID != "" && e.UID == known.UID &&
		e.ResourceVersion != 0 && e.ResourceVersion < known.ResourceVersion
}

// enter puts a slot at the end of its key's chain in the handler queue.
func (l *lane) enter(q *partition, s *slot, now int64) {
	q.meter.Account(q.depth, now)
	q.depth++
	s.entered = now
	ent := s.ent
	ent.push(s)
	if ent.parked != nil {
		s.again = true
		s.replaces(ent.parked)
		l.unpark(ent)
	}
	l.resume(ent, now)
}

// resume offers a key again that has something to send, once nothing forbids it.
func (l *lane) resume(ent *entry, now int64) {
	switch {
	case ent.head == nil:
		l.forget(ent)
	case ent.state != resting, ent.inFlight > 0 && l.shape.exclusive:
	case ent.trouble != nil && ent.trouble.until > now:
		l.block(ent)
	default:
		l.makeReady(ent)
	}
}

// makeReady offers a key to the workers of its partition.
func (l *lane) makeReady(ent *entry) {
	q := ent.part
	q.push(ent)
	l.offer(q)
}

// offer gets a queue that has something to send a worker or, while the gate is shut,
// the timekeeper.
func (l *lane) offer(q *partition) {
	if l.gate.shut {
		l.awaitProbe()
	} else {
		l.wakeWorker(q)
	}
}

// awaitProbe has the timekeeper look when a shut gate lets the next probe through.
func (l *lane) awaitProbe() {
	if l.gate.shut && !l.gate.probing {
		l.alarm(l.gate.until)
	}
}

// wakeWorker gets one more worker of the queue to look, starting it if there is none idle.
// Workers that take an event wake the next, so one call is enough.
func (l *lane) wakeWorker(q *partition) {
	switch {
	case q.idle > 0:
		q.wake.Signal()
	case q.started < q.workers && l.running && !l.stopped:
		q.started++
		if v := l.p.virtual; v != nil {
			v.woken = append(v.woken, worker{l, q})
			return
		}
		l.p.workers.Go(func() { l.work(q) })
	}
}

// refill moves events from the Writer into a handler queue that has got room.
func (l *lane) refill(q *partition, now int64) {
	for q.over.head != nil && q.room() {
		s := q.over.pop()
		l.p.writer.release(now, s.entered, true)
		ent := s.ent
		if ent.over == s {
			ent.over = nil
		}
		if ent.tail != nil && (l.shape.merge || ent.state == blocked) {
			ent.tail.become(s.ev)
			l.weigh(ent.tail)
			l.settleCoalesced(1)
			l.freeSlot(s)
			continue
		}
		l.enter(q, s, now)
	}
	if l.waiting > 0 && q.room() {
		l.p.writer.wake(l)
	}
	if q.over.head != nil && l.p.config.QueueFull == Drop {
		l.alarm(after(q.over.head.entered, l.p.config.QueueFullTimeout))
	}
}

// take removes the next event that may be sent now, nil if there is none.
func (l *lane) take(q *partition, now int64) (s *slot, probe bool) {
	if !q.hasReady() || l.full() {
		return nil, false
	}
	if until := l.p.pause.Load(); until > now {
		l.gate.pause(until)
	}
	ok, probe := l.gate.pass(l.inFlight, now)
	if !ok {
		l.awaitProbe()
		return nil, false
	}
	ent := q.popReady()
	s = ent.pop()
	ent.busy = s
	s.sending = len(l.sends)
	l.sends = append(l.sends, s)
	ent.inFlight++
	l.inFlight++
	if l.climb != nil {
		l.p.adapting.Add(1)
		if l.inFlight == 1 {
			l.p.sharing.Add(1)
		}
	}
	q.inFlight++
	q.meter.Account(q.depth, now)
	q.depth--
	q.meter.Left(now - s.entered)
	q.meter.Handled++
	q.latency.Observe(now - s.since)
	if ent.trouble != nil && ent.trouble.tries > 0 {
		l.retried++
	}
	if ent.head != nil && !l.shape.exclusive {
		l.makeReady(ent)
	}
	l.refill(q, now)
	if q.hasReady() && !l.gate.shut && !l.full() {
		l.wakeWorker(q)
	}
	return s, probe
}

// full reports that Adaptive allows no further request now. A kind without one in flight
// may always send, and looks again when its own is answered, so that no kind waits for
// another's answer. An eighth of MaxInFlight is for kinds with less than an even share, so
// that a backlog of one leaves room for the others' changes.
func (l *lane) full() bool {
	if l.climb == nil || l.inFlight == 0 {
		return false
	}
	most := int64(l.p.config.MaxInFlight)
	if n := l.p.sharing.Load(); n > 1 && int64(l.inFlight) > most/n {
		most -= most / 8
	}
	return l.inFlight >= l.climb.limit || l.p.adapting.Load() >= most
}

// settleCoalesced counts queued events that were merged into later ones.
func (l *lane) settleCoalesced(n int) {
	l.coalesced += uint64(n)
	l.settle(n)
}

// settle takes events off the queued ones, whatever became of them.
func (l *lane) settle(n int) {
	l.queued -= n
	if l.queued == 0 {
		l.fed = false
		if l.closed {
			signal(l.p.idle)
		}
	}
	if l.spare() {
		signal(l.room)
	}
}

// discardOverdue drops the events that waited in the Writer for too long.
func (l *lane) discardOverdue(q *partition, now int64) {
	timeout := int64(l.p.config.QueueFullTimeout)
	for q.over.head != nil && q.over.head.entered+timeout <= now {
		s := q.over.pop()
		l.p.writer.release(now, s.entered, false)
		if s.ent.over == s {
			s.ent.over = nil
		}
		l.dropped++
		l.discarded++
		q.discards++
		q.refused.Observe(now - s.since)
		l.settle(1)
		l.forget(s.ent)
		l.freeSlot(s)
	}
}

func (l *lane) newEntry(key name, q *partition) *entry {
	e := l.freeEntries
	if e != nil {
		l.freeEntries, e.next = e.next, nil
		l.free--
	} else {
		e = &entry{}
	}
	e.key, e.part = key, q
	l.keys[key] = e
	l.peak = max(l.peak, len(l.keys))
	return e
}

// forget removes an entry that nothing refers to.
func (l *lane) forget(e *entry) {
	if !e.vacant() || l.keys[e.key] != e {
		return
	}
	delete(l.keys, e.key)
	if len(l.keys) == 0 && l.peak > maxFree { // a map never shrinks, and the burst is over
		l.keys, l.peak = make(map[name]*entry), 0
	}
	*e = entry{}
	if l.free < maxFree {
		e.next, l.freeEntries = l.freeEntries, e
		l.free++
	}
}

func (l *lane) newSlot(e *Event, ent *entry, now int64) *slot {
	s := l.freeSlots
	if s != nil {
		l.freeSlots, s.next = s.next, nil
		l.free--
	} else {
		s = &slot{}
	}
	l.seq++
	s.ev, s.ent, s.seq, s.entered = *e, ent, l.seq, now
	s.since = now
	if !e.Received.IsZero() {
		s.since = min(now, int64(e.Received.Sub(l.p.start)))
	}
	l.weigh(s)
	return s
}

func (l *lane) freeSlot(s *slot) {
	l.bytes -= int64(s.size)
	*s = slot{}
	if l.free < maxFree {
		s.next, l.freeSlots = l.freeSlots, s
		l.free++
	}
}

// alarm makes the timekeeper look at the given time, or earlier.
func (l *lane) alarm(at int64) {
	if l.alarmAt != 0 && l.alarmAt <= at {
		return
	}
	l.alarmAt = at
	if !l.keeping {
		if l.running && !l.stopped {
			l.keeping = true
			l.p.workers.Go(l.keepTime)
		}
		return
	}
	signal(l.poke)
}
