package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// The original's numbers (contract §2.1, §2.5).
const (
	workersPerKind = 5
	retryWithin    = 5000                   // a failed key comes back after so many ms, exclusive
	eventFactor    = 4                      // times as many queues for Events as for Pods
	putTimeout     = time.Second            // of a full queue
	emptyFor       = time.Second            // ends one start of a handler
	handlerTick    = 500 * time.Millisecond // between two starts of a handler
)

var errClosed = errors.New("the imitation has ended and takes no more events")

// parts are shared by all kinds.
type parts struct {
	// get is the state in which an object is sent; false if there is none any more.
	get func(object.Key) (*object.Object, bool, error)
	// send sends an object or, where that is nil, a deletion.
	send   func(context.Context, object.Key, *object.Object) (tries int, err error)
	logger *slog.Logger
	start  time.Time
}

// now is the queues' clock, in nanoseconds.
func (p *parts) now() int64 { return int64(time.Since(p.start)) }

// unit is one event, or several that were merged, from its enqueuing until it is settled.
type unit struct {
	key     object.Key
	since   int64          // receipt
	tried   bool           // a request of it has failed
	object  *object.Object // in a handler queue: the state that will be sent; nil: DELETE
	entered int64          // into that queue
}

// kind is the path of the events of one kind: eventQueue, its workers and its handlers.
type kind struct {
	*parts
	name     string
	queue    workqueue.TypedInterface[object.Key]
	handlers []*handler

	mu        sync.Mutex // guards all below
	waiting   map[object.Key]*unit
	units     map[*unit]struct{} // all that are not settled
	closed    bool
	counts    meter.Stats // without Queued, which is len(units)
	freshness meter.Histogram
}

// handler is one bounded queue and the one goroutine that empties it.
type handler struct {
	kind  *kind
	name  string
	queue chan *unit

	mu       sync.Mutex  // guards all below
	depth    int         // with those that wait for room
	meter    meter.Queue // of depth
	discards uint64
}

func newKind(p *parts, name string, podQueues, handlerQueueLen int) *kind {
	k := &kind{parts: p, name: name, queue: workqueue.NewTyped[object.Key](), waiting: map[object.Key]*unit{},
		units: map[*unit]struct{}{}, freshness: meter.NewFreshness()}
	for _, n := range queueNames(name, podQueues) {
		k.handlers = append(k.handlers, &handler{kind: k, name: n, queue: make(chan *unit, handlerQueueLen)})
	}
	return k
}

// queueNames are the handlers of a kind.
func queueNames(kind string, podQueues int) []string {
	n := map[string]int{"Pod": podQueues, bcsapi.KindEvent: eventFactor * podQueues}[kind]
	if n == 0 {
		return []string{kind}
	}
	names := make([]string, n)
	for i := range names {
		names[i] = kind + "_" + strconv.Itoa(i)
	}
	return names
}

// run sends until ctx ends, and ends at once then. It returns how many events are lost by that.
func (k *kind) run(ctx context.Context) int {
	var all sync.WaitGroup
	for range workersPerKind {
		all.Go(func() { k.work(ctx) })
	}
	for _, h := range k.handlers {
		all.Go(func() { h.loop(ctx) })
	}
	<-ctx.Done()
	k.queue.ShutDown()
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	all.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.units)
	k.counts.Dropped += uint64(n)
	clear(k.units)
	return n
}

func (k *kind) enqueue(key object.Key, since int64) error {
	u := &unit{key: key, since: since}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counts.Received++
	if k.closed {
		k.counts.Dropped++
		return errClosed
	}
	k.units[u] = struct{}{}
	k.queueUp(u)
	return nil
}

// queueUp makes u the unit that waits in the eventQueue for its key. With one that waits already the older remains. The
// mutex is held.
func (k *kind) queueUp(u *unit) {
	if other := k.waiting[u.key]; other != nil {
		if other.since <= u.since {
			u, other = other, u
		}
		delete(k.units, other)
		k.counts.Coalesced++
	}
	k.waiting[u.key] = u
	k.queue.Add(u.key)
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
		return // taken with the unit before
	}
	o, found, err := k.get(key)
	switch {
	case err != nil:
		k.drop(u, "the object cannot be prepared", err)
		return
	case found: // the original's queues hold a copy
		u.object = &object.Object{Key: key, UID: o.UID, ResourceVersion: o.ResourceVersion, Raw: bytes.Clone(o.JSON())}
	case k.name == bcsapi.KindEvent: // its deletion, which is never sent, has overtaken it (contract §2.3)
		k.settle(u, &k.counts.Coalesced)
		return
	default:
		u.object = nil
	}
	h := k.handlers[pipeline.PartitionOf(key.Namespace, key.Name, len(k.handlers))]
	if !h.put(ctx, u) && ctx.Err() == nil {
		k.drop(u, "handler queue full", nil)
	}
}

// send does one unit and reports whether its handler may go on.
func (k *kind) send(ctx context.Context, u *unit) bool {
	k.mu.Lock()
	k.counts.InFlight++
	if u.tried {
		k.counts.Retried++
	}
	k.mu.Unlock()
	tries, err := k.parts.send(ctx, u.key, u.object)

	k.mu.Lock()
	k.counts.InFlight--
	k.counts.Retried += uint64(max(tries-1, 0))
	if u.tried = true; err == nil {
		k.counts.Sent++
		delete(k.units, u)
		k.freshness.Observe(k.now() - u.since)
	}
	k.mu.Unlock()
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil:
		return false // run counts it
	case strings.HasPrefix(k.name, bcsapi.KindEvent): // so the original recognises its Events (contract §10.3)
		k.drop(u, "the request failed", err)
		return false
	}
	time.AfterFunc(time.Duration(rand.IntN(retryWithin))*time.Millisecond, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.closed { // else run has counted it
			k.queueUp(u)
		}
	})
	return true
}

func (k *kind) drop(u *unit, reason string, err error) {
	k.logger.Warn("event dropped", "reason", reason, "object", u.key.String(), "error", err)
	k.settle(u, &k.counts.Dropped)
}

// settle ends a unit; as is the count of what became of it.
func (k *kind) settle(u *unit, as *uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	*as++
	delete(k.units, u)
}

// stats are the counts. The mutex is held.
func (k *kind) stats() meter.Stats {
	s := k.counts
	s.Queued = len(k.units)
	return s
}

// series appends one consistent reading of the kind.
func (k *kind) series(to []prometheus.Metric, s meter.EventSeries) (series []prometheus.Metric, inFlight int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var age int64
	for u := range k.units {
		age = max(age, k.now()-u.since)
	}
	return s.Append(to, k.name, k.stats(), age, &k.freshness), k.counts.InFlight
}

// put waits for room for one second at most; it reports false for a unit that found none, or when ctx has ended.
func (h *handler) put(ctx context.Context, u *unit) bool {
	h.mu.Lock()
	u.entered = h.kind.now()
	h.meter.Account(h.depth, u.entered)
	h.depth++
	h.mu.Unlock()
	full := time.NewTimer(putTimeout)
	defer full.Stop()
	select {
	case h.queue <- u:
		return true
	case <-ctx.Done():
	case <-full.C:
	}
	h.left(u, &h.discards)
	return false
}

// left accounts for a unit that has left the queue; as is the count of what became of it.
func (h *handler) left(u *unit, as *uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.kind.now()
	h.meter.Account(h.depth, now)
	h.depth--
	h.meter.Left(now - u.entered)
	*as++
}

// loop starts the handler every 500 ms, or at once where the start before took longer. It works until the queue was
// empty for a second.
func (h *handler) loop(ctx context.Context) {
	for ctx.Err() == nil {
		next := time.Now().Add(handlerTick)
		h.run(ctx)
		_ = lifecycle.Pause(ctx, time.Until(next)) // the loop sees an end
	}
}

func (h *handler) run(ctx context.Context) {
	empty := time.NewTimer(emptyFor)
	defer empty.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-empty.C:
			return
		case u := <-h.queue:
			h.left(u, &h.meter.Handled)
			if !h.kind.send(ctx, u) {
				return
			}
			empty.Reset(emptyFor)
		}
	}
}

func (h *handler) reading(now int64) meter.Reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.meter.Account(h.depth, now)
	m := h.meter
	return meter.Reading{Name: h.name, Depth: h.depth, Capacity: cap(h.queue), Handled: m.Handled,
		Discards: h.discards, Meter: &m}
}
