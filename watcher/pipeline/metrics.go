package pipeline

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
)

type collector struct {
	meter.Descs
	p      *Pipeline
	events meter.EventSeries
	queues meter.QueueSeries

	unsent, shed, queueLatency, writerFull, inFlight *prometheus.Desc
}

func newCollector(p *Pipeline) *collector {
	c := &collector{p: p}
	c.events = meter.NewEventSeries(&c.Descs)
	c.queues = meter.NewQueueSeries(&c.Descs, p.clusterID)
	c.unsent = c.New(metric.WatcherQueue, "Events of a kind that are not sent yet.", "watcher")
	c.shed = c.New(metric.EventsShed, "Events dropped because more waited than are kept of a kind whose deletions are "+
		"not sent.", "kind")
	c.queueLatency = c.Original(metric.QueueLatency, "Receipt to hand-over to a worker; status failure: to the discard.",
		p.clusterID, "handler", "name", "status")
	c.writerFull = c.New(metric.WriterFull, "Time the Writer queue was at capacity.")
	c.inFlight = c.New(metric.InFlight, "Requests being answered by storage.")
	return c
}

var _ prometheus.Collector = (*collector)(nil)

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
	for _, m := range append(batch, meter.Gauge(c.inFlight, float64(inFlight))) {
		out <- m
	}
}

func (c *collector) kind(to []prometheus.Metric, l *lane) []prometheus.Metric {
	s := l.stats()
	var age int64
	if at, ok := l.oldest(); ok {
		age = c.p.now() - at
	}
	to = c.events.Append(to, l.kind, s, age, &l.freshness)
	if l.bound != nil {
		to = append(to, meter.Counter(c.shed, float64(l.shed), l.kind))
	}
	return append(to, meter.Gauge(c.unsent, float64(s.Queued), l.kind))
}

func (c *collector) queue(to []prometheus.Metric, l *lane, q *partition) []prometheus.Metric {
	q.meter.Account(q.depth, c.p.now())
	to = append(to, q.latency.Metric(c.queueLatency, q.name, l.kind, "success"),
		q.refused.Metric(c.queueLatency, q.name, l.kind, "failure"))
	return c.queues.Append(to, meter.Reading{
		Name: q.name, Depth: q.depth, Capacity: q.capacity, Handled: q.meter.Handled, Discards: q.discards, Meter: &q.meter,
	})
}

func (c *collector) writer(to []prometheus.Metric, through uint64) []prometheus.Metric {
	w := &c.p.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	w.account(c.p.now())
	to = c.queues.Append(to, meter.Reading{
		Name: metric.WriterQueueHandler, Depth: w.depth, Capacity: w.capacity, Handled: through + w.meter.Handled,
		Discards: w.discards, Meter: &w.meter,
	})
	return append(to, meter.Counter(c.writerFull, float64(w.full)/1e9))
}
