package legacy

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
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// The original's numbers (contract §2.1, §2.5).
const (
	workersPerKind = 5
	retryWithin    = 5000        // a failed key comes back after so many ms, exclusive
	notReadyMin    = time.Second // backoff before a key reached a handler
	notReadyMax    = 32 * time.Second
	eventFactor    = 4 // times as many queues for Events as for Pods
)

const (
	kindPod        = "Pod"
	kindReplicaSet = "ReplicaSet"
)

var errClosed = errors.New("the imitation has ended and takes no more events")

// parts are shared by all kinds.
type parts struct {
	// get is the latest state of an object, as an event's enqueuing leaves it.
	get func(object.Key) (*object.Object, bool)
	// prepare makes of a cached object what is sent; ready is false while that needs a cache that is
	// not complete.
	prepare func(*object.Object) (out *object.Object, ready bool, err error)
	// send sends an object or, where that is nil, a deletion.
	send   func(context.Context, object.Key, *object.Object) (tries int, err error)
	logger *slog.Logger
	start  time.Time
}

// now is the queues' clock, in nanoseconds.
func (p *parts) now() int64 { return int64(time.Since(p.start)) }

// unit is one event, or several that were merged. It exists from its enqueuing until it
// is settled, wherever it waits meanwhile.
type unit struct {
	key   object.Key
	since int64 // receipt
	tried bool  // a request of it has failed
}

// kind is the path of the events of one kind: eventQueue, its workers and its handlers.
type kind struct {
	*parts
	name     string
	queue    workqueue.TypedInterface[object.Key]
	limiter  workqueue.TypedRateLimiter[object.Key]
	handlers []*handler

	mu        sync.Mutex // guards all below
	waiting   map[object.Key]*unit
	units     map[*unit]struct{} // all that are not settled
	closed    bool
	counts    meter.Stats // without Queued, which is len(units)
	freshness meter.Histogram
}

func newKind(p *parts, name string, podQueues, handlerQueueLen int) *kind {
	k := &kind{
		parts: p, name: name,
		queue:     workqueue.NewTyped[object.Key](),
		limiter:   workqueue.NewTypedItemExponentialFailureRateLimiter[object.Key](notReadyMin, notReadyMax),
		waiting:   map[object.Key]*unit{},
		units:     map[*unit]struct{}{},
		freshness: meter.NewFreshness(),
	}
	for _, n := range queueNames(name, podQueues) {
		k.handlers = append(k.handlers, &handler{
			kind: k, name: n, room: make(chan struct{}, handlerQueueLen), ready: make(chan struct{}, handlerQueueLen),
		})
	}
	return k
}

// queueNames are the handlers of a kind.
func queueNames(kind string, podQueues int) []string {
	n := map[string]int{kindPod: podQueues, bcsapi.KindEvent: eventFactor * podQueues}[kind]
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
	clear(k.waiting)
	return n
}

func (k *kind) enqueue(key object.Key, since int64) error {
	k.limiter.Forget(key)
	k.mu.Lock()
	k.counts.Received++
	if k.closed {
		k.counts.Dropped++
		k.mu.Unlock()
		return errClosed
	}
	u := &unit{key: key, since: since}
	k.units[u] = struct{}{}
	k.queueUp(u)
	k.mu.Unlock()
	k.queue.Add(key)
	return nil
}

// queueUp makes u the unit that waits in the eventQueue for its key. With one that waits already the
// older remains. The mutex is held; the key must be added to the queue after it is
// given back.
func (k *kind) queueUp(u *unit) {
	if other := k.waiting[u.key]; other != nil {
		if other.since <= u.since {
			u, other = other, u
		}
		delete(k.units, other)
		k.counts.Coalesced++
	}
	k.waiting[u.key] = u
}

// later puts the key back into the eventQueue after a while, unless the end comes first: run counts it
// then.
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
		// An event came between its merge into the unit before and its Add, and that unit was taken
		// meanwhile with the event's state.
		return
	}
	it := &item{unit: u}
	cached, found := k.get(key)
	switch {
	case found:
		out, ready, err := k.prepare(cached)
		if err != nil {
			k.logger.Error("event dropped", "reason", "the object cannot be prepared", "object", key.String(), "error", err)
			k.settle(u, &k.counts.Dropped)
			return
		}
		if !ready {
			k.later(u, k.limiter.When(key))
			return
		}
		// The original's queues hold a copy.
		it.object = &object.Object{Key: out.Key, UID: out.UID, ResourceVersion: out.ResourceVersion,
			Raw: bytes.Clone(out.JSON())}
	case k.name == bcsapi.KindEvent:
		k.settle(u, &k.counts.Coalesced) // its deletion, which is never sent, has overtaken it (contract §2.3)
		return
	}
	k.limiter.Forget(key)
	h := k.handlers[pipeline.PartitionOf(key.Namespace, key.Name, len(k.handlers))]
	if !h.put(ctx, it) && ctx.Err() == nil {
		k.logger.Warn("event dropped", "reason", "handler queue full", "handler", h.name, "object", key.String())
		k.settle(u, &k.counts.Dropped)
	}
}

// send does one item and reports whether its handler may go on.
func (k *kind) send(ctx context.Context, it *item) bool {
	u := it.unit
	k.mu.Lock()
	k.counts.InFlight++
	if u.tried {
		k.counts.Retried++
	}
	k.mu.Unlock()
	tries, err := k.parts.send(ctx, u.key, it.object)

	k.mu.Lock()
	k.counts.InFlight--
	k.counts.Retried += uint64(max(tries-1, 0))
	if err == nil {
		k.counts.Sent++
		delete(k.units, u)
		k.freshness.Observe(k.now() - u.since)
	}
	u.tried = true
	k.mu.Unlock()
	switch {
	case err == nil:
		return true
	case ctx.Err() != nil:
		return false // run counts it
	case strings.HasPrefix(k.name, bcsapi.KindEvent): // so the original recognises its Events (contract §10.3)
		k.logger.Debug("event dropped", "reason", "the request failed", "object", u.key.String(), "error", err)
		k.settle(u, &k.counts.Dropped)
		return false
	}
	d := time.Duration(rand.IntN(retryWithin)) * time.Millisecond
	k.logger.Debug("request failed", "object", u.key.String(), "again", d, "error", err)
	k.later(u, d)
	return true
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
