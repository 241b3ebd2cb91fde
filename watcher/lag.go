package watcher

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/watcher/meter"
)

// lags are the series of how far storage may be behind. They are read at a scrape.
type lags struct {
	meter.Descs
	c           *copying
	silent, lag *prometheus.Desc
}

func newLags(c *copying) *lags {
	l := &lags{c: c}
	l.silent = l.New(metric.WatchSilent, "Time since the apiserver was last heard of the kind: a complete list, "+
		"the answer to a watch or its orderly end, an event or a bookmark.", "kind")
	l.lag = l.New(metric.Lag, "Age of the oldest change that storage lacks, given up or not, or of a first list that is "+
		"not compared and handed over; while the watch fails, at least how long it has been silent.", "kind")
	return l
}

var _ prometheus.Collector = (*lags)(nil)

// Collect implements prometheus.Collector.
func (l *lags) Collect(out chan<- prometheus.Metric) {
	for _, s := range l.c.collector.States() {
		lag := l.c.pipeline.Lag(s.Key)
		if sync := l.c.synchronizer; sync != nil {
			if since := sync.FirstSince(s.Key); !since.IsZero() {
				lag = max(lag, time.Since(since))
			}
		}
		if s.Failed != nil {
			lag = max(lag, s.Silent)
		}
		out <- meter.Gauge(l.silent, s.Silent.Seconds(), s.Key)
		out <- meter.Gauge(l.lag, lag.Seconds(), s.Key)
	}
}
