package legacy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

var (
	// ErrClosed is returned by Enqueue once Run's context has ended.
	ErrClosed = errors.New("the legacy pipeline has ended and takes no more events")
	// ErrRunTwice is returned by the second Run.
	ErrRunTwice = errors.New("the legacy pipeline has been run already; make a new one")
)

// Storage does one call of the original's storage action; tries are the HTTP requests
// that it took.
type Storage interface {
	Put(ctx context.Context, o *object.Object) (tries int, err error)
	Delete(ctx context.Context, k object.Key) (tries int, err error)
}

// Cache stands for the original's informer store. It holds the state of an event at the
// latest when that event is enqueued.
type Cache interface {
	Get(k object.Key) (*object.Object, bool)
}

// Settings is what the program gives besides the user's Config.
type Settings struct {
	Storage Storage // required
	Cache   Cache   // required
	// Prepare makes of a cached object what is sent; ready is false while that needs a
	// cache that is not complete. Nil sends objects as they are.
	Prepare  func(o *object.Object) (out *object.Object, ready bool, err error)
	Registry prometheus.Registerer // nil: no metrics
	Logger   *slog.Logger          // nil: no logs
}

// Pipeline stands between the collector and storage as the original does.
type Pipeline struct {
	config  Config
	set     Settings
	logger  *slog.Logger
	start   time.Time
	ran     atomic.Bool
	workers sync.WaitGroup

	mu     sync.Mutex       // guards all below
	kinds  map[string]*kind // entries are never removed
	ctx    context.Context  // of Run, nil before
	closed bool
}

var _ collector.Sink = (*Pipeline)(nil)

// New makes a pipeline and registers its metrics. Nothing is sent before Run.
func New(c Config, s Settings) (*Pipeline, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("legacy pipeline: %w", err)
	}
	if s.Storage == nil || s.Cache == nil {
		return nil, errors.New("legacy pipeline: want a Storage and a Cache in the settings")
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.Prepare == nil {
		s.Prepare = func(o *object.Object) (*object.Object, bool, error) { return o, true, nil }
	}
	p := &Pipeline{config: c, set: s, logger: s.Logger, start: time.Now(), kinds: map[string]*kind{}}
	if err := meter.Register(s.Registry, newMetrics(p)); err != nil {
		return nil, fmt.Errorf("legacy pipeline: register metrics: %w", err)
	}
	return p, nil
}

// now is the queues' clock: nanoseconds since New.
func (p *Pipeline) now() int64 { return int64(time.Since(p.start)) }

// AddKind makes the queues of a kind before its first event.
func (p *Pipeline) AddKind(name string) { p.kind(name) }

// RetireKind does nothing: the original keeps the queues of a kind that has gone.
func (p *Pipeline) RetireKind(string) {}

func (p *Pipeline) kind(name string) *kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kinds[name]
	if k != nil {
		return k
	}
	k = newKind(p, name)
	p.kinds[k.name] = k
	switch {
	case p.closed:
		k.close()
	case p.ctx != nil:
		k.begin(p.ctx)
	}
	return k
}

// sorted are the kinds in the order of their names.
func (p *Pipeline) sorted() []*kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.kinds), func(a, b *kind) int { return cmp.Compare(a.name, b.name) })
}

// Enqueue puts the event's key into its kind's eventQueue. It never waits: that queue
// has no bound.
func (p *Pipeline) Enqueue(_ context.Context, e pipeline.Event) error {
	if e.Key.Kind == "" || e.Key.Name == "" {
		return fmt.Errorf("legacy pipeline: event of %q: want a kind and a name", e.Key)
	}
	since := p.now()
	if !e.Received.IsZero() {
		since = int64(e.Received.Sub(p.start))
	}
	return p.kind(e.Key.Kind).enqueue(e.Key, since)
}

// Run sends until ctx ends, and ends at once then: requests are cut off, what is queued
// is counted as dropped.
func (p *Pipeline) Run(ctx context.Context) error {
	if p.ran.Swap(true) {
		return ErrRunTwice
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	p.ctx = ctx
	for _, k := range p.kinds {
		k.begin(ctx)
	}
	p.mu.Unlock()

	<-ctx.Done()
	p.mu.Lock()
	p.closed = true
	for _, k := range p.kinds {
		k.close()
	}
	p.mu.Unlock()
	p.workers.Wait()
	var left meter.Abandoned
	for _, k := range p.sorted() {
		left.Add(k.name, k.abandon())
	}
	left.Log(p.logger, "the original does not drain")
	return nil
}

// Stats are the event counts of all kinds together. Parked is always 0.
func (p *Pipeline) Stats() meter.Stats {
	var sum meter.Stats
	for _, k := range p.sorted() {
		k.mu.Lock()
		sum = sum.Plus(k.counts())
		k.mu.Unlock()
	}
	return sum
}
