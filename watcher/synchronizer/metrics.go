package synchronizer

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
)

type metrics struct {
	repairs, runs *prometheus.CounterVec
	last          prometheus.Gauge
	waiting       *prometheus.GaugeVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		repairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metric.SyncRepairs, Help: "Objects whose record in storage differed and was repaired.",
		}, []string{"kind"}),
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metric.SyncRuns, Help: "Comparisons with storage, by result.",
		}, []string{"result"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: metric.SyncWaiting, Help: "Objects whose record seems to differ and is not looked at yet.",
		}, []string{"kind"}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: metric.SyncLast, Help: "When the last complete comparison ended, in Unix seconds.",
		}),
	}
	m.runs.WithLabelValues("success")
	m.runs.WithLabelValues("failure")
	return m, meter.Register(reg, m.repairs, m.runs, m.last, m.waiting)
}
