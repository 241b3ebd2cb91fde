package storage

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
)

// Metrics are the request metrics of a storage client: the original's two, and the
// connections and bytes that only this repository counts.
type Metrics struct {
	Opened prometheus.Counter // connections

	cluster  string
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec

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

// NewMetrics registers the metrics in reg, if that is not nil. in and out count the
// bytes on the sockets.
func NewMetrics(reg prometheus.Registerer, cluster string, in, out func() int64) (*Metrics, error) {
	labels := []string{"cluster_id", "handler", "resource_type", "method", "status"}
	m := &Metrics{
		cluster: cluster,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: metric.StorageRequests, Help: "Storage calls."},
			labels),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metric.StorageLatency, Help: "Seconds per storage call, pauses within it included.",
			Buckets: meter.LatencySeconds(),
		}, labels),
		Opened: prometheus.NewCounter(prometheus.CounterOpts{Name: metric.StorageConns,
			Help: "Connections opened to storage."}),
	}
	return m, meter.Register(reg, m.requests, m.latency, m.Opened, meter.NetBytes("storage", "in", in),
		meter.NetBytes("storage", "out", out))
}

// Observe counts one call of an endpoint; see HandlerLabel.
func (m *Metrics) Observe(handler, kind, method string, ok bool, d time.Duration) {
	key := seriesKey{handler, kind, method, ok}
	v, found := m.series.Load(key)
	if !found {
		status := "failure"
		if ok {
			status = "success"
		}
		v, _ = m.series.LoadOrStore(key, &child{
			count:   m.requests.WithLabelValues(m.cluster, handler, kind, method, status),
			latency: m.latency.WithLabelValues(m.cluster, handler, kind, method, status),
		})
	}
	c := v.(*child)
	c.count.Inc()
	c.latency.Observe(d.Seconds())
}
