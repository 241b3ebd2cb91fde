package measure

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Range and precision of every histogram: 1 µs to 1 h with three significant digits. Durations outside are set to the
// nearest end.
const (
	histMinMicros = 1
	histMaxMicros = 3600 * 1e6
	histDigits    = 3
)

// Histogram collects durations.
type Histogram struct{ h *hdrhistogram.Histogram }

// NewHistogram returns an empty one.
func NewHistogram() *Histogram {
	return &Histogram{h: hdrhistogram.New(histMinMicros, histMaxMicros, histDigits)}
}

// Add records a duration in nanoseconds. A negative one counts as the least within history.ClockSlack; beyond that it
// is left out: a cell with such times is invalid.
func (h *Histogram) Add(nanos int64) {
	if nanos < -history.ClockSlack {
		return
	}
	v := min(max(nanos/1000, histMinMicros), int64(histMaxMicros))
	if err := h.h.RecordValue(v); err != nil {
		panic(fmt.Sprintf("measure: %d µs is within the histogram's range: %v", v, err))
	}
}

// Quantiles exports the distribution, or nil when nothing was recorded. The unit is micros microseconds: 1e6 for
// seconds, 1e3 for milliseconds.
func (h *Histogram) Quantiles(micros float64) (*result.Quantiles, error) {
	if h.h.TotalCount() == 0 {
		return nil, nil
	}
	hdr, err := h.h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("encode a histogram: %w", err)
	}
	at := func(p float64) float64 { return round(float64(h.h.ValueAtQuantile(p)) / micros) }
	q := &result.Quantiles{
		Count: h.h.TotalCount(), P50: at(50), P90: at(90), P99: at(99),
		Max: round(float64(h.h.Max()) / micros), HDR: string(hdr),
	}
	if q.P99IsMax() {
		q.P99 = q.Max
	}
	return q, nil
}

// Units for Histogram.Quantiles, in microseconds.
const (
	Seconds = 1e6
	Millis  = 1e3
)

// round keeps six significant digits: more than any of these figures carries, and short in the file.
func round(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 6-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

func ptr(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v = round(v)
	return &v
}

func rounded(v *float64) *float64 {
	if v == nil {
		return nil
	}
	return ptr(*v)
}
