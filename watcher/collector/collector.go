package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/view"
)

var (
	// ErrKnownKind is returned when a kind is added that is collected already.
	ErrKnownKind = errors.New("the kind is collected already")
	// ErrUnknownKind is returned when a kind is removed that is not collected.
	ErrUnknownKind = errors.New("the kind is not collected")
	// ErrEnded is returned when a kind is added after Run's context has ended.
	ErrEnded = errors.New("the collector has ended")
	// ErrNotSynced is returned for a kind whose first list is not complete.
	ErrNotSynced = errors.New("the kind is not synced yet")
)

// Settings are passed by code.
type Settings struct {
	Client   *rest.Config          // required; its rate limits do not apply
	Sink     Sink                  // required
	Registry prometheus.Registerer // nil: no metrics
	Logger   *slog.Logger          // nil: no logs
	// First is asked when the first list of a kind is cached: true takes the list over, and
	// the Sink gets of it what Repair is called for. It must not block. Nil takes none.
	First func(kind string) bool
	// View makes what learns of every change of a resource's cache, in order and before the
	// Sink does: see package view. Nil, or a nil result, means no reader.
	View func(Resource) *view.View
	// Listing is called when a list of a kind begins, with 0, and for each object that is decoded, with
	// the bytes of its content as cached, by the goroutine that decodes. Nil: nobody counts.
	Listing func(kind string, bytes int)
}

// Collector keeps the latest version of every object of its kinds and hands each
// change to its Sink. See the package's promises.
type Collector struct {
	config  Config
	conn    *connection
	sink    Sink
	first   func(kind string) bool
	view    func(Resource) *view.View
	listing func(kind string, bytes int)
	logger  *slog.Logger
	metrics *metrics
	backoff wait.Backoff // retry, unless a test is in a hurry
	// notFound has size 1: one token says that something is not served.
	notFound chan struct{}

	collected
	ctx context.Context // guarded by mu; of Run, nil before
	ran bool            // guarded by mu
}

// New makes a collector and registers its metrics. Nothing is requested before Run.
func New(c Config, s Settings) (*Collector, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	s.Logger = cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	m, err := newMetrics(s.Registry)
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	c = c.withDefaults()
	conn, err := connect(s.Client, c, m)
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	col := &Collector{config: c, conn: conn, sink: s.Sink, first: s.First, view: s.View, listing: s.Listing,
		logger: s.Logger, metrics: m, backoff: retry, notFound: make(chan struct{}, 1),
		collected: collected{kinds: map[string]*kind{}}}
	for _, r := range c.Resources {
		col.kinds[r.Key()] = col.newKind(r)
	}
	return col, nil
}

// Run collects until ctx ends and returns nil after all its goroutines have ended.
func (c *Collector) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.ran {
		c.mu.Unlock()
		return lifecycle.ErrRunTwice
	}
	c.ran, c.ctx = true, ctx
	for _, k := range c.kinds {
		k.start(ctx)
	}
	c.mu.Unlock()

	<-ctx.Done()
	c.mu.Lock()
	kinds := c.snapshot()
	c.ctx = nil
	c.mu.Unlock()
	for _, k := range kinds {
		k.stop()
	}
	c.conn.closeIdle()
	return nil
}

// AddResource collects one more kind, at once when Run is under way.
func (c *Collector) AddResource(r Resource) error {
	if err := r.Validate(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.kinds[r.Key()]; taken {
		return fmt.Errorf("add %s: %w", r, ErrKnownKind)
	}
	if c.ran && c.ctx == nil {
		return fmt.Errorf("add %s: %w", r, ErrEnded)
	}
	k := c.newKind(r)
	c.kinds[r.Key()] = k
	if c.ctx != nil {
		k.start(c.ctx)
	}
	return nil
}

// RemoveResource stops collecting the kind with that key and forgets its objects, without a Delete. It returns when the
// kind's watch has ended.
func (c *Collector) RemoveResource(key string) error {
	c.mu.Lock()
	k, known := c.kinds[key]
	delete(c.kinds, key)
	c.mu.Unlock()
	if !known {
		return fmt.Errorf("remove %s: %w", key, ErrUnknownKind)
	}
	k.stop()
	if v := k.store.view.Load(); v != nil {
		v.End()
	}
	c.metrics.forget(key)
	return nil
}

// MoveResource collects the kind with r's key from another version of its API. What is cached is sent again in the new
// version; what went meanwhile is deleted. The view ends; there is another one for the new version.
func (c *Collector) MoveResource(r Resource) error {
	if err := r.Validate(); err != nil {
		return err
	}
	key := r.Key()
	k := c.kind(key)
	if k == nil || k.resource.Group != r.Group || k.resource.Kind != r.Kind || k.resource.Namespaced != r.Namespaced {
		return fmt.Errorf("move %s: %w", r, ErrUnknownKind)
	}
	k.stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds[key] != k {
		return fmt.Errorf("move %s: %w", r, ErrUnknownKind)
	}
	k.store.renew.Store(true)
	if v := k.store.view.Swap(c.newView(r)); v != nil {
		v.End()
	}
	moved := c.kindOf(r, k.store)
	c.kinds[key] = moved
	if c.ctx != nil {
		moved.start(c.ctx)
	}
	return nil
}

// newView makes the view of r; nil if nobody reads it.
func (c *Collector) newView(r Resource) *view.View {
	if c.view == nil {
		return nil
	}
	return c.view(r)
}
