package collector

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
)

// metrics are the collector's series.
type metrics struct {
	received, filtered      *prometheus.CounterVec
	lists, relists, watches *prometheus.CounterVec
	verified, differences   *prometheus.CounterVec
	cacheKeys, synced       *prometheus.GaugeVec
	sharded                 *prometheus.GaugeVec
	bytesIn, bytesOut       atomic.Int64
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help, label string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{label})
	}
	m := &metrics{
		received: counter(metric.EventsReceived, "Changes delivered by the apiserver.", "kind"),
		filtered: counter(metric.EventsFiltered, "Changes that are not for storage, by reason.", "kind", "reason"),
		lists:    counter(metric.Lists, "Lists started, streaming lists included.", "kind"),
		relists:  counter(metric.Relists, "Lists after the first.", "kind"),
		watches:  counter(metric.Watches, "Watches started.", "kind"),
		verified: counter(metric.CacheChecks,
			"Lists that compare the cache with the apiserver, including those of a single version.", "kind"),
		differences: counter(metric.CacheDifferences, "Differences found by these lists that the watch did not deliver.",
			"kind", "difference"),
		cacheKeys: gauge(metric.CacheKeys, "Cached objects.", "watcher"),
		synced:    gauge(metric.Synced, "1 after the first complete list.", "kind"),
		sharded:   gauge(metric.ServerSharded, "1 while the apiserver sends nothing of other shards.", "kind"),
	}
	return m, meter.Register(reg, m.received, m.filtered, m.lists, m.relists, m.watches, m.verified, m.differences,
		m.cacheKeys, m.synced, m.sharded,
		meter.NetBytes("apiserver", "in", m.bytesIn.Load), meter.NetBytes("apiserver", "out", m.bytesOut.Load))
}

// What a comparison with the apiserver found, the values of the label difference.
const (
	DifferenceLost     = "lost"     // objects of a kind whose changes the watch never brought
	DifferenceRestored = "restored" // an apiserver at an earlier version
)

var differences = []string{DifferenceLost, DifferenceRestored}

// kindMetrics are the series of one kind, looked up once.
type kindMetrics struct {
	received                prometheus.Counter
	filtered                map[string]prometheus.Counter
	lists, relists, watches prometheus.Counter
	verified                prometheus.Counter
	differences             map[string]prometheus.Counter
	cacheKeys, synced       prometheus.Gauge
	sharded                 prometheus.Gauge
	relisted                atomic.Int64 // what relists counts
}

// passed counts an object of another shard.
func (k *kindMetrics) passed() {
	k.received.Inc()
	k.filtered[ReasonShard].Inc()
	k.sharded.Set(0)
}

// of has the series of a kind; there is one about shards where it is collected in those.
func (m *metrics) of(kind string, shards bool) *kindMetrics {
	k := &kindMetrics{
		received:    m.received.WithLabelValues(kind),
		filtered:    make(map[string]prometheus.Counter, len(reasons)),
		lists:       m.lists.WithLabelValues(kind),
		relists:     m.relists.WithLabelValues(kind),
		watches:     m.watches.WithLabelValues(kind),
		verified:    m.verified.WithLabelValues(kind),
		differences: make(map[string]prometheus.Counter, len(differences)),
		cacheKeys:   m.cacheKeys.WithLabelValues(kind),
		synced:      m.synced.WithLabelValues(kind),
	}
	if shards {
		k.sharded = m.sharded.WithLabelValues(kind)
	}
	for _, reason := range reasons {
		k.filtered[reason] = m.filtered.WithLabelValues(kind, reason)
	}
	for _, what := range differences {
		k.differences[what] = m.differences.WithLabelValues(kind, what)
	}
	return k
}

// forget removes the gauges of a kind that is no longer collected. Its counters
// stay: they are part of the conservation law.
func (m *metrics) forget(kind string) {
	m.cacheKeys.DeleteLabelValues(kind)
	m.synced.DeleteLabelValues(kind)
	m.sharded.DeleteLabelValues(kind)
}
