package collector

import (
	"slices"
	"strings"
	"sync"

	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/view"
)

// collected are the kinds of a Collector, for readers: what is cached of each, and how well it is followed.
type collected struct {
	mu    sync.Mutex
	kinds map[string]*kind // guarded by mu; by key kind
}

func (c *collected) kind(key string) *kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[key]
}

// snapshot returns the kinds sorted by key. The caller holds mu.
func (c *collected) snapshot() []*kind {
	kinds := make([]*kind, 0, len(c.kinds))
	for _, k := range c.kinds {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b *kind) int { return strings.Compare(a.store.kind, b.store.kind) })
	return kinds
}

// Resources are the collected kinds, sorted by key.
func (c *collected) Resources() []Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []Resource
	for _, k := range c.snapshot() {
		all = append(all, k.resource)
	}
	return all
}

// Get returns the latest version of an object.
func (c *collected) Get(key object.Key) (*object.Object, bool) {
	k := c.kind(key.Kind)
	if k == nil {
		return nil, false
	}
	return k.store.get(nameOf(key))
}

// List returns the objects of a kind in no order, nil for a kind that is not collected.
func (c *collected) List(kind string) []*object.Object {
	k := c.kind(kind)
	if k == nil {
		return nil
	}
	return k.store.list()
}

// View returns the view of a kind; nil if it has none.
func (c *collected) View(key string) *view.View {
	if k := c.kind(key); k != nil {
		return k.store.view.Load()
	}
	return nil
}

// KindSynced reports whether the first complete list of a kind is in the store.
func (c *collected) KindSynced(kind string) bool {
	k := c.kind(kind)
	return k != nil && k.synced()
}

// Unsynced returns the kinds whose first list is not complete.
func (c *collected) Unsynced() []Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	var waiting []Resource
	for _, k := range c.snapshot() {
		if !k.synced() {
			waiting = append(waiting, k.resource)
		}
	}
	return waiting
}

// SyncedKinds are the keys of the kinds whose first list is complete.
func (c *collected) SyncedKinds() []string { return c.kindsSynced(true) }

// UnsyncedKinds are the keys of the others.
func (c *collected) UnsyncedKinds() []string { return c.kindsSynced(false) }

func (c *collected) kindsSynced(synced bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var keys []string
	for _, k := range c.snapshot() {
		if k.synced() == synced {
			keys = append(keys, k.store.kind)
		}
	}
	return keys
}

// Collected reports whether a kind is collected, synced or not.
func (c *collected) Collected(kind string) bool { return c.kind(kind) != nil }

// ClusterScoped reports whether a kind is collected and has no namespaces.
func (c *collected) ClusterScoped(kind string) bool {
	k := c.kind(kind)
	return k != nil && !k.resource.Namespaced
}

// APIVersion returns the version in which a kind is collected; "" if it is not.
func (c *collected) APIVersion(kind string) string {
	if k := c.kind(kind); k != nil {
		return k.resource.GroupVersion()
	}
	return ""
}
