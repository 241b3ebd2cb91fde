package legacy

import (
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/collector"
	"github.com/watchbench/watchbench/watcher/meter"
	"github.com/watchbench/watchbench/watcher/pipeline"
)

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

// Run sends until ctx ends, and ends at once then: requests are cut off, what is queued is counted as
// dropped.
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
