package collector

import (
	"sync"

	"github.com/watchbench/watchbench/watcher/object"
)

// contents are the latest versions of a kind's objects, and what became of them during a comparison
// with the apiserver.
type contents struct {
	mu      sync.RWMutex
	objects map[name]*object.Object // guarded by mu
	// During a comparison: gone has what was removed since remember(true), unlisted what has not been
	// listed nor changed since; nil: not recorded.
	gone     map[name]struct{}           // guarded by mu
	unlisted map[*object.Object]struct{} // guarded by mu
}

// peek returns the cached object or its tombstone, or nil.
func (c *contents) peek(n name) *object.Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.objects[n]
}

func (c *contents) list() []*object.Object {
	c.mu.RLock()
	defer c.mu.RUnlock()
	all := make([]*object.Object, 0, len(c.objects))
	for _, o := range c.objects {
		if o.HasContent() {
			all = append(all, o)
		}
	}
	return all
}

func (c *contents) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.objects)
}

// set caches an object, or none where o is nil, and returns how many there are.
func (c *contents) set(n name, o *object.Object) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.unlisted, c.objects[n])
	if o != nil {
		c.objects[n] = o
	} else {
		c.forget(n)
	}
	return len(c.objects)
}

// forget removes an object. The caller holds mu.
func (c *contents) forget(n name) {
	delete(c.objects, n)
	if c.gone != nil {
		c.gone[n] = struct{}{}
	}
}

// get returns the cached object; one that could not be masked is not there.
func (c *contents) get(n name) (*object.Object, bool) {
	o := c.peek(n)
	return o, o != nil && o.HasContent()
}

// remember starts or stops recording for a comparison, and returns how many objects there are.
func (c *contents) remember(on bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone, c.unlisted = nil, nil; !on {
		return 0
	}
	c.gone, c.unlisted = map[name]struct{}{}, make(map[*object.Object]struct{}, len(c.objects))
	for _, o := range c.objects {
		c.unlisted[o] = struct{}{}
	}
	return len(c.unlisted)
}

// tickOff returns the cached object that a comparison lists, and whether it has not changed since
// the comparison began.
func (c *contents) tickOff(n name) (o *object.Object, unchanged bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o = c.objects[n]
	_, unchanged = c.unlisted[o]
	delete(c.unlisted, o)
	return o, unchanged
}

// missing returns what a comparison has not listed although it has not changed.
func (c *contents) missing() (all []suspect) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for o := range c.unlisted {
		all = append(all, suspect{nameOf(o.Key), o})
	}
	return all
}

// still reports whether a suspect is unchanged since it was found.
func (c *contents) still(x suspect) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, gone := c.gone[x.name]
	return c.objects[x.name] == x.was && !gone
}
