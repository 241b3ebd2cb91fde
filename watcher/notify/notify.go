package notify

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/watches"
)

// Kinds opens what subscriptions follow.
type Kinds interface {
	Open(context.Context, watches.GVR, watches.Wait) (*watches.Watch, error)
}

// Settings are passed by code.
type Settings struct {
	Kinds Kinds // required
	// Permit is asked right before each try; an error keeps the event in the queue. Nil permits everything.
	Permit   func() error
	Registry prometheus.Registerer // nil: no metrics
	Logger   *slog.Logger          // nil: no logs
}

// Notifier is made by New and works while Run does. See the package's promises.
type Notifier struct {
	drain time.Duration
	subs  []*subscription
	ran   atomic.Bool
}

// New checks the configuration and registers the metrics. Nothing is connected before Run.
func New(c Config, s Settings) (*Notifier, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s.Logger = cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	n := &Notifier{drain: time.Duration(c.DrainTimeout)}
	m := newMetrics()
	for i, sub := range c.Subscriptions {
		if err := n.add(sub.withDefaults(), s, m); err != nil {
			return nil, fmt.Errorf("subscriptions[%d]: %w", i, err)
		}
	}
	return n, meter.Register(s.Registry,
		append(m.queues, m.delivered, m.retried, m.deadLettered, m.lost, m.missed, m.latency)...)
}

func (n *Notifier) add(c Subscription, s Settings, m *metrics) error {
	f, err := newFilter(c)
	if err != nil {
		return err
	}
	t, err := newTarget(c)
	if err != nil {
		return err
	}
	sub := &subscription{
		Subscription: c, settings: s, logger: s.Logger.With("subscription", c.Name), target: t, filter: f,
		queue: newQueue(c.Queue), metrics: m, failing: rate.Sometimes{Interval: logEvery},
		letter: rate.Sometimes{Interval: logEvery}, unserved: rate.Sometimes{Interval: unservedEvery},
	}
	m.begin(c.Name, sub.queue)
	n.subs = append(n.subs, sub)
	return nil
}

func newTarget(c Subscription) (target, error) {
	switch t := c.Target; {
	case t.isWebhook():
		return NewWebhook(t.Webhook, c.Workers)
	case t.isNATS():
		return NewNATS(t.NATS)
	default:
		return NewKafka(t.Kafka)
	}
}

// Run follows and delivers until ctx ends. Then it takes no more changes and delivers what
// is queued, for the drain timeout at most; what is left is counted. Where ctx ends at once
// (lifecycle.AtOnce) it waits for nothing. It returns nil after all its goroutines have ended.
func (n *Notifier) Run(ctx context.Context) error {
	if !n.ran.CompareAndSwap(false, true) {
		return lifecycle.ErrRunTwice
	}
	defer n.Close()
	hard, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var following, working sync.WaitGroup
	for _, s := range n.subs {
		following.Go(func() { s.follow(ctx) })
		for range s.Workers {
			working.Go(func() { s.work(hard) })
		}
	}
	<-ctx.Done()
	following.Wait()
	if !lifecycle.EndedAtOnce(ctx) {
		n.await(lifecycle.Hurry(ctx))
	}
	stop()
	for _, s := range n.subs {
		s.target.Close() // not all clients end with a context
	}
	working.Wait()
	for _, s := range n.subs {
		s.end()
	}
	return nil
}

// await returns when all queues are empty, the drain timeout is over, or hurry ends.
func (n *Notifier) await(hurry context.Context) {
	timer := time.NewTimer(n.drain)
	defer timer.Stop()
	for _, s := range n.subs {
		select {
		case <-s.queue.drained():
		case <-timer.C:
			return
		case <-hurry.Done():
			return
		}
	}
}

// Close ends the targets' connections. Run does it at its end.
func (n *Notifier) Close() {
	for _, s := range n.subs {
		s.target.Close()
	}
}
