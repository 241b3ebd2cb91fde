package legacy

import (
	"context"
	"sync"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
)

// item is one unit in a handler queue, with the state that will be sent whatever
// happens to the object meanwhile.
type item struct {
	unit    *unit
	object  *object.Object // nil: DELETE
	entered int64
}

func (it *item) send(ctx context.Context, s Storage) (tries int, err error) {
	if it.object == nil {
		return s.Delete(ctx, it.unit.key)
	}
	return s.Put(ctx, it.object)
}

// handler is one bounded queue and the one goroutine that empties it. The queue behaves
// as a Go channel of that capacity, which it is not only because 150 channels of
// 102400 pointers are 120 MB before the first event.
type handler struct {
	kind     *kind
	name     string
	capacity int
	room     chan struct{} // size capacity: one token per item that waits
	ready    chan struct{} // size capacity: one token per item that can be taken

	mu       sync.Mutex // guards all below
	items    []*item    // those that wait, the oldest first
	meter    meter.Queue
	discards uint64
}

func newHandler(k *kind, name string, capacity int) *handler {
	return &handler{
		kind: k, name: name, capacity: capacity,
		room: make(chan struct{}, capacity), ready: make(chan struct{}, capacity),
	}
}

// put waits for room for one second at most; it reports false for an item that found
// none, or when ctx has ended.
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
	it.entered = h.kind.p.now()
	h.meter.Account(len(h.items), it.entered)
	h.items = append(h.items, it)
	h.mu.Unlock()
	h.ready <- struct{}{}
	return true
}

// take removes the first item. A token of ready has been taken for it.
func (h *handler) take() *item {
	h.mu.Lock()
	now := h.kind.p.now()
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
		if pause := time.Until(next); pause > 0 {
			_ = lifecycle.Pause(ctx, pause) // the loop sees an end
		}
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
