package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // served where the configuration asks for it
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/config"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

// discoverPause is between two questions what the cluster serves, until it answers.
const discoverPause = 250 * time.Millisecond

// imitate runs until ctx ends, and ends at once then.
func imitate(ctx context.Context, cfg config.Config, filter config.Filter, kube *rest.Config, log *slog.Logger) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	to, err := newClient(cfg, registry)
	if err != nil {
		return err
	}
	var cache atomic.Pointer[collector.Collector]
	health := http.NewServeMux()
	health.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	health.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		if c := cache.Load(); c == nil || len(c.Unsynced()) > 0 {
			http.Error(rw, "not synced", http.StatusServiceUnavailable)
		}
	})
	if cfg.DebugMode {
		health.Handle("/debug/pprof/", http.DefaultServeMux)
	}
	var stages []lifecycle.Stage
	for port, h := range map[uint16]http.Handler{cfg.Port: health,
		cfg.MetricPort: promhttp.HandlerFor(registry, promhttp.HandlerOpts{})} {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(cfg.Address, strconv.Itoa(int(port))))
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
		stages = append(stages, lifecycle.Stage{Name: "HTTP", Run: func(ctx context.Context) error {
			return lifecycle.Serve(ctx, server, l, time.Second)
		}})
	}
	return lifecycle.Run(ctx, append(stages, lifecycle.Stage{Name: "watch", Run: func(ctx context.Context) error {
		return watch(ctx, cfg, filter, kube, log, registry, to, &cache)
	}})...)
}

// watch sends what happens to the kinds that are served at the start.
func watch(ctx context.Context, cfg config.Config, filter config.Filter, kube *rest.Config, log *slog.Logger,
	registry *prometheus.Registry, to *client, cache *atomic.Pointer[collector.Collector]) error {
	resources, err := discover(ctx, cfg, filter, kube, log)
	if err != nil || ctx.Err() != nil {
		return err
	}
	q := &queues{parts: &parts{send: to.send, logger: log, start: time.Now()}, kinds: map[string]*kind{}}
	q.get = func(k object.Key) (*object.Object, bool, error) {
		o, found := cache.Load().Get(k)
		if !found {
			return nil, false, nil
		}
		o, err := watcher.Annotate(cache.Load(), o)
		return o, true, err
	}
	for _, r := range resources {
		q.kinds[r.Key()] = newKind(q.parts, r.Key(), cfg.BCS.PodQueueNum, cfg.BCS.HandlerQueueLen)
	}
	if err := meter.Register(registry, newMetrics(q, cfg.Default.ClusterID)); err != nil {
		return err
	}
	cc := watcher.Collecting(cfg, filter, resources)
	cc.After, cc.Verify = nil, collector.Verify{Period: -1} // it compares nothing
	c, err := collector.New(cc, collector.Settings{Client: kube, Sink: q, Registry: registry, Logger: log})
	if err != nil {
		return err
	}
	cache.Store(c)
	return lifecycle.Run(ctx, lifecycle.Stage{Name: "queues", Run: q.Run}, lifecycle.Stage{Name: "collector", Run: c.Run})
}

// discover waits until the apiserver says what it serves.
func discover(ctx context.Context, cfg config.Config, filter config.Filter, kube *rest.Config,
	log *slog.Logger) ([]collector.Resource, error) {
	d, err := collector.NewDiscovery(kube)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	for wanted := watcher.Wanted(cfg, filter); ; {
		var found []collector.Resource
		groups, err := d.GroupsOf(ctx, wanted.WantsVersion)
		if err == nil {
			found, err = wanted.Resources(groups)
		}
		if err == nil || lifecycle.Pause(ctx, discoverPause) != nil {
			return found, nil
		}
		log.Warn("waiting for the apiserver", "error", err)
	}
}

// queues stand between the collector and storage as the original's do.
type queues struct {
	*parts
	kinds map[string]*kind
}

var _ collector.Sink = (*queues)(nil)

// Enqueue implements collector.Sink. It never waits: the eventQueue has no bound.
func (q *queues) Enqueue(_ context.Context, e pipeline.Event) error {
	k := q.kinds[e.Key.Kind]
	if k == nil {
		return fmt.Errorf("event of %q: the kind is not collected", e.Key)
	}
	since := q.now()
	if !e.Received.IsZero() {
		since = int64(e.Received.Sub(q.start))
	}
	return k.enqueue(e.Key, since)
}

// Run sends until ctx ends, and ends at once then: requests are cut off, what is queued is counted as dropped.
func (q *queues) Run(ctx context.Context) error {
	var left meter.Abandoned
	var mu sync.Mutex // guards left
	var all sync.WaitGroup
	for _, k := range q.kinds {
		all.Go(func() {
			n := k.run(ctx)
			mu.Lock()
			defer mu.Unlock()
			left.Add(k.name, n)
		})
	}
	all.Wait()
	left.Log(q.logger, "the original does not drain")
	return nil
}

// metrics reads the counters when it is scraped.
type metrics struct {
	meter.Descs
	q      *queues
	events meter.EventSeries
	queues meter.QueueSeries

	watcherQueue, inFlight *prometheus.Desc
}

var _ prometheus.Collector = (*metrics)(nil)

func newMetrics(q *queues, cluster string) *metrics {
	m := &metrics{q: q}
	m.events = meter.NewEventSeries(&m.Descs)
	m.queues = meter.NewQueueSeries(&m.Descs, cluster)
	m.watcherQueue = m.New(metric.WatcherQueue, "Keys in the eventQueue.", "watcher")
	m.inFlight = m.New(metric.InFlight, "Storage calls under way.")
	return m
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	var batch []prometheus.Metric
	inFlight := 0
	for _, k := range m.q.kinds {
		var sending int
		batch, sending = k.series(batch, m.events)
		inFlight += sending
		batch = append(batch, meter.Gauge(m.watcherQueue, float64(k.queue.Len()), k.name))
		for _, h := range k.handlers {
			batch = m.queues.Append(batch, h.reading(m.q.now()))
		}
	}
	for _, series := range append(batch, meter.Gauge(m.inFlight, float64(inFlight))) {
		out <- series
	}
}
