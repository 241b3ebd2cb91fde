package notify

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

type item struct {
	typ      view.Type
	obj      *object.Object
	version  uint64 // of the event; that of the object is older where typ is Deleted
	received time.Time
	key      string // of the lane

	seq   uint64    // by age
	tries int       // for its consumer
	first time.Time // of the first try
}

func (i *item) size() int64 { return int64(i.obj.Size()) }

// id is the event's, the same at each try.
func (i *item) id() string { return eventID(i.obj.UID, i.version, i.typ) }

// lane holds the events of one object, in order. Only its first item is tried.
type lane struct{ items []*item }

// queue is the bounded queue of one target. Events of one object are given out one at a
// time and in order; those of others do not wait for it.
type queue struct {
	length int
	bytes  int64
	// wake has size 1: the token says that somebody should look.
	wake chan struct{}

	mu    sync.Mutex
	lanes map[string]*lane // guarded by mu
	ready []*lane          // guarded by mu; whose first item may be tried, the oldest first
	seq   uint64           // guarded by mu; of the newest item
	count int              // guarded by mu
	size  int64            // guarded by mu
	hold  time.Time        // guarded by mu; nothing is given out before
	room  chan struct{}    // guarded by mu; closed at half full or less; nil: nobody waits
	idle  chan struct{}    // guarded by mu; closed when empty; nil: nobody waits
}

func newQueue(q Queue) *queue {
	return &queue{length: q.Length, bytes: q.Bytes, wake: make(chan struct{}, 1), lanes: map[string]*lane{}}
}

// fits reports whether there is room for one more event, whatever its size. The caller holds mu.
func (q *queue) fits() bool { return q.count < q.length && q.size < q.bytes }

// halfEmpty reports whether blocked producers may continue. The caller holds mu.
func (q *queue) halfEmpty() bool { return q.count <= q.length/2 && q.size <= q.bytes/2 }

func (q *queue) put(i *item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.fits() {
		return false
	}
	q.count++
	q.size += i.size()
	q.seq++
	i.seq = q.seq
	if l := q.lanes[i.key]; l != nil {
		l.items = append(l.items, i)
		return true
	}
	q.lanes[i.key] = &lane{[]*item{i}}
	q.offer(q.lanes[i.key])
	return true
}

// offer makes a lane ready. The caller holds mu.
func (q *queue) offer(l *lane) {
	at, _ := slices.BinarySearchFunc(q.ready, l.items[0].seq, func(l *lane, seq uint64) int {
		return cmp.Compare(l.items[0].seq, seq)
	})
	q.ready = slices.Insert(q.ready, at, l)
	lifecycle.Signal(q.wake)
}

// take waits for an item that may be tried; false at the end of ctx. The caller settles it, or has it tried again.
func (q *queue) take(ctx context.Context) (*item, bool) {
	for ctx.Err() == nil {
		if i := q.next(); i != nil {
			return i, true
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
	return nil, false
}

func (q *queue) next() *item {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ready) == 0 || time.Now().Before(q.hold) {
		return nil
	}
	l := q.ready[0]
	q.ready = q.ready[1:]
	if len(q.ready) > 0 {
		lifecycle.Signal(q.wake)
	}
	return l.items[0]
}

// settle ends an item that was taken.
func (q *queue) settle(i *item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.lanes[i.key]
	l.items[0] = nil
	if l.items = l.items[1:]; len(l.items) > 0 {
		q.offer(l)
	} else {
		delete(q.lanes, i.key)
	}
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

// retry has an item that was taken tried again at due, nothing of the target before hold.
func (q *queue) retry(i *item, due, hold time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if hold.After(q.hold) {
		q.hold = hold
		time.AfterFunc(time.Until(hold), func() { lifecycle.Signal(q.wake) })
	}
	if !due.After(q.hold) {
		q.offer(q.lanes[i.key])
		return
	}
	time.AfterFunc(time.Until(due), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.offer(q.lanes[i.key])
	})
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
	for _, l := range q.lanes {
		if at := l.items[0].received; oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return q.count, oldest
}
