package watcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/alert"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/kinds"
	"github.com/watchbench/watchbench/watcher/leader"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
	"github.com/watchbench/watchbench/watcher/storage"
	"github.com/watchbench/watchbench/watcher/synchronizer"
	"github.com/watchbench/watchbench/watcher/watches"
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
	// Kube is how to reach the apiserver; nil is what the configuration says.
	Kube *rest.Config
	// Dial and Listen replace the network towards storage and that of the two HTTP
	// servers, for tests in virtual time; nil is TCP.
	Dial   func(ctx context.Context, network, address string) (net.Conn, error)
	Listen func(address string) (net.Listener, error)
}

// Watcher is the WatchManager: it owns the parts and runs them together.
type Watcher struct {
	cfg           config.Config
	filter        config.Filter
	log           *slog.Logger
	listen        listenFunc // nil: TCP
	registry      *prometheus.Registry
	kube          *rest.Config
	storage       *storage.Client
	reloads       *prometheus.CounterVec
	elector       *leader.Elector // nil without leader election
	alertmanagers []*alert.Alertmanager
	pipeline      *pipeline.Pipeline // nil under the profile "legacy"
	owners        *owners            // nil under the profile "legacy"
	path          path               // of the events; pipeline, if there is one
	resources     *resources         // nil where the resource watcher is off

	// collector is made by Run, when the cluster has said what there is to watch.
	collector    atomic.Pointer[collector.Collector]
	collects     chan struct{}                             // closed when collector is there
	synchronizer atomic.Pointer[synchronizer.Synchronizer] // nil where nothing is compared
	// definitions collects the CustomResourceDefinitions; nil where none are followed.
	definitions *collector.Collector
	complete    atomic.Bool           // the last look at what the cluster serves missed no group
	waiting     atomic.Pointer[error] // what the start waits for, nil while it waits for nothing
	// undiscovered is that the last look missed something, nil if it did not.
	undiscovered atomic.Pointer[trouble]
	standby      atomic.Bool // another replica leads
	ran          atomic.Bool
}

// New checks everything that can be checked without talking to anybody.
func New(cfg config.Config, filter config.Filter, s Settings) (*Watcher, error) {
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Port != 0 && cfg.Port == cfg.MetricPort {
		return nil, &InputError{Key: "metric_port", Err: fmt.Errorf("%d is the port of health, too (key port): health and metrics need a port each", cfg.Port)}
	}
	w := &Watcher{cfg: cfg, filter: filter, log: s.Logger, listen: s.Listen, registry: prometheus.NewRegistry(), collects: make(chan struct{})}
	w.reloads = newReloads(w.registry)
	w.registry.MustRegister(newLags(w), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var err error
	if w.kube = s.Kube; w.kube == nil {
		w.kube, err = restConfig(cfg.K8s, s.Logger)
	}
	if err != nil {
		return nil, &InputError{Err: err}
	}
	tlsFiles, err := clientTLS("bcs.tls", cfg.BCS.TLS, cfg.BCS.InsecureSkipVerify)
	if err != nil {
		return nil, &InputError{Err: err}
	}
	if cfg.BCS.InsecureSkipVerify {
		w.log.Warn("the certificates of storage, netservice and bcs-health are not verified: whoever is on the way can read and change what is sent",
			"key", "bcs.insecureSkipVerify")
	}
	if w.alertmanagers, err = newAlertmanagers(cfg); err != nil {
		return nil, err
	}
	token, err := storageToken(cfg.BCS, s.Logger)
	if err != nil {
		return nil, &InputError{Key: "bcs.custom-storage-endpoints-tokenFile", Err: err}
	}
	storageSettings := storage.Settings{TLS: tlsFiles, Registry: w.registry, Token: token, Dial: s.Dial}
	if cfg.LeaderElection.Enabled {
		if w.elector, err = w.newElector(); err != nil {
			return nil, &InputError{Key: "leaderElection", Err: err}
		}
		storageSettings.Permit = w.elector.Permit
	}
	if w.isLegacy() {
		storageSettings.Registry = nil // what this client reads is not counted, the path's own client is
	}
	w.storage, err = storage.New(storageConfig(cfg), storageSettings)
	if err != nil {
		return nil, &InputError{Key: "bcs.custom-storage-endpoints", Err: err}
	}
	if w.isLegacy() {
		if w.path, err = w.legacyPath(storageSettings); err != nil {
			return nil, err
		}
		return w, w.addResources()
	}
	w.owners = newOwners(w.collector.Load)
	send := &sender{storage: w.storage, workload: workload{cache: w}, owners: w.owners, unnamed: func(kind string) bool {
		s := w.synchronizer.Load()
		return s != nil && s.Unnamed(kind)
	}, clusterScoped: func(kind string) bool {
		return w.collector.Load().ClusterScoped(kind)
	}}
	w.pipeline, err = pipeline.New(pipelineConfig(cfg), pipeline.Settings{
		Sender: send, Registry: w.registry, Logger: s.Logger, ClusterID: cfg.Default.ClusterID,
	})
	if err != nil {
		return nil, &InputError{Key: "bcs", Err: err}
	}
	w.path = w.pipeline
	return w, w.addResources()
}

// Get is the cached state of an object; nothing is cached before Run has asked the
// cluster what there is.
func (w *Watcher) Get(k object.Key) (*object.Object, bool) {
	c := w.collector.Load()
	if c == nil {
		return nil, false
	}
	return c.Get(k)
}

// ready is what /readyz says: the first list of every kind is cached and compared with
// storage and no watch is lost, or another replica leads and this one is ready to follow.
// Kinds that are pinned for readers count in both.
func (w *Watcher) ready() error {
	var lost []error
	var waiting []string
	if w.resources != nil {
		var unsynced []watches.GVR
		unsynced, lost = w.resources.watches.Unready()
		waiting = texts(unsynced)
	}
	if w.standby.Load() {
		if err := w.elector.Trouble(); err != nil {
			return err
		}
		return missing(lost, waiting)
	}
	c := w.collector.Load()
	if c == nil {
		if err := w.waiting.Load(); err != nil {
			return fmt.Errorf("not started: %w", *err)
		}
		return errors.New("not started")
	}
	lost = append(c.Lost(), lost...)
	if w.definitions != nil {
		lost = append(lost, w.definitions.Lost()...)
		waiting = append(waiting, texts(w.definitions.Unsynced())...)
	}
	if w.idle(len(c.Resources())) && len(lost) == 0 {
		return errors.New("nothing is watched: the filter file lets no kind through; the log and k8s-watch check say why")
	}
	if err := missing(lost, append(texts(c.Unsynced()), waiting...)); err != nil {
		return err
	}
	if s := w.synchronizer.Load(); s != nil {
		if waiting := s.Uncompared(); len(waiting) > 0 {
			return fmt.Errorf("not compared with storage: %v", waiting)
		}
	}
	return w.storage.Reachable()
}

// missing says which watches are lost or, if none is, which kinds are not synced.
func missing(lost []error, unsynced []string) error {
	switch n := len(lost); {
	case n > 1:
		return fmt.Errorf("%w (and %d more)", lost[0], n-1)
	case n == 1:
		return lost[0]
	case len(unsynced) > 0:
		return fmt.Errorf("not synced: %v", unsynced)
	}
	return nil
}

func texts[T fmt.Stringer](all []T) (out []string) {
	for _, one := range all {
		out = append(out, one.String())
	}
	return out
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
	if err := checkAddress(ctx, w.cfg.Address); err != nil {
		return err
	}
	health, err := w.serve(w.cfg.Port, serverTLS, healthHandler(w.ready, w.storage.Down, w.cfg.DebugMode))
	if err != nil {
		return fmt.Errorf("serve health (keys address, port): %w", inUse(err, "", "port"))
	}
	defer health.close()
	metrics, err := w.serve(w.cfg.MetricPort, serverTLS, metricsHandler(w.registry))
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
		stages = append(stages, lifecycle.Stage{Name: "watches", Run: r.watches.Run},
			lifecycle.Stage{Name: "names of resources", Run: func(ctx context.Context) error { return r.warnUnserved(ctx, w.log) }},
			lifecycle.Stage{Name: "relations", Run: r.relations.Run}, lifecycle.Stage{Name: "resource watcher", Run: server.Run})
	}
	return lifecycle.Run(ctx, append(stages, lifecycle.Stage{Name: "watch", Run: w.lead})...)
}

// lead works at once or, with leader election, while this replica leads.
func (w *Watcher) lead(ctx context.Context) error {
	if w.elector == nil {
		return w.workAndNotify(ctx)
	}
	w.standby.Store(true)
	err := w.elector.Run(ctx, func(ctx context.Context) error {
		w.standby.Store(false)
		return w.workAndNotify(ctx)
	})
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted && w.standby.Load() {
		return &InputError{Key: "k8s", Err: err}
	}
	return err
}

// newElector takes part in nothing yet.
func (w *Watcher) newElector() (*leader.Elector, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	c := leader.For(lastWrite(w.cfg))
	c.Namespace, c.Name = w.cfg.LeaderElection.Namespace, w.cfg.LeaderElection.Name
	c.Identity = fmt.Sprintf("%s-%d-%x", host, os.Getpid(), rand.Uint32())
	c.Settling = func() time.Duration {
		if w.pipeline == nil {
			return 0
		}
		return w.pipeline.Settling()
	}
	e, err := leader.New(c, w.kube, w.log)
	if err != nil {
		return nil, err
	}
	return e, meter.Register(w.registry,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: metric.Leading, Help: "1 while this replica leads."}, func() float64 {
			if e.Leading() {
				return 1
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: metric.WritesRefused, Help: "Writes, and attempts to notify, that did not leave because this replica led no more."}, func() float64 { return float64(e.Refused()) }))
}

// workAndNotify is work and, beside it, what subscriptions get.
func (w *Watcher) workAndNotify(ctx context.Context) error {
	if w.resources == nil {
		return w.work(ctx)
	}
	return lifecycle.Run(ctx, lifecycle.Stage{Name: "watch", Run: w.work}, lifecycle.Stage{Name: "notify", Run: w.notify})
}

// work watches and sends until ctx ends, then drains. Storage that is looked up in
// ZooKeeper is looked for from the beginning.
func (w *Watcher) work(ctx context.Context) error {
	found, err := w.storageDiscovery()
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return w.watch(ctx)
	}
	return lifecycle.Run(ctx, append(found, lifecycle.Stage{Name: "watch", Run: w.watch})...)
}

// watch waits for storage and the apiserver, then watches and sends until ctx ends.
func (w *Watcher) watch(ctx context.Context) error {
	if err := w.checkStorage(ctx); err != nil {
		return err
	}
	resources, err := w.firstDiscovery(ctx)
	if err != nil || ctx.Err() != nil { // what was waited for is not there
		return err
	}
	if err := w.checkMasks(ctx, resources); err != nil {
		return err
	}
	alertor, alerting, err := w.alertor()
	if err != nil {
		return err
	}
	c, err := collector.New(w.collectorConfig(resources), collector.Settings{
		Client: w.kube, Sink: sink{w.path, alertor, w.owners}, Registry: w.registry, Logger: w.log,
		First: func(kind string) bool {
			s := w.synchronizer.Load()
			if s == nil || !s.First(kind) {
				return false
			}
			if kind == kindReplicaSet {
				w.owners.listed()
			}
			return true
		},
		View: w.views(),
	})
	if err != nil {
		return &InputError{Err: err}
	}
	for _, r := range resources {
		w.path.AddKind(r.Key())
	}
	stages, err := w.stages(c)
	if err != nil {
		return err
	}
	w.collector.Store(c) // last: ready looks at what stages has made, too
	close(w.collects)
	if w.idle(len(resources)) {
		w.log.Warn("nothing is watched: not ready until the filter file lets a kind through", "filter", w.cfg.FilterConfigPath)
	}
	w.log.Info("watching", "kinds", len(resources), "cluster", w.cfg.Default.ClusterID, "profile", w.cfg.Profile, "strategy", w.cfg.BCS.Strategy)
	return lifecycle.Run(ctx, append(alerting, stages...)...)
}

// stages are the parts in the order of their start; they end in reverse, whoever
// produces before whoever consumes.
func (w *Watcher) stages(c *collector.Collector) ([]lifecycle.Stage, error) {
	stages := []lifecycle.Stage{
		{Name: "storage", Run: w.storage.Run},
		{Name: "pipeline", Run: w.path.Run},
		{Name: "collector", Run: c.Run},
		{Name: "report", Run: w.report},
	}
	if w.owners != nil {
		stages = append(stages, lifecycle.Stage{Name: "owners", Run: w.owners.Run})
	}
	if w.pipeline != nil {
		stages = append(stages, lifecycle.Stage{Name: "memory of the first lists", Run: func(ctx context.Context) error {
			return releaseMemory(ctx, func() bool { return w.ready() == nil }, w.pipeline.Idle, debug.FreeOSMemory)
		}})
	}
	net, err := w.netService()
	if err != nil {
		return nil, err
	}
	stages = append(stages, net...)
	added, removed := w.path.AddKind, w.path.RetireKind
	switch {
	case w.cfg.Synchronizer.Disabled:
	case w.isLegacy():
		stages = append(stages, w.legacySynchronizer(c))
	default:
		s, err := w.newSynchronizer(c)
		if err != nil {
			return nil, &InputError{Key: "synchronizer", Err: err}
		}
		w.synchronizer.Store(s)
		added = func(key string) { w.path.AddKind(key); s.CompareSoon(key) }
		removed = func(key string) { w.path.RetireKind(key); s.Retire(key) }
		stages = append(stages, lifecycle.Stage{Name: "synchronizer", Run: s.Run})
	}
	follow, err := kinds.New(kinds.Settings{
		To: c, WhiteList: w.filter.K8sResourceWhiteList, Added: added, Removed: removed, Registry: w.registry, Logger: w.log,
	})
	if err != nil {
		return nil, err
	}
	crds, err := w.crdWatcher(follow)
	stages = append(stages, lifecycle.Stage{Name: "discovery", Run: w.rediscover(c, follow)})
	return append(stages, crds...), err
}

// Times of the start: what is not there yet may come.
const (
	startPause    = 250 * time.Millisecond // doubled at each try
	maxStartPause = 5 * time.Second
	startSays     = time.Minute // between two log lines
)

// await tries until it succeeds or ctx ends: during an outage a process that ended would
// only have to be started again. A wrong configuration is an error, key its place.
func (w *Watcher) await(ctx context.Context, key, waits string, try func() error) error {
	defer w.waiting.Store(nil)
	var said, since time.Time
	for pause := startPause; ; pause = min(2*pause, maxStartPause) {
		err := try()
		if err == nil && !said.IsZero() {
			w.log.Info("no longer "+waits, "after", time.Since(since).Round(time.Millisecond))
		}
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if _, ok := errors.AsType[*InputError](err); ok {
			return err
		}
		if untrusted(err) {
			return &InputError{Key: key, Err: err}
		}
		w.waiting.Store(&err)
		if now := time.Now(); now.Sub(said) >= startSays {
			if said.IsZero() {
				since = now
			}
			w.log.Warn(waits, "key", key, "error", err)
			said = now
		}
		_ = lifecycle.Pause(ctx, pause) // an end of ctx is seen above
	}
}

// firstDiscovery waits until the apiserver says what it serves.
func (w *Watcher) firstDiscovery(ctx context.Context) (found []collector.Resource, err error) {
	err = w.await(ctx, "k8s", "waiting for the apiserver", func() (err error) {
		var broken []string
		found, broken, err = w.discover(ctx)
		w.complete.Store(err == nil && len(broken) == 0)
		return err
	})
	return found, err
}

// checkStorage waits until a bcs-storage answers at the configured address, or at one found
// in ZooKeeper: nothing is sent to anything else.
func (w *Watcher) checkStorage(ctx context.Context) error {
	return w.await(ctx, w.storageKey(), "waiting for storage", func() error { return w.askStorage(ctx) })
}

// storageKey is the key of the configuration that says where storage is.
func (w *Watcher) storageKey() string {
	if len(w.cfg.BCS.CustomStorageEndpoints) == 0 {
		return "bcs.zk"
	}
	return "bcs.custom-storage-endpoints"
}

// askStorage asks whether a bcs-storage answers.
func (w *Watcher) askStorage(ctx context.Context) error {
	err := w.storage.Check(ctx)
	if _, not := errors.AsType[*storage.NotStorageError](err); not {
		err = fmt.Errorf("something else than bcs-storage answers there: %w", err)
	}
	return err
}

// untrusted reports whether TLS cannot work as it is configured.
func untrusted(err error) bool {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	return certificate || errors.Is(err, storage.ErrTLSVersion)
}
