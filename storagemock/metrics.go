package storagemock

import (
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/storagemock/behavior"
)

const (
	// maxKinds bounds the values of the kind label, which come from URLs. otherKind is the label beyond, and for
	// invalid kinds and methods.
	maxKinds  = 200
	otherKind = "other"
)

type metrics struct {
	requests *prometheus.CounterVec
	latency  prometheus.Histogram
	faults   *prometheus.CounterVec

	mu    sync.Mutex
	kinds map[string]bool // guarded by mu; at most maxKinds
}

func newMetrics(s *Server, reg prometheus.Registerer) *metrics {
	m := &metrics{
		kinds: map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metric.MockRequests, Help: "Requests answered or dropped, by effect.",
		}, []string{"method", "kind", "effect"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: metric.MockLatency, Help: "Time from the last byte of a request to its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 3},
		}),
	}
	m.faults = prometheus.NewCounterVec(prometheus.CounterOpts{Name: metric.MockFaults,
		Help: "Requests hit by a fault, by fault name."}, []string{"fault"})
	if reg == nil {
		return m
	}
	gauge := func(name, help string, f func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
	}
	reg.MustRegister(m.requests, m.latency, m.faults,
		gauge(metric.MockInFlight, "Requests in service.", func() float64 { n, _ := s.load(); return float64(n) }),
		gauge(metric.MockQueued, "Requests waiting for capacity.", func() float64 { _, n := s.load(); return float64(n) }),
		gauge(metric.MockObjects, "Live documents.", func() float64 { return float64(s.store.Live()) }),
	)
	return m
}

func (s *Server) load() (inFlight, waiting int) {
	for _, in := range s.instances {
		n := in.stations.Waiting(time.Since(s.began))
		inFlight, waiting = inFlight+int(in.pending.Load())-n, waiting+n
	}
	return max(inFlight, 0), waiting
}

// count records one request.
func (m *metrics) count(method, kind, effect string, took time.Duration) {
	m.latency.Observe(took.Seconds())
	switch method {
	case "GET", "PUT", "DELETE", "POST":
	default:
		method = otherKind
	}
	m.requests.WithLabelValues(method, m.boundedKind(kind), effect).Inc()
}

func (m *metrics) boundedKind(kind string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.kinds[kind] && (len(m.kinds) >= maxKinds || !utf8.ValidString(kind)) {
		return otherKind
	}
	m.kinds[kind] = true
	return kind
}

// announce exports the counters of faults before they fire.
func (m *metrics) announce(specs []behavior.FaultSpec) {
	for _, sp := range specs {
		m.faults.WithLabelValues(sp.Name)
	}
}

// fired counts a fault that hit. The number of names is bounded by how often faults are added.
func (m *metrics) fired(name string) { m.faults.WithLabelValues(name).Inc() }
