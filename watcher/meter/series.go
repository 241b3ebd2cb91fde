package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
)

// Histogram is one fixed-bucket histogram of durations. Its bounds are kept apart,
// once for all.
type Histogram struct {
	bounds  []int64  // nanoseconds, ascending
	buckets []uint64 // one per bound, and the rest
	sum     float64  // seconds
}

// NewLatency has the original's buckets of both its histograms (contract §9).
func NewLatency() Histogram { return newHistogram(latencyBounds) }

// NewFreshness has buckets from a fast storage to a long outage.
func NewFreshness() Histogram { return newHistogram(freshnessBounds) }

func newHistogram(bounds []int64) Histogram {
	return Histogram{bounds: bounds, buckets: make([]uint64, len(bounds)+1)}
}

var (
	latencyBounds   = []int64{5e5, 1e6, 25e5, 5e6, 1e7, 25e6, 5e7, 1e8, 25e7, 5e8, 1e9, 2e9, 3e9}
	freshnessBounds = []int64{1e6, 25e5, 5e6, 1e7, 25e6, 5e7, 1e8, 25e7, 5e8, 1e9, 25e8, 5e9, 1e10, 3e10, 6e10, 12e10,
		3e11, 6e11}
)

// LatencySeconds are the bounds of NewLatency in seconds, for a Prometheus histogram.
func LatencySeconds() []float64 {
	seconds := make([]float64, len(latencyBounds))
	for i, nanos := range latencyBounds {
		seconds[i] = float64(nanos) / 1e9
	}
	return seconds
}

// Observe counts one duration.
func (h *Histogram) Observe(nanos int64) {
	i := 0
	for i < len(h.bounds) && nanos > h.bounds[i] {
		i++
	}
	h.buckets[i]++
	h.sum += float64(nanos) / 1e9
}

// Metric is the reading of this moment.
func (h *Histogram) Metric(d *prometheus.Desc, labels ...string) prometheus.Metric {
	total := uint64(0)
	cumulative := make(map[float64]uint64, len(h.bounds))
	for i, n := range h.buckets {
		total += n
		if i < len(h.bounds) {
			cumulative[float64(h.bounds[i])/1e9] = total
		}
	}
	return prometheus.MustNewConstHistogram(d, total, h.sum, cumulative, labels...)
}

// Counter is the reading of a counter.
func Counter(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

// Gauge is the reading of a gauge.
func Gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// Descs are the series that one prometheus.Collector describes.
type Descs []*prometheus.Desc

// New adds a series.
func (d *Descs) New(name, help string, labels ...string) *prometheus.Desc {
	return d.add(prometheus.NewDesc(name, help, labels, nil))
}

// Original adds a series of the original watcher: it carries the cluster's id.
func (d *Descs) Original(name, help, clusterID string, labels ...string) *prometheus.Desc {
	return d.add(prometheus.NewDesc(name, help, labels, prometheus.Labels{"cluster_id": clusterID}))
}

func (d *Descs) add(desc *prometheus.Desc) *prometheus.Desc {
	*d = append(*d, desc)
	return desc
}

// Describe implements half of prometheus.Collector.
func (d Descs) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range d {
		out <- desc
	}
}

// NetBytes are the bytes on the sockets between the watcher and a peer; direction is
// "in" or "out".
func NetBytes(peer, direction string, count func() int64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: metric.NetBytes, Help: "Bytes on the sockets, by peer and direction.",
		ConstLabels: prometheus.Labels{"peer": peer, "direction": direction},
	}, func() float64 { return float64(count()) })
}

// Register registers the collectors, none where reg is nil, up to the first that is
// refused.
func Register(reg prometheus.Registerer, collectors ...prometheus.Collector) error {
	if reg == nil {
		return nil
	}
	for _, c := range collectors {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	return nil
}
