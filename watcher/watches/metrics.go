package watches

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
)

// Outcomes of Open, the values of the label outcome.
const (
	outcomeOK          = "ok"
	outcomeUnsynced    = "unsynced"
	outcomeNotServed   = "not_served"
	outcomeDenied      = "denied"
	outcomeNotFollowed = "not_followed"
	outcomeLimit       = "limit"
	outcomeCancelled   = "cancelled"
)

// metrics are the series of Watches.
type metrics struct {
	opens   map[string]prometheus.Counter // by outcome
	started prometheus.Counter
}

func newMetrics(w *Watches, reg prometheus.Registerer) (*metrics, error) {
	opens := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: metric.WatchOpens, Help: "Kinds opened by readers, by what became of it.",
	}, []string{"outcome"})
	m := &metrics{opens: map[string]prometheus.Counter{}, started: prometheus.NewCounter(prometheus.CounterOpts{
		Name: metric.LazyStarts, Help: "Watches started because of a query, a pin or a subscription.",
	})}
	for _, o := range []string{outcomeOK, outcomeUnsynced, outcomeNotServed, outcomeDenied, outcomeNotFollowed,
		outcomeLimit, outcomeCancelled} {
		m.opens[o] = opens.WithLabelValues(o)
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	err := meter.Register(reg, opens, m.started,
		gauge(metric.LazyWatches, "Kinds that are followed for readers only.", func() float64 {
			n, _ := w.load()
			return float64(n)
		}),
		gauge(metric.LazyBytes, "Bytes of the objects cached of those kinds.", func() float64 {
			_, b := w.load()
			return float64(b)
		}))
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return m, nil
}

// opened counts what became of an Open.
func (m *metrics) opened(err error) {
	var limit *LimitError
	var unsynced *UnsyncedError
	outcome := outcomeCancelled // with whatever cause
	switch {
	case err == nil:
		outcome = outcomeOK
	case errors.Is(err, ErrDenied):
		outcome = outcomeDenied
	case errors.Is(err, ErrNotServed):
		outcome = outcomeNotServed
	case errors.Is(err, ErrNotFollowed):
		outcome = outcomeNotFollowed
	case errors.As(err, &limit):
		outcome = outcomeLimit
	case errors.As(err, &unsynced):
		outcome = outcomeUnsynced
	}
	m.opens[outcome].Inc()
}
