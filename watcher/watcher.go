package watcher

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/leader"
	"github.com/watchbench/watchbench/watcher/meter"
)

// InputError is something wrong in what the user gave; Key names the place in the
// main file where there is one.
type InputError struct {
	File string // the filter file; empty is the main file
	Key  string
	Err  error
}

// In is the error with the file that is wrong; main is the main file.
func (e *InputError) In(main string) error {
	if e.File != "" {
		main = e.File
	}
	return fmt.Errorf("%s: %w", main, e)
}

func (e *InputError) Error() string {
	if e.Key == "" {
		return badinput.Redact(e.Err.Error())
	}
	return e.Key + ": " + badinput.Redact(e.Err.Error())
}
func (e *InputError) Unwrap() error { return e.Err }

// Settings are passed by code.
type Settings struct {
	Logger *slog.Logger // nil: no logs
	// Kube reaches the apiserver; nil: as the configuration says.
	Kube *rest.Config
	// Dial and Listen replace the network towards storage and that of the two HTTP
	// servers, for tests in virtual time; nil is TCP.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Listen func(address string) (net.Listener, error)
}

// Watcher is the WatchManager: it owns the parts and runs them together.
type Watcher struct {
	wanted
	log       *slog.Logger
	listen    listenFunc // nil: TCP
	registry  *prometheus.Registry
	reloads   *prometheus.CounterVec
	elector   *leader.Elector // nil without leader election, and with shards
	sharing   *sharing        // nil without shards
	copying   *copying        // with shards, it only looks at what is served
	resources *resources      // nil where the resource watcher is off

	standby atomic.Bool // another replica leads
	ran     atomic.Bool
}

// New checks everything that can be checked without talking to anybody, and makes all parts.
func New(cfg config.Config, filter config.Filter, s Settings) (*Watcher, error) {
	s.Logger = cmp.Or(s.Logger, slog.New(slog.DiscardHandler))
	if cfg.Port != 0 && cfg.Port == cfg.MetricPort {
		return nil, &InputError{Key: "metric_port",
			Err: fmt.Errorf("%d is the port of health, too (key port): health and metrics need a port each", cfg.Port)}
	}
	w := &Watcher{wanted: wanted{cfg: cfg, filter: filter}, log: s.Logger, listen: s.Listen,
		registry: prometheus.NewRegistry()}
	w.reloads = newReloads(w.registry)
	kube := s.Kube
	var err error
	if kube == nil {
		kube, err = restConfig(cfg.K8s, s.Logger)
	}
	if err != nil {
		return nil, &InputError{Err: err}
	}
	var permit func() error
	registry := w.registry
	switch {
	case cfg.Shards > 1:
		if w.sharing, err = newSharing(w.wanted, s, kube); err != nil {
			return nil, err
		}
		registry = prometheus.NewRegistry()
		err = w.register(w.sharing.group.Held, w.sharing.group.Refused)
	case cfg.LeaderElection.Enabled:
		if err := w.elect(kube); err != nil {
			return nil, &InputError{Key: "leaderElection", Err: err}
		}
		permit = w.elector.Permit
		err = w.register(func() int {
			if w.elector.Leading() {
				return 1
			}
			return 0
		}, w.elector.Refused)
	}
	if err != nil {
		return nil, err
	}
	platform, err := newPlatform(cfg, s, registry, permit)
	if err != nil {
		return nil, err
	}
	if w.copying, err = newCopying(w.wanted, platform, kube, nil, registry, s.Logger); err != nil {
		return nil, err
	}
	w.copying.settled = func() bool { return w.ready() == nil }
	registry.MustRegister(newLags(w.copying))
	w.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if cfg.ResourceWatcher.Enabled {
		w.resources, err = w.newResources(kube)
	}
	return w, err
}

func (w *Watcher) elect(kube *rest.Config) error {
	c, err := w.election()
	if err != nil {
		return err
	}
	c.Settling = func() time.Duration { return w.copying.pipeline.Settling() }
	w.elector, err = leader.New(c, kube, w.log)
	return err
}

func (w wanted) election() (leader.Config, error) {
	c := leader.For(lastWrite(w.cfg))
	host, err := os.Hostname()
	c.Namespace, c.Name = w.cfg.LeaderElection.Namespace, w.cfg.LeaderElection.Name
	c.Identity = fmt.Sprintf("%s-%d-%08x", host, os.Getpid(), rand.Uint32())
	return c, err
}

// register exports what is led: shards where there are some, else 1 or 0.
func (w *Watcher) register(led func() int, refused func() uint64) error {
	if w.sharing != nil {
		all := prometheus.NewGauge(prometheus.GaugeOpts{Name: metric.Shards,
			Help: "Shards that the replicas divide among them."})
		all.Set(float64(w.cfg.Shards))
		if err := meter.Register(w.registry, all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metric.ShardsHeld,
			Help: "Shards that this replica holds."}, func() float64 { return float64(led()) })); err != nil {
			return err
		}
	}
	return meter.Register(w.registry,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metric.Leading,
			Help: "1 while this replica leads, or holds a shard."}, func() float64 { return float64(min(led(), 1)) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: metric.WritesRefused,
			Help: "Writes, and attempts to notify, that did not leave because this replica led no more.",
		}, func() float64 { return float64(refused()) }))
}

// Run watches until ctx ends, then drains. It refuses a second call.
func (w *Watcher) Run(ctx context.Context) error {
	if w.ran.Swap(true) {
		return errors.New("watcher: Run called twice")
	}
	if w.resources != nil {
		defer w.resources.notifier.Close() // for a replica that never led
	}
	serverTLS, err := serverTLS(w.cfg, w.log)
	if err != nil {
		return &InputError{Err: err}
	}
	health, err := bind(w.listen, w.cfg.Address, w.cfg.Port, serverTLS, healthHandler(w.ready, w.down, w.cfg.DebugMode))
	if err != nil {
		return fmt.Errorf("serve health (keys address, port): %w", inUse(err, "", "port"))
	}
	defer health.close()
	metrics, err := bind(w.listen, w.cfg.Address, w.cfg.MetricPort, serverTLS, metricsHandler(w.gatherer()))
	if err != nil {
		return fmt.Errorf("serve metrics (keys address, metric_port): %w", inUse(err, "", "metric_port"))
	}
	defer metrics.close()
	// Consumers first: they end last.
	stages := []lifecycle.Stage{
		{Name: "health", Run: health.Run},
		{Name: "metrics", Run: metrics.Run},
	}
	if r := w.resources; r != nil {
		server, err := r.serve(ctx, w.log)
		if err != nil {
			return err
		}
		defer server.Close()
		stages = append(stages,
			lifecycle.Stage{Name: "discovery", Run: w.discover}, lifecycle.Stage{Name: "watches", Run: r.watches.Run},
			lifecycle.Stage{Name: "resource watcher", Run: server.Run})
	}
	return lifecycle.Run(ctx, append(stages, lifecycle.Stage{Name: "watch", Run: w.lead})...)
}

// discover keeps up with what the cluster serves, for the resource watcher and for what is copied.
func (w *Watcher) discover(ctx context.Context) error {
	return w.copying.served.lookout.Run(ctx, append(w.resources.watches.NotFound(), w.copying.collector.NotFound())...)
}

// lead works at once or, with leader election, while this replica leads.
func (w *Watcher) lead(ctx context.Context) error {
	switch {
	case w.sharing != nil:
		return w.sharing.Run(ctx)
	case w.elector == nil:
		return w.work(ctx)
	}
	w.standby.Store(true)
	err := w.elector.Run(ctx, func(ctx context.Context) error {
		w.standby.Store(false)
		return w.work(ctx)
	})
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted && w.standby.Load() {
		return &InputError{Key: "k8s", Err: err}
	}
	return err
}

func (w *Watcher) work(ctx context.Context) error {
	if w.resources == nil {
		return w.copying.Run(ctx)
	}
	return lifecycle.Run(ctx, lifecycle.Stage{Name: "watch", Run: w.copying.Run}, lifecycle.Stage{Name: "notify",
		Run: func(ctx context.Context) error {
			w.copying.awaitStart(ctx, collectsWithin)
			return w.resources.notifier.Run(ctx)
		}})
}
