package pipeline

import (
	"cmp"
	"slices"
	"sync"

	"github.com/watchbench/watchbench/watcher/meter"
)

// slot is one waiting event.
type slot struct {
	ev      Event
	ent     *entry
	next    *slot // behind it: in its key's chain, or in the overflow list
	seq     int64 // order of arrival within the kind
	since   int64 // when the oldest change was received that this event will bring to storage
	entered int64 // when it entered the queue it is in
	sending int   // its index in the lane's sends
	size    int   // of its object, where the lane has a bound
	several bool  // it covers changes of more than one uid
	again   bool  // it was refused in an outage, or the state before it was parked
}

// replaces makes the slot cover an older one too. Storage may hold any of the
// objects that bore the name meanwhile, so a deletion then means whichever is there.
func (s *slot) replaces(older *slot) {
	s.several = s.several || older.several || older.ev.UID != s.ev.UID
	if s.several && s.ev.Action == Delete {
		s.ev.UID = ""
	}
}

// become gives the slot a later event.
func (s *slot) become(e Event) {
	older := *s
	s.ev = e
	s.replaces(&older)
}

// slots is a list of waiting events, oldest first. A slot is in one list at a time.
type slots struct{ head, tail *slot }

func (l *slots) push(s *slot) {
	s.next = nil
	if l.tail == nil {
		l.head = s
	} else {
		l.tail.next = s
	}
	l.tail = s
}

func (l *slots) pop() *slot {
	s := l.head
	l.head = s.next
	if l.head == nil {
		l.tail = nil
	}
	s.next = nil
	return s
}

type name struct{ namespace, name string }

type state uint8

const (
	resting state = iota // nothing to take: empty, or its one request is in flight
	ready                // in the ready queue of its partition
	blocked              // in the kind's alarm heap until its backoff or fence ends
)

// entry is one key that has an event waiting, in flight or parked. Keys without any
// have no entry, so an idle kind costs nothing.
type entry struct {
	key      name
	part     *partition
	slots          // waiting in the handler queue
	over     *slot // newest event of the key in the Writer, if any
	busy     *slot // in flight (the latest taken, if not exclusive)
	parked   *slot // given up until the next change
	trouble  *trouble
	next     *entry // ready queue or free list
	inFlight int32
	state    state
}

func (e *entry) vacant() bool {
	return e.head == nil && e.over == nil && e.parked == nil && e.inFlight == 0
}

// mergeTarget is the waiting event that a new one replaces, nil if the new one must be
// kept beside it. merge says that the strategy or a full queue asks for it.
func (e *entry) mergeTarget(merge bool) *slot {
	switch {
	case e.over != nil: // nothing may overtake it
		if merge {
			return e.over
		}
	case e.tail != nil:
		if merge || e.state == blocked {
			return e.tail
		}
	}
	return nil
}

// newest is the latest known event of the key, nil if there is none.
func (e *entry) newest() *Event {
	switch {
	case e.over != nil:
		return &e.over.ev
	case e.tail != nil:
		return &e.tail.ev
	case e.parked != nil:
		return &e.parked.ev
	case e.busy != nil:
		return &e.busy.ev
	}
	return nil
}

// partition is one handler queue: the free keys in the order of their oldest waiting
// event. Its lane's mutex guards it.
type partition struct {
	name     string
	capacity int
	workers  int
	wake     sync.Cond // on the lane's mutex: work for an idle worker
	started  int       // worker goroutines
	idle     int       // of them, waiting on wake

	first, last *entry       // ready keys whose oldest events arrived in this order
	late        heap[*entry] // ready keys that were set aside and are older than last

	over slots // events in the Writer that wait for room here

	depth    int // events in the queue, set-aside and blocked ones included
	inFlight int
	meter    meter.Queue
	latency  meter.Histogram // receipt to hand-over
	refused  meter.Histogram // receipt to discard
	discards uint64
}

func newPartition(l *lane, i int, now int64) *partition {
	q := &partition{
		name: l.shape.queueName(l.kind, i), capacity: l.p.config.HandlerQueueLen, workers: l.shape.workers,
		latency: meter.NewLatency(), refused: meter.NewLatency(),
	}
	q.wake.L = &l.mu
	q.meter.Changed = now
	return q
}

// room reports whether one more event fits. An event in flight keeps its place until
// its outcome is known, else a failing storage would pull the whole Writer into
// the handler queue, one returned event at a time.
func (q *partition) room() bool {
	return q.depth < q.capacity && q.depth+q.inFlight < q.capacity+q.workers
}

func (q *partition) hasReady() bool { return q.first != nil || len(q.late) > 0 }

// push makes a key available to the workers.
func (q *partition) push(e *entry) {
	e.state = ready
	e.next = nil
	switch {
	case q.first == nil:
		q.first, q.last = e, e
	case e.head.seq > q.last.head.seq:
		q.last.next = e
		q.last = e
	default:
		q.late.push(keyItem{at: e.head.seq, item: e})
	}
}

// empty takes the ready keys and the events in the Writer out, and adds them to what it is given.
func (q *partition) empty(ready []keyItem, over []*slot, now int64) ([]keyItem, []*slot) {
	for e := q.first; e != nil; e = e.next {
		ready = append(ready, keyItem{at: e.head.seq, item: e})
	}
	ready = append(ready, q.late...)
	for s := q.over.head; s != nil; s = s.next {
		over = append(over, s)
	}
	q.first, q.last, q.late, q.over = nil, nil, nil, slots{}
	q.meter.Account(q.depth, now)
	return ready, over
}

// pushAll makes keys available, each in its queue, in the order of their oldest events.
func pushAll(ready []keyItem) {
	slices.SortFunc(ready, func(a, b keyItem) int { return cmp.Compare(a.at, b.at) })
	for _, key := range ready {
		key.item.part.push(key.item)
	}
}

// oldest is the sequence of the oldest event of the free keys; there must be one.
func (q *partition) oldest() int64 {
	if len(q.late) > 0 && (q.first == nil || q.late[0].at < q.first.head.seq) {
		return q.late[0].at
	}
	return q.first.head.seq
}

// popReady removes the free key with the oldest waiting event; there must be one.
func (q *partition) popReady() *entry {
	if len(q.late) > 0 && (q.first == nil || q.late[0].at < q.first.head.seq) {
		e := q.late.pop()
		e.state = resting
		return e
	}
	e := q.first
	q.first = e.next
	if q.first == nil {
		q.last = nil
	}
	e.next = nil
	e.state = resting
	return e
}
