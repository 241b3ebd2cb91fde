package legacy

import (
	"context"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
)

// The original's numbers (contract §2.5).
const (
	putTimeout  = time.Second            // of a full queue
	emptyFor    = time.Second            // ends one start of a handler
	handlerTick = 500 * time.Millisecond // between two starts of a handler
)

// item is one unit in a handler queue, with the state that will be sent whatever happens to the object
// meanwhile.
type item struct {
	unit    *unit
	object  *object.Object // nil: DELETE
	entered int64
}

// handler is one bounded queue and the one goroutine that empties it. The queue behaves as a Go channel
// of that capacity, which it is not only because 150 channels of 102400 pointers are 120 MB before the
// first event.
type handler struct {
	kind  *kind
	name  string
	room  chan struct{} // size of the queue: one token per item that waits
	ready chan struct{} // size of the queue: one token per item that can be taken

	mu       sync.Mutex // guards all below
	items    []*item    // those that wait, the oldest first
	meter    meter.Queue
	discards uint64
}

// put waits for room for one second at most; it reports false for an item that found none, or when ctx
// has ended.
func (h *handler) put(ctx context.Context, it *item) bool {
	select {
	case h.room <- struct{}{}:
	default:
		full := time.NewTimer(putTimeout)
		defer full.Stop()
		select {
		case h.room <- struct{}{}:
		case <-ctx.Done():
			return false
		case <-full.C:
			h.mu.Lock()
			h.discards++
			h.mu.Unlock()
			return false
		}
	}
	h.mu.Lock()
	it.entered = h.kind.now()
	h.meter.Account(len(h.items), it.entered)
	h.items = append(h.items, it)
	h.mu.Unlock()
	h.ready <- struct{}{}
	return true
}

// take removes the first item. A token of ready has been taken for it.
func (h *handler) take() *item {
	h.mu.Lock()
	now := h.kind.now()
	h.meter.Account(len(h.items), now)
	it := h.items[0]
	h.items[0], h.items = nil, h.items[1:]
	h.meter.Left(now - it.entered)
	h.meter.Handled++
	h.mu.Unlock()
	<-h.room
	return it
}

// loop starts the handler every 500 ms, or at once where the start before took longer.
func (h *handler) loop(ctx context.Context) {
	for ctx.Err() == nil {
		next := time.Now().Add(handlerTick)
		h.run(ctx)
		_ = lifecycle.Pause(ctx, time.Until(next)) // the loop sees an end
	}
}

// run is one start of the handler.
func (h *handler) run(ctx context.Context) {
	empty := time.NewTimer(emptyFor)
	defer empty.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-empty.C:
			return
		case <-h.ready:
			if ctx.Err() != nil || !h.kind.send(ctx, h.take()) {
				return
			}
			empty.Reset(emptyFor)
		}
	}
}

func (h *handler) reading(now int64) meter.Reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.meter.Account(len(h.items), now)
	m := h.meter
	return meter.Reading{Name: h.name, Depth: len(h.items), Capacity: cap(h.room), Handled: m.Handled,
		Discards: h.discards, Meter: &m}
}
