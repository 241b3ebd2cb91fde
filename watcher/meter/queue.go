package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
)

// Queue measures one queue so that Little's law can be checked on it: the integral of
// the depth over time must equal the summed time that its events spent in it. Times are
// nanoseconds since the pipeline's start.
type Queue struct {
	Changed int64   // when the depth last changed
	Area    float64 // depth × nanoseconds; a float because 10⁵ events × a month exceed an int64
	Wait    float64 // nanoseconds spent in the queue by the events that left
	Handled uint64  // events that left towards storage
}

// Account must run before the depth changes, and before a reading.
func (q *Queue) Account(depth int, now int64) {
	q.Area += float64(depth) * float64(now-q.Changed)
	q.Changed = now
}

// Left records that one event left after so many nanoseconds, not necessarily towards
// storage; those count as handled besides.
func (q *Queue) Left(wait int64) { q.Wait += float64(wait) }

// QueueSeries are the series of each queue.
type QueueSeries struct {
	depth, capacity, handled, wait, depthTime, handlerQueue, handlerDiscards *prometheus.Desc
}

// NewQueueSeries describes the series in d, the original's with the cluster's id.
func NewQueueSeries(d *Descs, clusterID string) QueueSeries {
	return QueueSeries{
		depth:        d.New(metric.QueueDepth, "Events in the queue.", "queue"),
		capacity:     d.New(metric.QueueCapacity, "Events the queue is meant to hold.", "queue"),
		handled:      d.New(metric.QueueHandled, "Events that left the queue towards storage.", "queue"),
		wait:         d.New(metric.QueueWaitSeconds, "Summed time that events spent in the queue.", "queue"),
		depthTime:    d.New(metric.QueueDepthTime, "Integral of the depth over time.", "queue"),
		handlerQueue: d.Original(metric.HandlerQueue, "Events in the queue.", clusterID, "handler"),
		handlerDiscards: d.Original(metric.HandlerDiscards, "Items dropped because the queue stayed full.", clusterID,
			"handler"),
	}
}

// Reading holds the figures of one queue in a scrape.
type Reading struct {
	Name            string
	Depth, Capacity int
	Handled         uint64
	Discards        uint64
	Meter           *Queue // accounted for now
}

// Append appends the series of one queue.
func (s QueueSeries) Append(to []prometheus.Metric, r Reading) []prometheus.Metric {
	return append(to,
		Gauge(s.depth, float64(r.Depth), r.Name),
		Gauge(s.handlerQueue, float64(r.Depth), r.Name),
		Gauge(s.capacity, float64(r.Capacity), r.Name),
		Counter(s.handled, float64(r.Handled), r.Name),
		Counter(s.wait, r.Meter.Wait/1e9, r.Name),
		Counter(s.depthTime, r.Meter.Area/1e9, r.Name),
		Counter(s.handlerDiscards, float64(r.Discards), r.Name),
	)
}
