package behavior

import (
	"math"
	"sort"
	"time"

	"github.com/watchbench/watchbench/internal/dist"
)

// Figures are the median, the mean and the 99th percentile of service times, over a long time and without what capacity
// makes a request wait.
type Figures struct{ P50, Mean, P99 time.Duration }

// Figures returns the figures of such a request; all 0 where no rule matches.
func (m *Model) Figures(method, kind string) Figures {
	if s := first(m.rules, method, kind); s != nil {
		return Figures{quantile(s.Latency, 0.50), s.Mean(), quantile(s.Latency, 0.99)}
	}
	return Figures{}
}

// deviationStep is the ratio of the bounds of Deviation's bins, which end at dist.MaxLatency.
const deviationStep = 1.005

// Deviation is the standard deviation of such a request's service time, to a few thousandths of the mean.
func (m *Model) Deviation(method, kind string) time.Duration {
	s := first(m.rules, method, kind)
	if s == nil {
		return 0
	}
	squares, mean := 0.0, float64(s.Mean())
	for high, above := float64(dist.MaxLatency), 1.0; high >= 1 && above > 0; high /= deviationStep {
		below := max(0, min(above, s.Share(high/deviationStep)))
		d := high/math.Sqrt(deviationStep) - mean
		squares, above = squares+(above-below)*d*d, below
	}
	if squares = math.Sqrt(squares); squares < mean/1000 { // all in one bin
		return 0
	}
	return time.Duration(squares)
}

// quantile is the shortest time that a share q of the draws do not exceed.
func quantile(d dist.Latency, q float64) time.Duration {
	return time.Duration(sort.Search(int(dist.MaxLatency), func(ns int) bool { return d.Share(float64(ns)) >= q }))
}
