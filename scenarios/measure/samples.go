package measure

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

const seriesBin = int64(500e6)

func (f *Figures) curves(zero int64, writes *rate, events *debts) map[string]result.Series {
	b := curveBuilder{zero: zero, out: map[string]result.Series{}}
	b.sampled(f.samples)
	b.rate(result.SeriesStorageQPS, &f.answers)
	b.rate(result.SeriesLoadQPS, writes)
	b.most(result.SeriesQueueDepth, "events", events)
	return b.out
}

func (b curveBuilder) sampled(samples []history.Sample) {
	var prev *history.Sample
	for i := range samples {
		s := &samples[i]
		b.add(result.SeriesWriterDepth, "events", s.Time, s.WriterDepth)
		b.add(result.SeriesHandlerDepth, "events", s.Time, s.HandlerDepth)
		b.add(result.SeriesStorageInFlight, "requests", s.Time, s.StorageInFlight)
		for name, u := range s.Parties {
			b.add(name+".rssMiB", "MiB", s.Time, ptr(u.RSSBytes/(1<<20)))
			if prev == nil {
				continue
			}
			p, ok := prev.Parties[name]
			dt := float64(s.Time-prev.Time) / 1e9
			if !ok || dt <= 0 {
				continue
			}
			b.add(name+".cpuCores", "cores", s.Time, ptr((u.CPUSeconds-p.CPUSeconds)/dt))
			if name == history.PartyWatcher {
				if in, out := calls(prev, s); in != nil && *in >= 0 && *out >= 0 { // not across a restart
					b.add(result.SeriesWatcherNet, "KiB/s", s.Time, ptr((*in+*out)/1024/dt))
				}
			}
		}
		prev = s
	}
}

// calls is the bytes in the watcher's read and write calls between two samples; nil where they are not known.
func calls(a, b *history.Sample) (in, out *float64) {
	ua, ub := a.Parties[history.PartyWatcher], b.Parties[history.PartyWatcher]
	if ua.Read < 0 || ub.Read < 0 {
		return nil, nil
	}
	return new(ub.Read - ua.Read), new(ub.Written - ua.Written)
}

type curveBuilder struct {
	zero int64
	out  map[string]result.Series
}

func (b curveBuilder) add(name, unit string, at int64, v *float64) {
	if v == nil {
		return
	}
	s := b.out[name]
	s.Unit = unit
	s.T = append(s.T, round(float64(at-b.zero)/1e9))
	s.V = append(s.V, *v)
	b.out[name] = s
}

func (b curveBuilder) rate(name string, r *rate) {
	first := slices.IndexFunc(r.n, func(n int32) bool { return n > 0 })
	for i := max(0, first); i < len(r.n); i++ {
		at := b.zero + int64(i)*seriesBin + seriesBin/2
		b.add(name, "requests/s", at, ptr(float64(r.n[i])/(float64(seriesBin)/1e9)))
	}
}

// most adds the most that were owed in each bin, from the first to the last that had any.
func (b curveBuilder) most(name, unit string, owed *debts) {
	level, most, end := 0, 0, seriesBin
	for i, d := range owed.n {
		if at := int64(i) * owed.width; at >= end {
			b.add(name, unit, b.zero+end-seriesBin/2, ptr(float64(most)))
			most, end = 0, end+seriesBin
		}
		level += int(d)
		most = max(most, level)
	}
	if len(owed.n) > 0 {
		b.add(name, unit, b.zero+end-seriesBin/2, ptr(float64(most)))
	}
}

type rate struct{ bins }

// maxBins bounds a curve to what a cell can last, some six days.
const maxBins = 1 << 20

func (r *rate) count(nanos int64) {
	if nanos >= 0 && nanos < maxBins*seriesBin {
		r.add(int(nanos/seriesBin), 1)
	}
}

func maxOf(samples []history.Sample, from, to int64, of func(*history.Sample) *float64) *float64 {
	i := sort.Search(len(samples), func(i int) bool { return samples[i].Time >= from })
	var most *float64
	for ; i < len(samples) && samples[i].Time <= to; i++ {
		if v := of(&samples[i]); v != nil && (most == nil || *v > *most) {
			most = v
		}
	}
	return most
}

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
