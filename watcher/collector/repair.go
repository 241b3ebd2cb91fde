package collector

import (
	"context"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// Expected returns the state that storage should hold of an object, which the Sink has already; false for none, because
// there is no such object or a filter keeps it back.
func (c *Collector) Expected(key object.Key) (*object.Object, bool) {
	k := c.kind(key.Kind)
	if k == nil || !k.store.wanted(key) {
		return nil, false
	}
	k.store.order.Lock()
	defer k.store.order.Unlock()
	return k.store.get(nameOf(key))
}

// ExpectedKeys returns the keys of a kind's objects that storage should hold.
func (c *Collector) ExpectedKeys(kind string) []object.Key {
	k := c.kind(kind)
	if k == nil {
		return nil
	}
	return k.store.wantedKeys()
}

// Repair hands the latest state of an object to the Sink again, or its deletion where storage should hold none, in
// order with the watch. A key of a kind that is not collected is deleted; one whose kind has not synced is refused. A
// deletion names uid: in shards by uid another one's object may be under the name.
func (c *Collector) Repair(ctx context.Context, key object.Key, uid string) error {
	k := c.kind(key.Kind)
	if k == nil {
		return c.Remove(ctx, key, uid)
	}
	if !k.synced() {
		return fmt.Errorf("repair %s: %w", key, ErrNotSynced)
	}
	return k.store.repair(ctx, key, uid)
}

// Remove hands over a deletion of what no object of a collected kind can have caused: a key of a kind that is not
// collected, or of the cluster scope where the kind has namespaces.
func (c *Collector) Remove(ctx context.Context, key object.Key, uid string) error {
	c.metrics.received.WithLabelValues(key.Kind).Inc() // no gauges: the kind may be collected no more
	return c.sink.Enqueue(ctx, pipeline.Event{Action: pipeline.Delete, Key: key, UID: uid, Received: time.Now()})
}

func (s *store) wanted(key object.Key) bool {
	return s.filter.reason(pipeline.Put, s.resource, key) == reasonNone
}

func (s *store) wantedKeys() []object.Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	keys := make([]object.Key, 0, len(s.objects))
	for _, o := range s.objects {
		if o.HasContent() && s.wanted(o.Key) {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

func (s *store) repair(ctx context.Context, key object.Key, uid string) error {
	s.order.Lock()
	defer s.order.Unlock()
	s.metrics.received.Inc()
	if s.mayBeUnread(key) {
		s.drop(ReasonUnreadable)
		return nil
	}
	e := pipeline.Event{Action: pipeline.Delete, Key: key, UID: uid, Received: time.Now()}
	if o, ok := s.get(nameOf(key)); ok && s.wanted(key) {
		e.Action, e.Object, e.UID, e.ResourceVersion = pipeline.Put, o, o.UID, o.ResourceVersion
	}
	return s.sink.Enqueue(ctx, e)
}
