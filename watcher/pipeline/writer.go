package pipeline

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/meter"
)

// writer is the Writer queue seen as a whole. The waiting events themselves are kept
// per handler queue, in the lanes: a full handler queue thus stops nobody but its
// own events, and what the kinds share is only this bound.
type writer struct {
	mu       sync.Mutex // guards everything below; taken with a lane's mutex held
	capacity int
	depth    int
	meter    meter.Queue
	full     int64 // nanoseconds at capacity
	discards uint64
	waiters  []*waiter
}

type waiter struct {
	lane   *lane
	listed bool          // in the writer's list, whose mutex guards it
	room   chan struct{} // size 1: one token says "look again"; more would say the same
}

func (w *waiter) signal() { lifecycle.Signal(w.room) }

func newWaiter(l *lane) *waiter { return &waiter{lane: l, room: make(chan struct{}, 1)} }

// place is Enqueue's slow path: the event, counted as queued already, found no place.
// The lane's mutex is held on entry and not on return.
func (w *waiter) place(ctx context.Context, e *Event) error {
	l := w.lane
	var timeout <-chan time.Time
	if l.p.config.QueueFull == Drop {
		timer := time.NewTimer(l.p.config.QueueFullTimeout)
		defer timer.Stop()
		timeout = timer.C
	}
	l.waiting++
	l.lent = 0 // nothing can lengthen the queue further
	defer l.p.writer.forget(w)
	for {
		if l.place(e, l.p.now(), w) {
			l.waiting--
			l.trim(l.p.now())
			l.mu.Unlock()
			return nil
		}
		l.mu.Unlock()
		var err error
		select {
		case <-w.room:
			l.mu.Lock()
			continue
		case <-timeout:
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-l.p.closing.Done():
			err = ErrClosed
		}
		l.mu.Lock()
		w.turnAway(err == nil)
		l.mu.Unlock()
		return err
	}
}

// turnAway drops an event that waited for room in vain; discard: since its time is over.
func (w *waiter) turnAway(discard bool) {
	l := w.lane
	l.waiting--
	l.dropped++
	l.settle(1)
	if discard {
		l.discarded++
		l.p.writer.discard()
	}
}

// account must run before depth changes, and before a reading.
func (w *writer) account(now int64) {
	if w.depth >= w.capacity {
		w.full += now - w.meter.Changed
	}
	w.meter.Account(w.depth, now)
}

// acquire takes a place. At capacity it does so only if forced; else it remembers the
// waiter, if there is one, and reports false.
func (w *writer) acquire(now int64, force bool, on *waiter) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.depth >= w.capacity && !force {
		if on != nil && !on.listed {
			on.listed = true
			w.waiters = append(w.waiters, on)
		}
		return false
	}
	w.account(now)
	w.depth++
	return true
}

// release gives a place back that was held since entered, and lets all that wait look
// again: they are at most one per kind.
func (w *writer) release(now, entered int64, handled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.account(now)
	w.depth--
	w.meter.Left(now - entered)
	if handled {
		w.meter.Handled++
	}
	for _, o := range w.waiters {
		o.signal()
	}
}

// wake lets the waiters of one lane look again, after its handler queue got room.
func (w *writer) wake(l *lane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.waiters {
		if o.lane == l {
			o.signal()
		}
	}
}

func (w *writer) forget(o *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiters = slices.DeleteFunc(w.waiters, func(other *waiter) bool { return other == o })
}

func (w *writer) discard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.discards++
}
