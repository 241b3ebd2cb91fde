package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/meter"
)

// ErrClosed is returned by Enqueue once Run's context has ended.
var ErrClosed = errors.New("the pipeline is shutting down and takes no more events")

// Settings are passed by code, beside the user's Config.
type Settings struct {
	Sender    Sender                // required; must return soon after its context ends
	Registry  prometheus.Registerer // nil: no metrics
	Logger    *slog.Logger          // nil: no logs
	ClusterID string                // label of the original's metrics
}

// Pipeline carries events from the watches to storage. See the package's promises.
type Pipeline struct {
	config    Config
	sender    Sender
	logger    *slog.Logger
	clusterID string
	start     time.Time
	virtual   *Virtual // drives the lanes instead of goroutines; nil in a watcher

	lanes  atomic.Pointer[map[string]*lane] // replaced, never written to
	adding sync.Mutex                       // held while lanes is replaced
	writer writer
	pause  atomic.Int64 // until when storage asked to be left alone
	fenced atomic.Int64 // until when a request of unknown outcome may still be applied

	adapting atomic.Int64 // requests in flight of the kinds that adapt
	sharing  atomic.Int64 // of these kinds, those that have any

	refused refusals

	ran     atomic.Bool
	running bool            // guarded by adding
	closing context.Context // ends when Run's has ended
	close   context.CancelFunc
	idle    chan struct{} // size 1: one token says "a lane has emptied, look"
	workers sync.WaitGroup
	sending context.Context // of all requests; ends with the drain
	cut     context.CancelFunc
}

// New makes a pipeline and registers its metrics. Nothing is sent before Run.
func New(c Config, s Settings) (*Pipeline, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("pipeline: %w", err)
	}
	p := &Pipeline{
		config: c, sender: s.Sender, clusterID: s.ClusterID, start: time.Now(),
		logger: cmp.Or(s.Logger, slog.New(slog.DiscardHandler)),
		idle:   make(chan struct{}, 1),
	}
	p.writer.capacity = c.WriterQueueLen
	p.lanes.Store(&map[string]*lane{})
	p.closing, p.close = context.WithCancel(context.Background())
	p.sending, p.cut = context.WithCancel(context.Background())
	return p, meter.Register(s.Registry, newCollector(p))
}

// now is the queues' clock: nanoseconds since New, monotonic.
func (p *Pipeline) now() int64 {
	if p.virtual != nil {
		return p.virtual.now
	}
	return int64(time.Since(p.start))
}

// AddKind makes the metrics of a kind appear, at 0, before its first event.
func (p *Pipeline) AddKind(kind string) { p.lane(kind).retire(false) }

func (p *Pipeline) lane(kind string) *lane {
	if l := (*p.lanes.Load())[kind]; l != nil {
		return l
	}
	p.adding.Lock()
	defer p.adding.Unlock()
	known := *p.lanes.Load()
	if l := known[kind]; l != nil {
		return l
	}
	l := newLane(p, kind)
	l.running = p.running
	l.closed = p.closing.Err() != nil
	l.stopped = p.sending.Err() != nil
	more := maps.Clone(known)
	more[strings.Clone(kind)] = l
	p.lanes.Store(&more)
	return l
}

// RetireKind ends the goroutines of a kind that is no longer collected as soon as they
// have nothing to send. Its counters stay: they are part of the conservation law.
// Events that come later are sent all the same; AddKind takes the kind back.
func (p *Pipeline) RetireKind(kind string) {
	if l := (*p.lanes.Load())[kind]; l != nil {
		l.retire(true)
	}
}

// sorted are the lanes in the order of their kinds.
func (p *Pipeline) sorted() []*lane {
	lanes := slices.Collect(maps.Values(*p.lanes.Load()))
	slices.SortFunc(lanes, func(a, b *lane) int { return strings.Compare(a.kind, b.kind) })
	return lanes
}

// Enqueue accepts one event. The order of one object's events is the order of the
// calls, so events of one kind must come from one goroutine. It waits only under Block
// and Drop, and only while the event's own handler queue and the Writer are both at
// capacity. An error means that the event is dropped and counted so; an event that
// Drop discards returns nil.
func (p *Pipeline) Enqueue(ctx context.Context, e Event) error {
	if err := e.check(); err != nil {
		return err
	}
	now := p.now()
	l := p.lane(e.Key.Kind)
	l.mu.Lock()
	l.received++
	if l.closed {
		l.dropped++
		l.mu.Unlock()
		return ErrClosed
	}
	l.queued++
	if l.place(&e, now, nil) {
		l.trim(now)
		l.mu.Unlock()
		return nil
	}
	if err := newWaiter(l).place(ctx, &e); err != nil {
		return fmt.Errorf("enqueue %s: %w", e.Key, err)
	}
	return nil
}

// Run sends until ctx ends, then goes on for DrainTimeout at most, or not at all if that
// was at once (lifecycle.AtOnce), then cancels what is in flight and counts what is left
// as dropped. It returns after all its goroutines.
func (p *Pipeline) Run(ctx context.Context) error {
	if p.ran.Swap(true) {
		return lifecycle.ErrRunTwice
	}
	defer p.cut()
	p.adding.Lock()
	p.running = true
	for _, l := range *p.lanes.Load() {
		l.begin()
	}
	p.adding.Unlock()

	<-ctx.Done()
	late, reason := lifecycle.EndedAtOnce(ctx), "not sent before the drain deadline"
	if late {
		p.cut()
		reason = "sending ended at once"
	}
	p.adding.Lock()
	p.close()
	for _, l := range *p.lanes.Load() {
		l.mu.Lock()
		l.closed = true // what waits is still sent
		l.mu.Unlock()
	}
	p.adding.Unlock()

	before, began := p.Stats(), time.Now()
	if before.Queued > 0 {
		p.logger.Info("draining", "events", before.Queued, "drainTimeout", p.config.DrainTimeout)
	}
	drain := time.NewTimer(p.config.DrainTimeout)
	defer drain.Stop()
	for !late && !p.Idle() {
		select {
		case <-p.idle:
		case <-drain.C:
			late = true
		}
	}

	p.adding.Lock()
	p.cut()
	for _, l := range *p.lanes.Load() {
		l.mu.Lock()
		l.stop()
		l.mu.Unlock()
	}
	p.adding.Unlock()
	p.workers.Wait()
	var left meter.Abandoned // what the drain did not get through
	for _, l := range p.sorted() {
		left.Add(l.kind, l.abandon())
	}
	after := p.Stats()
	sent := after.Sent - before.Sent
	if after.Dropped == before.Dropped {
		p.logger.Info("drained", "sent", sent, "parked", after.Parked, "took", time.Since(began).Round(time.Millisecond))
	}
	left.Log(p.logger, reason, "sent", sent, "parked", after.Parked, "drainTimeout", p.config.DrainTimeout)
	return nil
}

// Settling is how long a request of unknown outcome may still be applied; 0 if there is
// none.
func (p *Pipeline) Settling() time.Duration {
	return time.Duration(max(0, p.fenced.Load()-p.now()))
}

// raise sets a time that all kinds share; the latest wins.
func raise(to *atomic.Int64, at int64) {
	for {
		old := to.Load()
		if old >= at || to.CompareAndSwap(old, at) {
			return
		}
	}
}

// act does what a report is for. No lane's mutex is held.
func (p *Pipeline) act(r *report) {
	if r.release {
		for _, l := range *p.lanes.Load() {
			l.release(p.now())
		}
	}
	p.logger.Log(context.Background(), r.level, r.message, r.attrs...)
}
