package synchronizer

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
)

type metrics struct {
	repairs, runs *prometheus.CounterVec
	last          prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metric.SyncRepairs, Help: "Objects whose record in storage differed and was repaired.",
		}, []string{"kind"}),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metric.SyncRuns, Help: "Comparisons with storage, by result.",
		}, []string{"result"}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: metric.SyncLast, Help: "When the last complete comparison ended, in Unix seconds.",
		}),
	}
	m.runs.WithLabelValues("success")
	m.runs.WithLabelValues("failure")
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	m.repairs.Describe(ch)
	m.runs.Describe(ch)
	m.last.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	m.repairs.Collect(ch)
	m.runs.Collect(ch)
	m.last.Collect(ch)
}
