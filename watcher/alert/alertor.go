package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
)

// Target delivers alerts. An error means that the delivery may be retried.
type Target interface {
	Name() string
	Post(ctx context.Context, a Alert) error
}

// Config of the Alertor.
type Config struct {
	Convergence time.Duration // how long a repeated warning is suppressed
	QueueLen    int           // alerts per target
	Tries       int           // per alert and target
	RetryMin    time.Duration // pause after the first failure, doubled at each
	RetryMax    time.Duration
	Timeout     time.Duration // of one try
}

// Default has the original's window and queue (contract §6); the rest is ours.
func Default() Config {
	return Config{
		Convergence: 60 * time.Second, QueueLen: 2048, Tries: 6,
		RetryMin: 500 * time.Millisecond, RetryMax: 30 * time.Second, Timeout: 10 * time.Second,
	}
}

// maxRemembered bounds the memory of the convergence window; beyond it the window is
// cut short, which delivers a warning twice rather than never.
const maxRemembered = 1 << 16

// Settings are passed by code.
type Settings struct {
	Pods     Pods
	Targets  []Target
	Registry prometheus.Registerer
	Logger   *slog.Logger
}

// Alertor is made by New; Observe feeds it while Run works.
type Alertor struct {
	cfg     Config
	set     Settings
	since   time.Time
	queues  []chan Alert
	results *prometheus.CounterVec
	running atomic.Bool

	// mu guards sent: when each warning was last queued for delivery.
	mu   sync.Mutex
	sent map[sameAs]time.Time
}

// New starts nothing.
func New(cfg Config, set Settings) (*Alertor, error) {
	if len(set.Targets) == 0 {
		return nil, errors.New("alertor: no target")
	}
	a := &Alertor{
		cfg: cfg, set: set, since: time.Now(), sent: map[sameAs]time.Time{},
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metric.Alerts, Help: "Alerts by target and result.",
		}, []string{"target", "result"}),
	}
	for _, t := range set.Targets {
		// QueueLen alerts of a few hundred bytes each.
		a.queues = append(a.queues, make(chan Alert, cfg.QueueLen))
		for _, r := range []string{"sent", "failed", "dropped"} {
			a.results.WithLabelValues(t.Name(), r)
		}
	}
	for _, r := range []string{"converged", "old"} {
		a.results.WithLabelValues("all", r)
	}
	if err := meter.Register(set.Registry, a.results); err != nil {
		return nil, fmt.Errorf("register alert metrics: %w", err)
	}
	return a, nil
}

// Observe takes a Kubernetes Event that was added or changed. It never blocks.
func (a *Alertor) Observe(o *object.Object) {
	al, ok, err := fromEvent(o, a.set.Pods)
	if err != nil {
		a.set.Logger.Warn("Event not readable", "event", o.Key, "error", err)
		return
	}
	if !ok {
		return
	}
	// The start by today's wall clock, which may have been set since then. Kubernetes times
	// have whole seconds.
	if since := time.Now().Add(-time.Since(a.since)); al.At.Before(since.Truncate(time.Second)) {
		a.results.WithLabelValues("all", "old").Inc()
		return
	}
	if !a.first(al) {
		a.results.WithLabelValues("all", "converged").Inc()
		return
	}
	for i, q := range a.queues {
		select {
		case q <- al:
		default:
			a.results.WithLabelValues(a.set.Targets[i].Name(), "dropped").Inc()
		}
	}
}

// first reports whether the warning is new within the window.
func (a *Alertor) first(al Alert) bool {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if t, ok := a.sent[al.key()]; ok && now.Sub(t) < a.cfg.Convergence {
		return false
	}
	if len(a.sent) >= maxRemembered {
		for k, t := range a.sent {
			if now.Sub(t) >= a.cfg.Convergence {
				delete(a.sent, k)
			}
		}
		if len(a.sent) >= maxRemembered {
			clear(a.sent)
		}
	}
	a.sent[al.key()] = now
	return true
}

// Run delivers until ctx ends. What is queued then is dropped: an alert
// that outlives its watcher would come at the wrong time.
func (a *Alertor) Run(ctx context.Context) error {
	if !a.running.CompareAndSwap(false, true) {
		return errors.New("alertor: Run called twice")
	}
	var wg sync.WaitGroup
	for i, t := range a.set.Targets {
		wg.Go(func() { a.serve(ctx, t, a.queues[i]) })
	}
	wg.Wait()
	return nil
}

func (a *Alertor) serve(ctx context.Context, t Target, q <-chan Alert) {
	for {
		select {
		case <-ctx.Done():
			return
		case al := <-q:
			result := "sent"
			if err := a.deliver(ctx, t, al); err != nil {
				result = "failed"
				a.set.Logger.Warn("alert not delivered", "target", t.Name(), "pod", al.Namespace+"/"+al.Pod, "reason", al.Reason,
					"error", err)
			}
			a.results.WithLabelValues(t.Name(), result).Inc()
		}
	}
}

func (a *Alertor) deliver(ctx context.Context, t Target, al Alert) error {
	pause := a.cfg.RetryMin
	for try := 1; ; try++ {
		tctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
		err := t.Post(tctx, al)
		cancel()
		if err == nil || try >= a.cfg.Tries || ctx.Err() != nil {
			return err
		}
		if lifecycle.Pause(ctx, pause/2+rand.N(pause/2+1)) != nil {
			return err
		}
		pause = min(2*pause, a.cfg.RetryMax)
	}
}
