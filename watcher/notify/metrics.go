package notify

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
)

// dropAbandoned is the reason of events still queued when the time for the end was up.
const dropAbandoned = "abandoned"

// Where a subscription lost its place, as values of a label.
const (
	gapExpired  = "expired"  // it fell behind the window of its view
	gapFull     = "full"     // its queue was full, and is to be filled anew
	gapReopened = "reopened" // the kind's watch ended, and is another one now
)

type metrics struct {
	delivered, retried         *prometheus.CounterVec
	deadLettered, lost, missed *prometheus.CounterVec
	latency                    *prometheus.HistogramVec
	queues                     []prometheus.Collector
}

// latencySeconds go from a receiver next door to one that was away for an hour.
var latencySeconds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600}

func newMetrics() *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help},
			append([]string{"subscription"}, labels...))
	}
	return &metrics{
		delivered:    counter(metric.NotifyDelivered, "Events that targets have taken."),
		retried:      counter(metric.NotifyRetried, "Tries that failed and are followed by another one."),
		deadLettered: counter(metric.NotifyDeadLettered, "Events that were given up, by reason.", "reason"),
		lost:         counter(metric.NotifyDropped, "Events that were dropped, by reason.", "reason"),
		missed:       counter(metric.NotifyGaps, "Places in the history that were not seen, by reason.", "reason"),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metric.NotifyLatency, Help: "Receipt of a change to its delivery.", Buckets: latencySeconds,
		}, []string{"subscription"}),
	}
}

// begin makes the series of a subscription, all of them from the start.
func (m *metrics) begin(name string, q *queue) {
	gauge := func(of, help string, value func() float64) {
		m.queues = append(m.queues, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: of, Help: help, ConstLabels: prometheus.Labels{"subscription": name},
		}, value))
	}
	gauge(metric.NotifyQueued, "Events that wait or are in flight.", func() float64 {
		n, _ := q.depth()
		return float64(n)
	})
	gauge(metric.NotifyOldest, "Age of the oldest event that waits or is in flight.", func() float64 {
		if _, since := q.depth(); !since.IsZero() {
			return time.Since(since).Seconds()
		}
		return 0
	})
	m.delivered.WithLabelValues(name)
	m.retried.WithLabelValues(name)
	m.latency.WithLabelValues(name)
	for _, r := range Reasons() {
		m.deadLettered.WithLabelValues(name, string(r))
	}
	m.lost.WithLabelValues(name, dropAbandoned)
	for _, r := range []string{gapExpired, gapFull, gapReopened} {
		m.missed.WithLabelValues(name, r)
	}
}
