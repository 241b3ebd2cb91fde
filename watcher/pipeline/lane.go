package pipeline

import (
	"sync"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/meter"
)

// lane is everything about one kind: its handler queues, its share of the Writer, its
// counters. Lanes share no lock, so kinds do not wait for one another.
type lane struct {
	p     *Pipeline
	kind  string
	shape shape

	mu    sync.Mutex // guards everything below
	parts []*partition
	pool
	counts
	phase
	blocked heap[*entry] // keys whose backoff or fence runs, by the time it ends
	gate    gate
	turn    int // partition that is offered the next probe
	health  health
	share   *share // nil unless the strategy adapts
	bound   *Bound // nil for a kind whose deletions are sent
	clock   timekeeper

	sends    []*slot // in flight, in no order
	quiet    int64   // no log line about parked objects before
	discards notice
	sheds    notice

	room    chan struct{}     // size 1: one token says "spare may be true"
	fed     bool              // somebody hands over a backlog: there is more to send than waits
	handed  uint64            // events sent when a backlog last had room or its turn
	lent    int               // turns that it had since there was room, less what was merged since
	traces  int               // that have not ended
	settled map[name]struct{} // while there are traces: keys that had a request since
}

func newLane(p *Pipeline, kind string) *lane {
	l := &lane{
		p: p, kind: kind, shape: shapeOf(p.config, kind),
		pool:   pool{start: p.start, keys: make(map[name]*entry)},
		counts: counts{freshness: meter.NewFreshness()},
		room:   make(chan struct{}, 1),
	}
	l.clock = timekeeper{lane: l, poke: make(chan struct{}, 1)}
	if undeleted(kind) {
		l.bound, l.weighs = &p.config.Events, true
	}
	l.parts = make([]*partition, l.shape.partitions)
	now := p.now()
	for i := range l.parts {
		l.parts[i] = newPartition(l, i, now)
	}
	l.gate.set(l.shape.partitions * l.shape.workers)
	if l.shape.adaptive {
		l.share = &share{p: p, climber: newClimber(l.shape.workers)}
		l.gate.set(l.share.limit)
	}
	return l
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
		merge := l.shape.merge || !room && l.p.config.QueueFull == Coalesce
		if into := ent.mergeTarget(merge); into != nil {
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
		l.clock.alarm(after(now, l.p.config.QueueFullTimeout))
	}
	return true
}

// stale reports that an event is older than one already known of the same object, as
// a repair decided from an older list is. Only then do resourceVersions say more
// than the order of arrival.
func stale(e, known *Event) bool {
	return known != nil && e.Action == Put && !e.Older && e.UID != "" && e.UID == known.UID &&
		e.ResourceVersion != 0 && e.ResourceVersion < known.ResourceVersion
}

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
		l.clock.alarm(l.gate.until)
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
		s := l.popOver(q, now, true)
		ent := s.ent
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
		l.clock.alarm(after(q.over.head.entered, l.p.config.QueueFullTimeout))
	}
}

// take removes the next event that may be sent now, nil if there is none.
func (l *lane) take(q *partition, now int64) (s *slot, probe bool) {
	if !q.hasReady() || l.share.full(l.inFlight) {
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
	l.share.begin(l.inFlight)
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
	if q.hasReady() && !l.gate.shut && !l.share.full(l.inFlight) {
		l.wakeWorker(q)
	}
	return s, probe
}

// settleCoalesced counts queued events that were merged into later ones.
func (l *lane) settleCoalesced(n int) {
	l.coalesced += uint64(n)
	l.lent = max(0, l.lent-n) // they would have lengthened the queue
	l.settle(n)
}

// settle takes events off the queued ones, whatever became of them.
func (l *lane) settle(n int) {
	l.queued -= n
	if l.queued == 0 {
		l.fed = false
		if l.closed {
			lifecycle.Signal(l.p.idle)
		}
	}
	if l.spare() {
		lifecycle.Signal(l.room)
	}
}

func (l *lane) discardOverdue(q *partition, now int64) {
	timeout := int64(l.p.config.QueueFullTimeout)
	for q.over.head != nil && q.over.head.entered+timeout <= now {
		s := l.popOver(q, now, false)
		l.discarded++
		q.discards++
		q.refused.Observe(now - s.since)
		l.drop(s)
	}
}

func (l *lane) popOver(q *partition, now int64, handled bool) *slot {
	s := q.over.pop()
	l.p.writer.release(now, s.entered, handled)
	if s.ent.over == s {
		s.ent.over = nil
	}
	return s
}
