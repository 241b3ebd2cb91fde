package notify

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

// item is one event that waits for its delivery.
type item struct {
	typ      view.Type
	obj      *object.Object
	version  uint64 // of the event; that of the object is older where typ is Deleted
	received time.Time
	key      string // of the lane

	// The rest is guarded by the queue's mu, tries and first by being in flight.
	seq        uint64
	tries      int
	first      time.Time // of the first try
	state      state
	due        time.Time // of the next try, while retrying
	at         int       // place in the heap, while retrying
	prev, next *item     // older and younger
}

// size is the item's share of the queue's bytes.
func (i *item) size() int64 { return int64(i.obj.Size()) }

// id is the event's, the same at each try.
func (i *item) id() string { return eventID(i.obj.UID, i.version, i.typ) }

type state uint8

const (
	waiting  state = iota // for its turn
	flying                // with a worker
	retrying              // for its next try
)

// lane holds the waiting events of one object, in order. Only its first item is tried.
type lane struct {
	key   string
	items []*item
	busy  bool // the first one flies or waits for its next try
	at    int  // place in the queue's ready, -1 while it is not there
}

// queue is the bounded queue of one target. Events of one object are given out one at a
// time and in order; those of others do not wait for it.
type queue struct {
	length int
	bytes  int64
	full   string // Queue.WhenFull
	// wake has size 1: the token says that somebody should look.
	wake chan struct{}

	mu     sync.Mutex
	lanes  map[string]*lane // guarded by mu
	ready  turns            // guarded by mu; lanes that a worker may take from
	again  schedule         // guarded by mu; items that wait for their next try
	oldest *item            // guarded by mu; of the list of all items
	newest *item            // guarded by mu
	seq    uint64           // guarded by mu; of the newest item
	count  int              // guarded by mu
	size   int64            // guarded by mu
	hold   time.Time        // guarded by mu; nothing is given out before
	room   chan struct{}    // guarded by mu; closed at half full or less; nil: nobody waits
	idle   chan struct{}    // guarded by mu; closed when empty; nil: nobody waits
}

func newQueue(q Queue) *queue {
	return &queue{length: q.Length, bytes: q.Bytes, full: q.WhenFull, wake: make(chan struct{}, 1),
		lanes: map[string]*lane{}}
}

// fits reports whether there is room for one more event, whatever its size. The caller
// holds mu.
func (q *queue) fits() bool { return q.count < q.length && q.size < q.bytes }

// halfEmpty reports whether blocked producers may continue. The caller holds mu.
func (q *queue) halfEmpty() bool { return q.count <= q.length/2 && q.size <= q.bytes/2 }

// offer queues i if there is room.
func (q *queue) offer(i *item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.fits() {
		return false
	}
	q.add(i)
	return true
}

// put queues i. lost are the events that had to give way, i among them if it is not
// taken; full says that nothing was done, because the policy is to come again.
func (q *queue) put(i *item) (lost int, full bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.fits() {
		switch {
		case q.full == Resync:
			return 0, true
		case q.full == DropNewest || !q.evict():
			return lost + 1, false
		}
		lost++
	}
	q.add(i)
	return lost, false
}

// add appends i. The caller holds mu.
func (q *queue) add(i *item) {
	if i.prev = q.newest; i.prev != nil {
		i.prev.next = i
	} else {
		q.oldest = i
	}
	q.newest = i
	q.seq++
	i.seq = q.seq
	q.count++
	q.size += i.size()
	l := q.lanes[i.key]
	if l == nil {
		l = &lane{key: i.key, at: -1}
		q.lanes[i.key] = l
	}
	l.items = append(l.items, i)
	q.offerLane(l)
}

// offerLane makes a lane ready whose first item may be tried. The caller holds mu.
func (q *queue) offerLane(l *lane) {
	if l.busy || l.at >= 0 {
		return
	}
	heap.Push(&q.ready, l)
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// remove takes i out of the list. The caller holds mu and has taken it from its lane.
func (q *queue) remove(i *item) {
	if i.prev != nil {
		i.prev.next = i.next
	} else {
		q.oldest = i.next
	}
	if i.next != nil {
		i.next.prev = i.prev
	} else {
		q.newest = i.prev
	}
	i.prev, i.next = nil, nil
	q.count--
	q.size -= i.size()
	if q.room != nil && q.halfEmpty() {
		close(q.room)
		q.room = nil
	}
	if q.idle != nil && q.count == 0 {
		close(q.idle)
		q.idle = nil
	}
}

// evict drops the oldest item that is not in flight; false if there is none. The caller
// holds mu.
func (q *queue) evict() bool {
	i := q.oldest
	for i != nil && i.state == flying { // as many as workers at most
		i = i.next
	}
	if i == nil {
		return false
	}
	l := q.lanes[i.key]
	if i.state == retrying {
		heap.Remove(&q.again, i.at)
		l.busy = false
	}
	if l.at >= 0 {
		heap.Remove(&q.ready, l.at)
	}
	at := 0
	if l.items[0] != i { // which flies
		at = 1
	}
	l.items = append(l.items[:at], l.items[at+1:]...)
	q.remove(i)
	q.turn(l)
	return true
}

// turn puts a lane back whose items have changed. The caller holds mu.
func (q *queue) turn(l *lane) {
	if len(l.items) > 0 {
		q.offerLane(l)
	} else {
		delete(q.lanes, l.key)
	}
}

// take waits for an item that may be tried; false at the end of ctx.
func (q *queue) take(ctx context.Context) (*item, bool) {
	for ctx.Err() == nil {
		i, wait := q.next(time.Now())
		if i != nil {
			return i, true
		}
		if wait == 0 {
			wait = time.Hour // anything: what is added wakes
		}
		t := time.NewTimer(wait)
		select {
		case <-q.wake:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
	return nil, false
}

// next returns an item, or how long there is none for sure unless one is added; 0 is for
// ever.
func (q *queue) next(now time.Time) (*item, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if wait := q.hold.Sub(now); wait > 0 {
		return nil, wait
	}
	for len(q.again) > 0 && !q.again[0].due.After(now) {
		i := heap.Pop(&q.again).(*item)
		i.state = waiting
		l := q.lanes[i.key]
		l.busy = false
		q.offerLane(l)
	}
	if len(q.ready) > 0 {
		l := heap.Pop(&q.ready).(*lane)
		i := l.items[0]
		i.state, l.busy = flying, true
		if len(q.ready) > 0 {
			q.signal()
		}
		return i, 0
	}
	if len(q.again) > 0 {
		return nil, q.again[0].due.Sub(now)
	}
	return nil, 0
}

// settle ends an item that was taken.
func (q *queue) settle(i *item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[i.key]
	l.items[0] = nil
	l.items = l.items[1:]
	l.busy = false
	q.remove(i)
	q.turn(l)
}

// retry has an item that was taken tried again at due, nothing of the target before hold.
func (q *queue) retry(i *item, due, hold time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	i.state, i.due = retrying, due
	heap.Push(&q.again, i)
	if hold.After(q.hold) {
		q.hold = hold
	}
}

// wait returns once the queue is at most half full, or ctx has ended.
func (q *queue) wait(ctx context.Context) error {
	q.mu.Lock()
	if q.halfEmpty() {
		q.mu.Unlock()
		return ctx.Err()
	}
	if q.room == nil {
		q.room = make(chan struct{})
	}
	room := q.room
	q.mu.Unlock()
	select {
	case <-room:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drained is closed once the queue is empty. It is for the end, when nothing is added.
func (q *queue) drained() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	done := make(chan struct{})
	if q.count == 0 {
		close(done)
	} else {
		q.idle = done
	}
	return done
}

// depth is how many events wait or are in flight, and when the oldest was received.
func (q *queue) depth() (count int, oldest time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.oldest != nil {
		oldest = q.oldest.received
	}
	return q.count, oldest
}

// schedule is a heap of items by due.
type schedule []*item

func (s schedule) Len() int           { return len(s) }
func (s schedule) Less(a, b int) bool { return s[a].due.Before(s[b].due) }
func (s schedule) Swap(a, b int)      { s[a], s[b] = s[b], s[a]; s[a].at, s[b].at = a, b }

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	i := x.(*item)
	i.at = len(*s)
	*s = append(*s, i)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any { return pop((*[]*item)(s)) }

// turns is a heap of lanes by the age of their first items.
type turns []*lane

func (t turns) Len() int           { return len(t) }
func (t turns) Less(a, b int) bool { return t[a].items[0].seq < t[b].items[0].seq }
func (t turns) Swap(a, b int)      { t[a], t[b] = t[b], t[a]; t[a].at, t[b].at = a, b }

// Push implements heap.Interface.
func (t *turns) Push(x any) {
	l := x.(*lane)
	l.at = len(*t)
	*t = append(*t, l)
}

// Pop implements heap.Interface.
func (t *turns) Pop() any {
	l := pop((*[]*lane)(t))
	l.at = -1
	return l
}

func pop[T any](all *[]*T) *T {
	last := len(*all) - 1
	x := (*all)[last]
	(*all)[last] = nil
	*all = (*all)[:last]
	return x
}
