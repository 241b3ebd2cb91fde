package legacy

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
)

// counts is one histogram with fixed buckets, kept under its kind's mutex so that it
// agrees with the counters in every scrape.
type counts struct {
	buckets []uint64 // one per bound, and the rest
	sum     float64  // seconds
}

// freshnessBounds are the buckets in nanoseconds, from a fast storage to a long outage.
var freshnessBounds = []int64{1e6, 25e5, 5e6, 1e7, 25e6, 5e7, 1e8, 25e7, 5e8, 1e9, 25e8, 5e9, 1e10, 3e10, 6e10, 12e10, 3e11, 6e11}

func newCounts(bounds []int64) counts { return counts{buckets: make([]uint64, len(bounds)+1)} }

func (c *counts) observe(bounds []int64, nanos int64) {
	i := 0
	for i < len(bounds) && nanos > bounds[i] {
		i++
	}
	c.buckets[i]++
	c.sum += float64(nanos) / 1e9
}

func (c *counts) metric(d *prometheus.Desc, bounds []int64, labels ...string) prometheus.Metric {
	total := uint64(0)
	cumulative := make(map[float64]uint64, len(bounds))
	for i, n := range c.buckets {
		total += n
		if i < len(bounds) {
			cumulative[float64(bounds[i])/1e9] = total
		}
	}
	return prometheus.MustNewConstHistogram(d, total, c.sum, cumulative, labels...)
}

// metrics reads the counters when it is scraped. The series of one kind, those of its
// queues apart, are one consistent reading.
type metrics struct {
	p *Pipeline

	sent, coalesced, dropped, retried, parked, queued, oldest, freshness *prometheus.Desc
	depth, capacity, handled, wait, depthTime                            *prometheus.Desc
	handlerQueue, handlerDiscards, watcherQueue                          *prometheus.Desc
	inFlight                                                             *prometheus.Desc
}

func newMetrics(p *Pipeline) *metrics {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	original := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"handler"}, prometheus.Labels{"cluster_id": p.config.ClusterID})
	}
	return &metrics{
		p:               p,
		sent:            desc(metric.EventsSent, "Events acknowledged by storage.", "kind"),
		coalesced:       desc(metric.EventsCoalesced, "Events merged with another of their object in the eventQueue.", "kind"),
		dropped:         desc(metric.EventsDropped, "Events lost by a full queue, a failed request or the end of the process.", "kind"),
		retried:         desc(metric.EventsRetried, "Requests after the first for the same event.", "kind"),
		parked:          desc(metric.EventsParked, "Always 0: nothing is ever given up for a time.", "kind"),
		queued:          desc(metric.EventsQueued, "Events accepted and not settled.", "kind"),
		oldest:          desc(metric.OldestUnsent, "Age of the oldest change that storage lacks.", "kind"),
		freshness:       desc(metric.Freshness, "Receipt of the oldest change in a write to its acknowledgement.", "kind"),
		depth:           desc(metric.QueueDepth, "Items in the queue.", "queue"),
		capacity:        desc(metric.QueueCapacity, "Items that the queue can hold.", "queue"),
		handled:         desc(metric.QueueHandled, "Items taken from the queue to be sent.", "queue"),
		wait:            desc(metric.QueueWaitSeconds, "Summed time that items spent in the queue.", "queue"),
		depthTime:       desc(metric.QueueDepthTime, "Integral of the depth over time.", "queue"),
		handlerQueue:    original(metric.HandlerQueue, "Items in the queue."),
		handlerDiscards: original(metric.HandlerDiscards, "Items dropped because the queue stayed full."),
		watcherQueue:    desc(metric.WatcherQueue, "Keys in the eventQueue.", "watcher"),
		inFlight:        desc(metric.InFlight, "Storage calls under way."),
	}
}

var _ prometheus.Collector = (*metrics)(nil)

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.sent, m.coalesced, m.dropped, m.retried, m.parked, m.queued, m.oldest, m.freshness,
		m.depth, m.capacity, m.handled, m.wait, m.depthTime,
		m.handlerQueue, m.handlerDiscards, m.watcherQueue, m.inFlight,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	inFlight := 0
	for _, k := range m.p.sorted() {
		series, sending := m.kind(k)
		inFlight += sending
		for _, s := range series {
			out <- s
		}
		out <- gauge(m.watcherQueue, float64(k.queue.Len()), k.name)
		for _, h := range k.handlers {
			for _, s := range m.handler(h) {
				out <- s
			}
		}
	}
	out <- gauge(m.inFlight, float64(inFlight))
}

func (m *metrics) kind(k *kind) (series []prometheus.Metric, inFlight int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.counts()
	age := 0.0
	if at, ok := k.oldest(); ok {
		age = float64(m.p.now()-at) / 1e9
	}
	return []prometheus.Metric{
		counter(m.sent, float64(s.Sent), k.name),
		counter(m.coalesced, float64(s.Coalesced), k.name),
		counter(m.dropped, float64(s.Dropped), k.name),
		counter(m.retried, float64(s.Retried), k.name),
		gauge(m.parked, 0, k.name),
		gauge(m.queued, float64(s.Queued), k.name),
		gauge(m.oldest, age, k.name),
		k.freshness.metric(m.freshness, freshnessBounds, k.name),
	}, s.InFlight
}

func (m *metrics) handler(h *handler) []prometheus.Metric {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.meter.account(m.p.now())
	return []prometheus.Metric{
		gauge(m.depth, float64(h.meter.depth), h.name),
		gauge(m.handlerQueue, float64(h.meter.depth), h.name),
		gauge(m.capacity, float64(h.capacity), h.name),
		counter(m.handled, float64(h.meter.handled), h.name),
		counter(m.wait, h.meter.wait/1e9, h.name),
		counter(m.depthTime, h.meter.area/1e9, h.name),
		counter(m.handlerDiscards, float64(h.discards), h.name),
	}
}

func counter(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}
