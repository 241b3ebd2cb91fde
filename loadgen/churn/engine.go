package churn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/shape"
)

// Recorder takes the records of the op log. *oplog.Writer is one.
type Recorder interface {
	Append(oplog.Record)
}

var _ Recorder = (*oplog.Writer)(nil)

// Settings configure an Engine, beside the plan.
type Settings struct {
	REST   *rest.Config // how to reach the apiserver; not changed
	Log    Recorder
	Logger *slog.Logger
	// RequestTimeout bounds one attempt; 0: 10 s. An attempt that it ends may take effect all the same.
	RequestTimeout time.Duration
	// Meet: no process tells the shards of the plan when to begin and to end, so each waits for the others.
	Meet bool
}

// Engine executes one plan once. The package documentation has the order of calls.
type Engine struct {
	*journal
	*wire
	heart heart

	plan   *plan.Plan
	logger *slog.Logger

	meets                     bool         // other shards, before and after the load
	planned                   int64        // load operations; 0: not known before
	loadStarted, loadFinished atomic.Int64 // Unix ns

	stats   stats // of the load
	health  health
	created *created
}

// New connects to nothing yet; it fails on a config no client can be made from.
func New(p *plan.Plan, s Settings) (*Engine, error) {
	cfg := p.Config()
	client, err := newClients(s.REST, concurrency(p))
	if err != nil {
		return nil, err
	}
	logger := s.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	j, c := newJournal(s.Log, p.Shard()), &created{outside: map[outside]types.UID{}, pods: map[string]*object{}}
	w := &wire{cfg: cfg, rest: client.control, client: client, timeout: cmp.Or(s.RequestTimeout, requestTimeout),
		targets: &targets{all: map[weak.Pointer[plan.Target]]*openObject{}},
		shape:   shape.New(shape.Config{RunID: cfg.RunID, Namespaces: cfg.NamespaceName, Nodes: cfg.NodeName})}
	return &Engine{journal: j, wire: w, created: c, logger: logger, heart: heart{j, w, c, logger}, plan: p,
		meets: s.Meet && p.Shard().Divides(), planned: p.Planned()}, nil
}

// Close frees the connections. The Engine cannot be used after it.
func (e *Engine) Close() { e.client.close() }

// concurrency is about how many requests are under way at once, at most.
func concurrency(p *plan.Plan) int {
	cfg := p.Config()
	if cfg.Model == plan.ModelOpen {
		return p.Shard().Share(cfg.InFlightLimit())
	}
	threads := p.Shard().Share(cfg.Threads)
	if h := cfg.Hotkeys; h != nil {
		// The part of the threads that are in a burst, rounded up.
		return threads + h.Burst*int(math.Ceil(h.Share*float64(threads)))
	}
	return threads
}

// object is the state of an object of the plan. Its creation sets the fields before anything else is sent.
type object struct {
	kind            string // as in the op log
	namespace, name string
	uid             types.UID

	mu      sync.Mutex // guards what follows
	version uint64     // the highest that was answered: those of a burst come in any order
	since   int64      // it existed then: the last request that was acknowledged began
	gone    bool       // its deletion is in the op log
}

func (p *object) reached(version uint64, started int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version, p.since = max(p.version, version), max(p.since, started)
}

func (p *object) last() (version uint64, since int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version, p.since
}

// end reports whether the object's deletion was not yet in the op log. Now it is.
func (p *object) end() (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, p.gone = !p.gone, true
	return first
}

type outside struct {
	kind            string
	in              schema.GroupVersionResource
	namespace, name string
}

type created struct {
	mu         sync.Mutex // guards what follows
	namespaces []string
	outside    map[outside]types.UID // "": not known
	pods       map[string]*object    // by namespace/name; live as far as is known
}

func (c *created) keep(o outside, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outside[o] = uid
}

// add notes what is not left to the deletion of its namespace: that is slow for many pods.
func (c *created) add(p *object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case p.kind == kindPod:
		c.pods[p.namespace+"/"+p.name] = p
	case p.kind == kindNode, p.kind == kindLease && p.namespace == leaseNamespace:
		c.outside[p.outside()] = p.uid
	}
}

func (c *created) drop(p *object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.kind == kindPod {
		delete(c.pods, p.namespace+"/"+p.name)
	}
	delete(c.outside, p.outside())
}

func (c *created) has(kind, namespace, name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.outside[outside{kind, resource(kind), namespace, name}]
	return ok
}

func (p *object) outside() outside { return outside{p.kind, resource(p.kind), p.namespace, p.name} }

func resource(kind string) schema.GroupVersionResource {
	r, _ := shape.Resource(kind)
	return r
}

// Kinds that the engine treats each in a way of its own.
const (
	kindPod   = "Pod"
	kindNode  = "Node"
	kindLease = "Lease"
)

// ErrUnusable means that the apiserver refused or failed so many operations in a row that going on has no point.
var ErrUnusable = errors.New("the apiserver does not take the load")

// A phase ends after maxFailuresInARow operations in a row were given up over at least minOutage: an apiserver takes
// seconds to restart.
const (
	maxFailuresInARow = 50
	minOutage         = 15 * time.Second
)

// health ends a phase when nothing succeeds any more.
type health struct {
	mu     sync.Mutex // guards what follows
	failed int        // in a row
	since  time.Time  // when the first of them failed
	cancel context.CancelCauseFunc
}

func (h *health) watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	h.failed, h.cancel = 0, cancel
	h.mu.Unlock()
	return ctx, func() { cancel(nil) }
}

func (h *health) report(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.failed = 0
		return
	}
	if h.failed++; h.failed == 1 {
		h.since = time.Now()
	}
	if h.failed >= maxFailuresInARow && time.Since(h.since) >= minOutage && h.cancel != nil {
		h.cancel(fmt.Errorf("%w: %d operations failed in a row, the last: %w", ErrUnusable, h.failed, err))
	}
}
