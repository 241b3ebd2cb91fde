package pipeline

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
)

// collector reads the counters when it is scraped. Events touch plain numbers under a
// mutex they hold anyway; no label is looked up on their way. One scrape of one kind is
// one consistent reading, so G6 holds in it exactly.
type collector struct {
	p *Pipeline

	sent, coalesced, dropped, retried, parked, queued, unsent, oldest, freshness *prometheus.Desc
	depth, capacity, handled, wait, depthTime                                    *prometheus.Desc
	handlerQueue, handlerDiscards, queueLatency                                  *prometheus.Desc
	writerFull, inFlight                                                         *prometheus.Desc
}

func newCollector(p *Pipeline) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	original := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, prometheus.Labels{"cluster_id": p.clusterID})
	}
	return &collector{
		p:               p,
		sent:            desc(metric.EventsSent, "Events acknowledged by storage.", "kind"),
		coalesced:       desc(metric.EventsCoalesced, "Events superseded by a later one of the same object.", "kind"),
		dropped:         desc(metric.EventsDropped, "Events discarded by a full queue or abandoned at shutdown.", "kind"),
		retried:         desc(metric.EventsRetried, "Requests after the first for the same event.", "kind"),
		parked:          desc(metric.EventsParked, "Events given up until their object changes.", "kind"),
		queued:          desc(metric.EventsQueued, "Events accepted and not settled.", "kind"),
		unsent:          desc(metric.WatcherQueue, "Events of a kind that are not sent yet.", "watcher"),
		oldest:          desc(metric.OldestUnsent, "Age of the oldest change that storage lacks.", "kind"),
		freshness:       desc(metric.Freshness, "Receipt of the oldest change in a write to its acknowledgement.", "kind"),
		depth:           desc(metric.QueueDepth, "Events in the queue.", "queue"),
		capacity:        desc(metric.QueueCapacity, "Events the queue is meant to hold.", "queue"),
		handled:         desc(metric.QueueHandled, "Events that left the queue towards storage.", "queue"),
		wait:            desc(metric.QueueWaitSeconds, "Summed time that events spent in the queue.", "queue"),
		depthTime:       desc(metric.QueueDepthTime, "Integral of the depth over time.", "queue"),
		handlerQueue:    original(metric.HandlerQueue, "Events in the queue.", "handler"),
		handlerDiscards: original(metric.HandlerDiscards, "Events dropped because the queue stayed full.", "handler"),
		queueLatency:    original(metric.QueueLatency, "Receipt to hand-over to a worker; status failure: to the discard.", "handler", "name", "status"),
		writerFull:      desc(metric.WriterFull, "Time the Writer queue was at capacity."),
		inFlight:        desc(metric.InFlight, "Requests being answered by storage."),
	}
}

var _ prometheus.Collector = (*collector)(nil)

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.sent, c.coalesced, c.dropped, c.retried, c.parked, c.queued, c.unsent, c.oldest, c.freshness,
		c.depth, c.capacity, c.handled, c.wait, c.depthTime,
		c.handlerQueue, c.handlerDiscards, c.queueLatency, c.writerFull, c.inFlight,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	var batch []prometheus.Metric // sent on after the mutex is given back
	inFlight := 0
	var through uint64 // events that passed the Writer without waiting in it
	for _, l := range c.p.sorted() {
		batch = batch[:0]
		l.mu.Lock()
		inFlight += l.inFlight
		through += l.direct
		batch = c.kind(batch, l)
		for _, q := range l.parts {
			batch = c.queue(batch, l, q)
		}
		l.mu.Unlock()
		for _, m := range batch {
			out <- m
		}
	}
	batch = c.writer(batch[:0], through)
	for _, m := range append(batch, gauge(c.inFlight, float64(inFlight))) {
		out <- m
	}
}

func (c *collector) kind(to []prometheus.Metric, l *lane) []prometheus.Metric {
	s := l.stats()
	age := 0.0
	if at, ok := l.oldest(); ok {
		age = float64(c.p.now()-at) / 1e9
	}
	return append(to,
		counter(c.sent, float64(s.Sent), l.kind),
		counter(c.coalesced, float64(s.Coalesced), l.kind),
		counter(c.dropped, float64(s.Dropped), l.kind),
		counter(c.retried, float64(s.Retried), l.kind),
		gauge(c.parked, float64(s.Parked), l.kind),
		gauge(c.queued, float64(s.Queued), l.kind),
		gauge(c.unsent, float64(s.Queued), l.kind),
		gauge(c.oldest, age, l.kind),
		histogram(c.freshness, &l.freshness, freshnessBounds, l.kind),
	)
}

func (c *collector) queue(to []prometheus.Metric, l *lane, q *partition) []prometheus.Metric {
	q.meter.account(q.depth, c.p.now())
	to = append(to,
		histogram(c.queueLatency, &q.latency, latencyBounds, q.name, l.kind, "success"),
		histogram(c.queueLatency, &q.refused, latencyBounds, q.name, l.kind, "failure"),
	)
	return c.meter(to, q.name, q.depth, q.capacity, q.meter.handled, &q.meter, q.discards)
}

func (c *collector) writer(to []prometheus.Metric, through uint64) []prometheus.Metric {
	w := &c.p.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	w.account(c.p.now())
	to = c.meter(to, metric.WriterQueueHandler, w.depth, w.capacity, through+w.meter.handled, &w.meter, w.discards)
	return append(to, counter(c.writerFull, float64(w.full)/1e9))
}

func (c *collector) meter(to []prometheus.Metric, name string, depth, capacity int, handled uint64, m *meter, discards uint64) []prometheus.Metric {
	return append(to,
		gauge(c.depth, float64(depth), name),
		gauge(c.handlerQueue, float64(depth), name),
		gauge(c.capacity, float64(capacity), name),
		counter(c.handled, float64(handled), name),
		counter(c.wait, m.wait/1e9, name),
		counter(c.depthTime, m.area/1e9, name),
		counter(c.handlerDiscards, float64(discards), name),
	)
}

func counter(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func histogram(d *prometheus.Desc, c *counts, bounds []int64, labels ...string) prometheus.Metric {
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
