package bcs

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

// Alert is one warning about one Pod.
type Alert struct {
	OwnerUID  string // of the Pod's first owner
	Namespace string
	Pod       string
	Reason    string
	Message   string
	At        time.Time
}

// text is how the alert reads in every message.
func (a Alert) text() string { return fmt.Sprintf("[Pod %s]%s:%s", a.Pod, a.Reason, a.Message) }

// sameAs identifies a warning: the same reason on the same Pod.
type sameAs struct{ owner, namespace, pod, reason string }

func (a Alert) key() sameAs { return sameAs{a.OwnerUID, a.Namespace, a.Pod, a.Reason} }

// Pods finds a Pod in the watcher's cache.
type Pods interface {
	Get(object.Key) (*object.Object, bool)
}

// fromEvent makes the alert of a Kubernetes Event; ok is false for one that is
// none: not a Warning, not about a Pod, a Pod not cached or without an owner.
func fromEvent(o *object.Object, pods Pods) (a Alert, ok bool, err error) {
	ev, err := object.ParseEvent(o.JSON())
	if err != nil {
		return a, false, err
	}
	if ev.Type != "Warning" || ev.InvolvedObject.Kind != "Pod" {
		return a, false, nil
	}
	pod, found := pods.Get(object.Key{Kind: "Pod", Namespace: ev.InvolvedObject.Namespace, Name: ev.InvolvedObject.Name})
	if !found {
		return a, false, nil
	}
	owners, err := object.Owners(pod.JSON())
	if err != nil || len(owners) == 0 {
		return a, false, err
	}
	return Alert{
		OwnerUID: owners[0].UID, Namespace: ev.InvolvedObject.Namespace, Pod: ev.InvolvedObject.Name,
		Reason: ev.Reason, Message: ev.Message, At: ev.When(ev.LastTimestamp, ev.EventTime),
	}, true, nil
}

// Target delivers alerts. An error means that the delivery may be retried.
type Target interface {
	Post(ctx context.Context, a Alert) error
}

// AlertConfig of the Alertor.
type AlertConfig struct {
	Convergence time.Duration // how long a repeated warning is suppressed
	QueueLen    int           // alerts
	Tries       int           // per alert
	RetryMin    time.Duration // pause after the first failure, doubled at each
	RetryMax    time.Duration
	Timeout     time.Duration // of one try
}

// DefaultAlerts has the original's window and queue (contract §6); the rest is ours.
func DefaultAlerts() AlertConfig {
	return AlertConfig{
		Convergence: 60 * time.Second, QueueLen: 2048, Tries: 6,
		RetryMin: 500 * time.Millisecond, RetryMax: 30 * time.Second, Timeout: 10 * time.Second,
	}
}

// maxRemembered bounds the memory of the convergence window; beyond it the window is
// cut short, which delivers a warning twice rather than never.
const maxRemembered = 1 << 16

// AlertorSettings are passed by code.
type AlertorSettings struct {
	Pods     Pods
	Target   Target
	Registry prometheus.Registerer
	Logger   *slog.Logger
}

// Alertor is made by New; Observe feeds it while Run works.
type Alertor struct {
	cfg     AlertConfig
	set     AlertorSettings
	since   time.Time
	queue   chan Alert // QueueLen alerts of a few hundred bytes each
	results *prometheus.CounterVec
	running atomic.Bool

	// mu guards sent: when each warning was last queued for delivery.
	mu   sync.Mutex
	sent map[sameAs]time.Time
}

// NewAlertor starts nothing.
func NewAlertor(cfg AlertConfig, set AlertorSettings) (*Alertor, error) {
	a := &Alertor{
		cfg: cfg, set: set, since: time.Now(), sent: map[sameAs]time.Time{}, queue: make(chan Alert, cfg.QueueLen),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metric.Alerts, Help: "Alerts by result.",
		}, []string{"result"}),
	}
	for _, r := range []string{"sent", "failed", "dropped", "converged", "old"} {
		a.results.WithLabelValues(r)
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
		a.results.WithLabelValues("old").Inc()
		return
	}
	if !a.first(al) {
		a.results.WithLabelValues("converged").Inc()
		return
	}
	select {
	case a.queue <- al:
	default:
		a.results.WithLabelValues("dropped").Inc()
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
	for {
		select {
		case <-ctx.Done():
			return nil
		case al := <-a.queue:
			result := "sent"
			if err := a.deliver(ctx, al); err != nil {
				result = "failed"
				a.set.Logger.Warn("alert not delivered", "pod", al.Namespace+"/"+al.Pod, "reason", al.Reason, "error", err)
			}
			a.results.WithLabelValues(result).Inc()
		}
	}
}

func (a *Alertor) deliver(ctx context.Context, al Alert) error {
	pause := a.cfg.RetryMin
	for try := 1; ; try++ {
		tctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
		err := a.set.Target.Post(tctx, al)
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
