package result

import (
	"strings"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Merge adds the histograms of several distributions up. It is nil if one of them is missing or cannot be read, or if
// they are empty: percentiles cannot be had in another way. Values are in microseconds.
func Merge(all []*Quantiles) *hdrhistogram.Histogram {
	var merged *hdrhistogram.Histogram
	for _, q := range all {
		if q == nil || q.HDR == "" {
			return nil
		}
		h, err := hdrhistogram.Decode([]byte(q.HDR))
		if err != nil {
			return nil
		}
		if merged == nil {
			merged = h
		} else if merged.Merge(h) > 0 {
			return nil // values outside the first one's range would be lost
		}
	}
	if merged == nil || merged.TotalCount() == 0 {
		return nil
	}
	return merged
}

// Percentile is the percentile that the metric is of a distribution, and how many microseconds its unit has; ok is
// false for any other metric.
func (m Metric) Percentile() (percentile, micros float64, ok bool) {
	last := m.Name[strings.LastIndexByte(m.Name, '.')+1:]
	percentile = map[string]float64{"p50": 50, "p90": 90, "p99": 99, "max": 100}[last]
	micros = map[string]float64{"s": 1e6, "ms": 1e3}[m.Unit]
	return percentile, micros, percentile > 0 && micros > 0
}

// Distribution returns the distribution in a cell that a Percentile is taken from; nil if unknown.
func (m Metric) Distribution(c *Cell) *Quantiles {
	v, _, ok := field(c, m.index[:len(m.index)-1])
	if !ok {
		return nil
	}
	q, _ := v.Addr().Interface().(*Quantiles)
	return q
}
