package legacy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // served where the configuration asks for it
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// discoverPause is between two questions what the cluster serves, until it answers.
const discoverPause = 250 * time.Millisecond

// Watcher imitates a process of bcs-k8s-watch. It is made by New.
type Watcher struct {
	cfg       config.Config
	filter    config.Filter
	set       watcher.Settings
	registry  *prometheus.Registry
	client    *client
	storage   *storage.Client // reads the names that the synchronizer compares
	collector atomic.Pointer[collector.Collector]
}

// New takes a configuration of k8s-watch, of which it ignores what it does not imitate. Settings.Kube
// must be given.
func New(cfg config.Config, filter config.Filter, s watcher.Settings) (*Watcher, error) {
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case len(cfg.BCS.CustomStorageEndpoints) == 0:
		return nil, errors.New("bcs.custom-storage-endpoints: missing: the imitation finds storage nowhere else")
	case cfg.LeaderElection.Enabled || cfg.ResourceWatcher.Enabled:
		return nil, errors.New("leaderElection, resourceWatcher: the original has neither, and no more has its imitation")
	}
	w := &Watcher{cfg: cfg, filter: filter, set: s, registry: prometheus.NewRegistry()}
	w.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var err error
	if w.client, err = newClient(cfg, s.Dial, w.registry); err != nil {
		return nil, err
	}
	sc := storage.Default()
	sc.ClusterID, sc.Endpoints, sc.Timeout = cfg.Default.ClusterID, cfg.BCS.CustomStorageEndpoints, w.client.life
	set := storage.Settings{Dial: s.Dial}
	if w.client.tls != nil {
		set.TLS = func() (*tls.Config, error) { return w.client.tls, nil }
	}
	w.storage, err = storage.New(sc, set)
	return w, err
}

// Run watches until ctx ends, and ends at once then.
func (w *Watcher) Run(ctx context.Context) error {
	health := http.NewServeMux()
	health.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	health.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		if c := w.collector.Load(); c == nil || len(c.Unsynced()) > 0 {
			http.Error(rw, "not synced", http.StatusServiceUnavailable)
		}
	})
	if w.cfg.DebugMode {
		health.Handle("/debug/pprof/", http.DefaultServeMux)
	}
	metrics := promhttp.HandlerFor(w.registry, promhttp.HandlerOpts{})
	var stages []lifecycle.Stage
	for _, s := range []struct {
		port uint16
		h    http.Handler
	}{{w.cfg.Port, health}, {w.cfg.MetricPort, metrics}} {
		l, err := w.listen(ctx, net.JoinHostPort(w.cfg.Address, strconv.Itoa(int(s.port))))
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		server := &http.Server{Handler: s.h, ReadHeaderTimeout: 5 * time.Second}
		stages = append(stages, lifecycle.Stage{Name: "HTTP", Run: func(ctx context.Context) error {
			return lifecycle.Serve(ctx, server, l, time.Second)
		}})
	}
	return lifecycle.Run(ctx, append(stages, lifecycle.Stage{Name: "watch", Run: w.watch})...)
}

func (w *Watcher) listen(ctx context.Context, address string) (net.Listener, error) {
	if w.set.Listen != nil {
		return w.set.Listen(address)
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// watch sends what happens to the kinds that are served at the start.
func (w *Watcher) watch(ctx context.Context) error {
	resources, err := w.discover(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	q := w.queues(resources)
	if err := meter.Register(w.registry, newMetrics(q, w.cfg.Default.ClusterID)); err != nil {
		return err
	}
	cc := watcher.Collecting(w.cfg, w.filter, resources)
	cc.After = nil                           // it has its own way to wait
	cc.Verify = collector.Verify{Period: -1} // it compares nothing
	c, err := collector.New(cc, collector.Settings{Client: w.set.Kube, Sink: q, Registry: w.registry,
		Logger: w.set.Logger})
	if err != nil {
		return err
	}
	w.collector.Store(c)
	stages := []lifecycle.Stage{
		{Name: "storage", Run: w.storage.Run}, {Name: "queues", Run: q.Run}, {Name: "collector", Run: c.Run},
	}
	if !w.cfg.Synchronizer.Disabled {
		s := &synchronizer{w.cfg.WatchResource.Namespace, w.storage, c, w.set.Logger}
		stages = append(stages, lifecycle.Stage{Name: "synchronizer", Run: s.Run})
	}
	return lifecycle.Run(ctx, stages...)
}

// discover waits until the apiserver says what it serves. Of custom resources the original collects all
// that its white list names, whatever the filter file says of kinds; here, those defined at the start.
func (w *Watcher) discover(ctx context.Context) ([]collector.Resource, error) {
	d, err := collector.NewDiscovery(w.set.Kube)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	wanted := watcher.Wanted(w.cfg, w.filter)
	custom := collector.DiscoveryFilter{Namespaced: wanted.Namespaced, LabelSelectors: wanted.LabelSelectors}
	if !w.cfg.WatchResource.DisableCRD {
		custom.GroupVersions = w.filter.CRDResourceWhiteList
	}
	for {
		found, err := d.Resources(ctx, wanted)
		if err == nil {
			var more []collector.Resource
			more, err = d.Resources(ctx, custom)
			found = collector.AssignKeyKinds(append(found, more...), wanted.GroupVersions)
		}
		if err == nil || lifecycle.Pause(ctx, discoverPause) != nil {
			return found, nil
		}
		w.set.Logger.Warn("waiting for the apiserver", "error", err)
	}
}

func (w *Watcher) queues(resources []collector.Resource) *queues {
	q := &queues{kinds: map[string]*kind{}, parts: &parts{
		get: w.get, prepare: w.prepare, send: w.client.send, logger: w.set.Logger, start: time.Now(),
	}}
	for _, r := range resources {
		q.kinds[r.Key()] = newKind(q.parts, r.Key(), w.cfg.BCS.PodQueueNum, w.cfg.BCS.HandlerQueueLen)
	}
	return q
}

func (w *Watcher) get(k object.Key) (*object.Object, bool) { return w.collector.Load().Get(k) }

// prepare annotates a Pod with its workload. One whose ReplicaSet may be missing only because the first
// list of ReplicaSets is not complete has to wait.
func (w *Watcher) prepare(o *object.Object) (out *object.Object, ready bool, err error) {
	if o.Key.Kind == kindPod {
		owner, found, err := object.ControllerOf(o.JSON())
		if err != nil {
			return nil, false, fmt.Errorf("owner of %s: %w", o.Key, err)
		}
		if c := w.collector.Load(); found && owner.Kind == kindReplicaSet && c.Collected(kindReplicaSet) &&
			!c.KindSynced(kindReplicaSet) {
			return nil, false, nil
		}
	}
	out, err = watcher.Annotate(w.collector.Load(), o)
	return out, true, err
}
