package legacy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/object"
	"github.com/watchbench/watchbench/watcher/storage"
)

// clientMetrics are the original's request metrics, and the counts of connections and
// bytes that only this repository has.
type clientMetrics struct {
	cluster  string
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	opened   prometheus.Counter
}

func newClientMetrics(c *Client, reg prometheus.Registerer) (*clientMetrics, error) {
	labels := []string{"cluster_id", "handler", "resource_type", "method", "status"}
	m := &clientMetrics{
		cluster:  c.config.ClusterID,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: metric.StorageRequests, Help: "Storage calls."}, labels),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metric.StorageLatency, Help: "Seconds per storage call, the pauses within it included.", Buckets: storage.LatencyBuckets(),
		}, labels),
		opened: prometheus.NewCounter(prometheus.CounterOpts{Name: metric.StorageConns, Help: "Connections opened to storage."}),
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.requests, m.latency, m.opened, bytesOf("in", c.in.Load), bytesOf("out", c.out.Load)} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func bytesOf(direction string, count func() int64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: metric.NetBytes, Help: "Bytes on the sockets, by peer and direction.", // the collector registers the same name with this text
		ConstLabels: prometheus.Labels{"peer": "storage", "direction": direction},
	}, func() float64 { return float64(count()) })
}

func (m *clientMetrics) observe(k object.Key, method string, ok bool, d time.Duration) {
	status := "failure"
	if ok {
		status = "success"
	}
	labels := []string{m.cluster, storage.HandlerLabel(k), k.Kind, method, status}
	m.requests.WithLabelValues(labels...).Inc()
	m.latency.WithLabelValues(labels...).Observe(d.Seconds())
}
