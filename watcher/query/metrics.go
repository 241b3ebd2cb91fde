package query

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
)

type metrics struct {
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer, h *Handler) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: metric.QueryRequests,
			Help: "Requests to the read API by verb and status."}, []string{"verb", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: metric.QuerySeconds, Help: "Time to answer GET and LIST.",
			Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5},
		}, []string{"verb"}),
	}
	for _, verb := range served {
		m.requests.WithLabelValues(verb, "200")
	}
	gauge := func(name, help string, n func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(n()) })
	}
	return m, meter.Register(reg, m.requests, m.latency,
		gauge(metric.QueryInFlight, "Requests that are being served, without watches.", h.requests.inUse),
		gauge(metric.QueryWatchers, "Watches that clients hold open.", h.watchers.inUse),
		gauge(metric.QueryQueued, "Lists and relations that wait for a seat.", h.seats.Waiting))
}

// observe notes a request. status 0 is of clients that went before they were answered.
func (m *metrics) observe(verb string, status int, took time.Duration) {
	if verb == "" {
		verb = "none"
	}
	m.requests.WithLabelValues(verb, strconv.Itoa(status)).Inc()
	if status == http.StatusOK && verb != "watch" {
		m.latency.WithLabelValues(verb).Observe(took.Seconds())
	}
}
