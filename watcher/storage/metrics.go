package storage

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
)

// buckets of the original's two histograms, in seconds (contract §9).
var buckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3}

// metrics holds the original's request metrics and ours.
type metrics struct {
	cluster    string
	requests   *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	endpointUp *prometheus.GaugeVec
	opened     prometheus.Counter
	netIn      prometheus.CounterFunc
	netOut     prometheus.CounterFunc

	// series caches the children by label values, so that a request looks nothing
	// up by strings twice.
	series sync.Map // seriesKey → *child
}

type seriesKey struct {
	handler, kind, method string
	ok                    bool
}

type child struct {
	count   prometheus.Counter
	latency prometheus.Observer
}

func newMetrics(cluster string, t *traffic) *metrics {
	labels := []string{"cluster_id", "handler", "resource_type", "method", "status"}
	bytes := func(direction string, v func() int64) prometheus.CounterFunc {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name:        metric.NetBytes,
			Help:        "Bytes on the sockets, by peer and direction.",
			ConstLabels: prometheus.Labels{"peer": "storage", "direction": direction},
		}, func() float64 { return float64(v()) })
	}
	return &metrics{
		cluster: cluster,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metric.StorageRequests, Help: "Storage calls.",
		}, labels),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metric.StorageLatency, Help: "Seconds per storage call.", Buckets: buckets,
		}, labels),
		endpointUp: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: metric.StorageUp, Help: "1 while the storage endpoint can be reached.",
		}, []string{"endpoint"}),
		opened: prometheus.NewCounter(prometheus.CounterOpts{
			Name: metric.StorageConns, Help: "Connections opened to storage.",
		}),
		netIn:  bytes("in", t.in.Load),
		netOut: bytes("out", t.out.Load),
	}
}

func (m *metrics) observe(r *request, ok bool, d time.Duration) {
	key := seriesKey{r.handler, r.kind, r.method, ok}
	v, found := m.series.Load(key)
	if !found {
		status := "failure"
		if ok {
			status = "success"
		}
		v, _ = m.series.LoadOrStore(key, &child{
			count:   m.requests.WithLabelValues(m.cluster, r.handler, r.kind, r.method, status),
			latency: m.latency.WithLabelValues(m.cluster, r.handler, r.kind, r.method, status),
		})
	}
	c := v.(*child)
	c.count.Inc()
	c.latency.Observe(d.Seconds())
}

func (m *metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.requests, m.latency, m.endpointUp, m.opened, m.netIn, m.netOut}
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors() {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.collectors() {
		c.Collect(ch)
	}
}
