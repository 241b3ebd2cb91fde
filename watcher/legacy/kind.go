package legacy

import (
	"bytes"
	"container/list"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// unit is what one event has become; merged events are one unit. It exists from its
// Enqueue until it is settled, wherever it waits meanwhile.
type unit struct {
	key   object.Key
	since int64 // receipt, on the pipeline's clock
	order uint64
	tried bool // a request of it has failed
	at    *list.Element
}

// kind is the path of the events of one kind: eventQueue, its workers and its handlers.
type kind struct {
	p        *Pipeline
	name     string
	lossy    bool // a failed item is lost
	queue    workqueue.TypedInterface[object.Key]
	limiter  workqueue.TypedRateLimiter[object.Key]
	handlers []*handler

	mu      sync.Mutex // guards all below
	waiting map[object.Key]*unit
	units   list.List // all that are not settled, in order of receipt
	closed  bool
	orders  uint64

	received, sent, coalesced, dropped, retried uint64
	inFlight                                    int
	freshness                                   meter.Histogram
}

func newKind(p *Pipeline, name string) *kind {
	name = strings.Clone(name)
	k := &kind{
		p: p, name: name,
		// The original recognises its Events by the start of the name (contract §10.3).
		lossy:     strings.HasPrefix(name, kindEvent),
		queue:     workqueue.NewTyped[object.Key](),
		limiter:   workqueue.NewTypedItemExponentialFailureRateLimiter[object.Key](notReadyMin, notReadyMax),
		waiting:   map[object.Key]*unit{},
		freshness: meter.NewFreshness(),
	}
	for _, n := range p.config.queueNames(name) {
		k.handlers = append(k.handlers, newHandler(k, n, p.config.HandlerQueueLen))
	}
	return k
}

// begin starts the workers and the handlers. The pipeline's mutex is held.
func (k *kind) begin(ctx context.Context) {
	for range workersPerKind {
		k.p.workers.Go(func() { k.work(ctx) })
	}
	for _, h := range k.handlers {
		k.p.workers.Go(func() { h.loop(ctx) })
	}
}

// close refuses further events and ends the workers.
func (k *kind) close() {
	k.queue.ShutDown()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
}

// abandon drops all that is not settled. The kind's goroutines have ended.
func (k *kind) abandon() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.units.Len()
	k.dropped += uint64(n)
	k.units.Init()
	k.waiting = nil
	return n
}

func (k *kind) enqueue(key object.Key, since int64) error {
	k.limiter.Forget(key)
	k.mu.Lock()
	k.received++
	if k.closed {
		k.dropped++
		k.mu.Unlock()
		return ErrClosed
	}
	k.orders++
	u := &unit{key: key, since: since, order: k.orders}
	u.at = k.units.PushBack(u)
	k.queueUp(u)
	k.mu.Unlock()
	k.queue.Add(key)
	return nil
}

// queueUp makes u the unit that waits in the eventQueue for its key. With one that waits
// already the older remains and stands for both. The mutex is held; the key must be
// added to the queue after it is given back.
func (k *kind) queueUp(u *unit) {
	older := k.waiting[u.key]
	if older == nil {
		k.waiting[u.key] = u
		return
	}
	if older.order > u.order {
		older, u = u, older
	}
	k.waiting[older.key] = older
	k.units.Remove(u.at)
	k.coalesced++
}

// later puts the key back into the eventQueue after a while, unless the end comes
// first: abandon counts it then.
func (k *kind) later(u *unit, d time.Duration) {
	time.AfterFunc(d, func() {
		k.mu.Lock()
		ended := k.closed
		if !ended {
			k.queueUp(u)
		}
		k.mu.Unlock()
		if !ended {
			k.queue.Add(u.key)
		}
	})
}

// work is one of the workers on the eventQueue.
func (k *kind) work(ctx context.Context) {
	for {
		key, ended := k.queue.Get()
		if ended || ctx.Err() != nil {
			return
		}
		k.dispatch(ctx, key)
		k.queue.Done(key)
	}
}

// dispatch reads the state of a key and hands it to its handler.
func (k *kind) dispatch(ctx context.Context, key object.Key) {
	k.mu.Lock()
	u := k.waiting[key]
	delete(k.waiting, key)
	k.mu.Unlock()
	if u == nil {
		// An event came between its merge into the unit before and its Add, and
		// that unit was taken meanwhile with the event's state.
		return
	}
	it := &item{unit: u}
	cached, found := k.p.set.Cache.Get(key)
	switch {
	case found:
		out, ready, err := k.p.set.Prepare(cached)
		if err != nil {
			k.p.logger.Error("event dropped", "reason", "the object cannot be prepared", "object", key.String(), "error", err)
			k.settle(u, &k.dropped)
			return
		}
		if !ready {
			k.later(u, k.limiter.When(key))
			return
		}
		it.object = snapshot(out)
	case k.name == kindEvent:
		k.settle(u, &k.coalesced) // its deletion, which is never sent, has overtaken it (contract §2.3)
		return
	}
	k.limiter.Forget(key)
	h := k.handlers[pipeline.PartitionOf(key.Namespace, key.Name, len(k.handlers))]
	if !h.put(ctx, it) && ctx.Err() == nil {
		k.p.logger.Warn("event dropped", "reason", "handler queue full", "handler", h.name, "object", key.String())
		k.settle(it.unit, &k.dropped)
	}
}

// snapshot is the copy that the original's queues hold.
func snapshot(o *object.Object) *object.Object {
	return &object.Object{Key: o.Key, UID: o.UID, ResourceVersion: o.ResourceVersion, Raw: bytes.Clone(o.JSON())}
}

// send does one item and reports whether its handler may go on.
func (k *kind) send(ctx context.Context, it *item) bool {
	k.mu.Lock()
	k.inFlight++
	if it.unit.tried {
		k.retried++
	}
	k.mu.Unlock()
	tries, err := it.send(ctx, k.p.set.Storage)

	k.mu.Lock()
	k.inFlight--
	k.retried += uint64(max(tries-1, 0))
	if err == nil {
		k.sent++
		k.units.Remove(it.unit.at)
		k.freshness.Observe(k.p.now() - it.unit.since)
	}
	it.unit.tried = true
	k.mu.Unlock()
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil:
		return false // abandon counts it
	case k.lossy:
		k.p.logger.Debug("event dropped", "reason", "the request failed", "object", it.unit.key.String(), "error", err)
		k.settle(it.unit, &k.dropped)
		return false
	}
	d := time.Duration(rand.IntN(retryWithin)) * time.Millisecond
	k.p.logger.Debug("request failed", "object", it.unit.key.String(), "again", d, "error", err)
	k.later(it.unit, d)
	return true
}

// settle ends a unit; as is the count of what became of it.
func (k *kind) settle(u *unit, as *uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	*as++
	k.units.Remove(u.at)
}

// counts are the event counts. The mutex is held.
func (k *kind) counts() meter.Stats {
	return meter.Stats{
		Received: k.received, Sent: k.sent, Coalesced: k.coalesced, Dropped: k.dropped, Retried: k.retried,
		Queued: k.units.Len(), InFlight: k.inFlight,
	}
}

// oldest is when the oldest unit was received that storage lacks. The mutex is held.
func (k *kind) oldest() (at int64, ok bool) {
	if e := k.units.Front(); e != nil {
		return e.Value.(*unit).since, true
	}
	return 0, false
}
