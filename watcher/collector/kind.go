package collector

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/object"
)

// kind collects one resource: a reflector over a source into a store.
type kind struct {
	resource Resource
	whole    bool // no selector, namespace or shard limits its objects
	source   *source
	store    *store // also of the kind that took its place, see MoveResource
	verifier *verifier
	again    atomic.Pointer[context.CancelFunc] // ends the list and watch that goes on

	backoff wait.Backoff
	after   func(context.Context) // waits for what must come before the first list; nil: nothing
	pauses  pauses
	once    sync.Once // guards the one start or stop before it
	cancel  context.CancelFunc
	done    chan struct{} // closed when everything has ended
}

func (c *Collector) newKind(r Resource) *kind {
	m := c.metrics.of(r.Key(), c.config.Shard != nil)
	m.synced.Set(0)
	m.cacheKeys.Set(0)
	st := &store{
		resource: r, kind: r.Key(),
		filter:  filter{c.config.IgnoreNamespaces, c.config.IgnoreNames},
		sink:    c.sink,
		take:    c.first,
		metrics: m,
		logger:  c.logger.With("kind", r.Key()),
		synced:  make(chan struct{}),

		contents: contents{objects: map[name]*object.Object{}},
	}
	st.view.Store(c.newView(r))
	return c.kindOf(r, st)
}

// kindOf collects r into a store.
func (c *Collector) kindOf(r Resource, st *store) *kind {
	v := &verifier{
		Verify: c.config.Verify, resource: r, store: st, doubted: make(chan struct{}, 1),
		life: newLife(func() { lifecycle.Signal(c.notFound) }),
	}
	st.life, st.doubt, st.patient = v.life, v.doubt, v.Period >= 0
	k := &kind{
		resource: r, store: st, verifier: v,
		whole: r.LabelSelector == "" && c.config.Shard == nil && (c.config.Namespace == "" || !r.Namespaced),
		source: &source{
			afresh: st.afresh.Load, doubt: v.doubt,
			conn: c.conn, resource: r, namespace: c.config.Namespace, idle: c.config, plain: c.config.PlainList,
			metadata: c.config.Metadata,
			decoder: decoder{kind: r.Key(), recipe: c.config.recipe(r), known: st.known, listing: c.listing,
				shard: c.config.Shard, passed: st.metrics.passed},
			metrics: st.metrics, logger: st.logger, life: v.life,
			opens: rate.NewLimiter(watchesPerSecond, watchesAtOnce),
		},
		backoff: c.backoff,
		done:    make(chan struct{}),
	}
	v.source = k.source
	v.again = func() {
		if cancel := k.again.Load(); cancel != nil {
			(*cancel)()
		}
	}
	if other := c.config.After[r.Key()]; other != "" && !k.synced() {
		k.after = func(ctx context.Context) { c.waitFor(ctx, other, st.logger) }
	}
	return k
}

// start begins to collect. Its goroutine is waited for by stop.
func (k *kind) start(ctx context.Context) {
	k.once.Do(func() {
		ctx, k.cancel = context.WithCancel(ctx)
		k.store.ctx = ctx
		k.pauses.begin(ctx)
		go k.run(ctx)
	})
}

func (k *kind) run(ctx context.Context) {
	defer close(k.done)
	if k.after != nil {
		k.after(ctx)
	}
	var verifying sync.WaitGroup
	verifying.Go(func() { k.verifier.run(ctx) })
	k.reflect(ctx)
	k.source.running.wait()
	verifying.Wait()
}

func (k *kind) reflector(logger *logr.Logger) *cache.Reflector {
	return cache.NewReflectorWithOptions(k.source, nil, k.store, cache.ReflectorOptions{
		Name: k.store.kind, TypeDescription: k.resource.String(), Logger: logger,
		Backoff: &k.backoff,
		Clock:   stoppableClock{clock.RealClock{}, k.pauses.context},
	})
}

// quiet makes debug lines of all that client-go logs: each try of each kind. What they amount to, State says.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if !q.Enabled(ctx, r.Level) { // logr does not ask for errors
		return nil
	}
	r.Level = slog.LevelDebug
	return q.Handler.Handle(ctx, r)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }
func (q quiet) WithGroup(name string) slog.Handler       { return quiet{q.Handler.WithGroup(name)} }

// reflect lists and watches again and again until ctx ends.
func (k *kind) reflect(ctx context.Context) {
	logger := logr.FromSlogHandler(quiet{k.source.logger.Handler()})
	ctx = klog.NewContext(ctx, logger)
	r := k.reflector(&logger)
	pause := newPause(k.backoff)
	for ctx.Err() == nil {
		start := time.Now()
		k.store.begin()
		attempt, cancel := context.WithCancel(ctx)
		k.again.Store(&cancel)
		if k.store.afresh.Load() {
			r = k.reflector(&logger) // another one knows of no version
		}
		if err := r.ListAndWatchWithContext(attempt); err != nil {
			cache.DefaultWatchErrorHandler(attempt, r, err)
		}
		again := attempt.Err() != nil // the verifier wants another list
		cancel()
		if again {
			continue
		}
		k.pauses.under.Store(true)
		_ = lifecycle.Pause(k.pauses.context(), pause.after(k.store.attempt(start)))
		k.pauses.under.Store(false)
	}
}

// stop ends the collection and waits for it. A kind that was never started is done.
func (k *kind) stop() {
	k.once.Do(func() { close(k.done) })
	if k.cancel != nil {
		k.cancel()
	}
	<-k.done
}

func (k *kind) synced() bool { return k.store.isSynced() }

// stoppableClock is the real clock whose After also fires when a context of that moment ends: the reflector makes some
// of its pauses, up to a minute, without a look at its own.
type stoppableClock struct {
	clock.RealClock
	context func() context.Context
}

var _ clock.Clock = stoppableClock{}

func (c stoppableClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1) // the one value, so that nobody waits to give it
	give := func() {
		select {
		case fired <- time.Now():
		default:
		}
	}
	stop := context.AfterFunc(c.context(), give)
	time.AfterFunc(d, func() {
		stop()
		give()
	})
	return fired
}
