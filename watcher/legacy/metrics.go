package legacy

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
)

// metrics reads the counters when it is scraped. The series of one kind, those of its
// queues apart, are one consistent reading.
type metrics struct {
	meter.Descs
	p      *Pipeline
	events meter.EventSeries
	queues meter.QueueSeries

	watcherQueue, inFlight *prometheus.Desc
}

func newMetrics(p *Pipeline) *metrics {
	m := &metrics{p: p}
	m.events = meter.NewEventSeries(&m.Descs)
	m.queues = meter.NewQueueSeries(&m.Descs, p.config.ClusterID)
	m.watcherQueue = m.New(metric.WatcherQueue, "Keys in the eventQueue.", "watcher")
	m.inFlight = m.New(metric.InFlight, "Storage calls under way.")
	return m
}

var _ prometheus.Collector = (*metrics)(nil)

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	var batch []prometheus.Metric
	inFlight := 0
	for _, k := range m.p.sorted() {
		var sending int
		batch, sending = m.kind(batch, k)
		inFlight += sending
		batch = append(batch, meter.Gauge(m.watcherQueue, float64(k.queue.Len()), k.name))
		for _, h := range k.handlers {
			batch = m.handler(batch, h)
		}
	}
	for _, series := range append(batch, meter.Gauge(m.inFlight, float64(inFlight))) {
		out <- series
	}
}

func (m *metrics) kind(to []prometheus.Metric, k *kind) (series []prometheus.Metric, inFlight int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.counts()
	var age int64
	if at, ok := k.oldest(); ok {
		age = m.p.now() - at
	}
	return m.events.Append(to, k.name, s, age, &k.freshness), s.InFlight
}

func (m *metrics) handler(to []prometheus.Metric, h *handler) []prometheus.Metric {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.meter.Account(len(h.items), m.p.now())
	return m.queues.Append(to, meter.Reading{
		Name: h.name, Depth: len(h.items), Capacity: h.capacity, Handled: h.meter.Handled, Discards: h.discards, Meter: &h.meter,
	})
}
