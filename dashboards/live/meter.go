package live

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/watchbench/watchbench/internal/metric"
)

// Reading is one observation of a watcher.
type Reading struct {
	Time    time.Time
	Metrics []byte // its exposition in the Prometheus text format; nil if there is none
	Err     error  // why there is none; nil where none is expected now, only the run has changed

	// What was measured from outside, and is preferred to the watcher's own account.
	CPUSeconds, Memory, InFlight *float64

	Run *Run
}

// A rate or a percentile covers rateWindow: over less, a clock tick of CPU time or a single slow request would be most
// of the figure. If no reading is that old, leastWindow is enough.
const (
	rateWindow  = time.Second
	leastWindow = rateWindow / 5
)

// Bounds on the readings that are kept to compare with, and on the queues in a frame.
const (
	maxPast   = 64
	maxQueues = 256
)

type meter struct {
	past   []snapshot // oldest first
	outage int64      // when readings began to fail; 0 if the last one succeeded
}

// snapshot is kept of a reading to compare the next one with.
type snapshot struct {
	at    time.Time
	start *float64
	// received, sent, coalesced, dropped, CPU time, bytes in and out, in the order of Frame.rates
	counters       [7]*float64
	latency, fresh *buckets
}

func (f *Frame) rates() []**float64 {
	return []**float64{&f.Received, &f.Sent, &f.Coalesced, &f.Dropped, &f.CPU, &f.NetIn, &f.NetOut}
}

func (m *meter) frame(r Reading) Frame {
	f := Frame{Time: r.Time.UnixMilli(), Run: r.Run.plain()}
	if r.Metrics == nil && r.Err == nil && r.CPUSeconds == nil {
		f.State = true
		return f
	}
	now := snapshot{at: r.Time}
	var text families
	err := r.Err
	if err == nil && r.Metrics != nil {
		text, err = parse(r.Metrics)
	}
	if err == nil {
		m.outage = 0
	} else {
		m.outage = cmp.Or(m.outage, f.Time)
		f.Unreachable = &Outage{Since: m.outage, Why: plain(err.Error())}
	}
	if text != nil {
		now.read(text)
		f.gauges(text)
	}
	if r.CPUSeconds != nil {
		now.counters[4] = r.CPUSeconds
	}
	if r.Memory != nil {
		f.Memory = finite(r.Memory)
	}
	if f.InFlight == nil {
		f.InFlight = finite(r.InFlight)
	}
	f.compare(&now, m.before(&now))
	if text != nil {
		f.Bottleneck = bottleneck(&f, text)
	}
	return f
}

// before finds the reading to compare with: the latest one at least a window old, else the oldest. A restarted watcher
// begins anew.
func (m *meter) before(now *snapshot) *snapshot {
	if n := len(m.past); n > 0 && now.start != nil {
		if former := m.past[n-1].start; former != nil && *former != *now.start {
			m.past = nil
		}
	}
	defer func() { m.past = append(m.past, *now) }()
	if len(m.past) == 0 {
		return nil
	}
	i := 0
	for i+1 < len(m.past) && now.at.Sub(m.past[i+1].at) >= rateWindow {
		i++
	}
	m.past = m.past[max(i, len(m.past)-maxPast+1):]
	old := m.past[0]
	return &old
}

// read takes what is compared. bcs-k8s-watch counts requests, not events, and has no series of discarded events before
// the first one.
func (s *snapshot) read(f families) {
	s.start = f.sum(metric.ProcessStart, "", "")
	received, sent, dropped := f.sum(metric.EventsReceived, "", ""), f.sum(metric.EventsSent, "", ""),
		f.sum(metric.EventsDropped, "", "")
	if received == nil {
		sent, dropped = nil, f.sum(metric.HandlerDiscards, "", "")
		f.each(metric.StorageRequests, func(label func(string) string, v float64) {
			if sent == nil {
				sent = new(float64)
			}
			if label("method") != "GET" && label("status") == "success" {
				*sent += v
			}
		})
		if dropped == nil && f[metric.HandlerQueue] != nil {
			dropped = new(float64)
		}
	}
	s.counters = [7]*float64{received, finite(sent), f.sum(metric.EventsCoalesced, "", ""), dropped,
		f.sum(metric.ProcessCPU, "", ""), f.sum(metric.NetBytes, "direction", "in"),
		f.sum(metric.NetBytes, "direction", "out")}
	s.latency = f.histogram(metric.StorageLatency, func(m *dto.Metric) bool { return label(m, "method") != "GET" })
	s.fresh = f.histogram(metric.Freshness, func(*dto.Metric) bool { return true })
}

func (f *Frame) gauges(text families) {
	f.Queues = text.queues()
	for i := range f.Queues {
		q := &f.Queues[i]
		sum := &f.Handlers
		if q.Name == metric.WriterQueueHandler {
			sum = &f.Writer
		}
		if *sum == nil {
			*sum = new(float64)
		}
		**sum += q.Depth
		q.Name = plain(q.Name)
	}
	f.Writer, f.Handlers = finite(f.Writer), finite(f.Handlers)
	if more := len(f.Queues) - maxQueues; more > 0 {
		f.Queues, f.MoreQueues = f.Queues[:maxQueues], more
	}
	f.InFlight, f.Memory = text.sum(metric.InFlight, "", ""), text.sum(metric.ProcessMemory, "", "")
	f.Oldest, f.OldestOf = text.largest(metric.OldestUnsent)
}

// compare sets the figures that need two readings; old is nil if there is only one.
func (f *Frame) compare(now, old *snapshot) {
	if old == nil || now.at.Sub(old.at) < leastWindow {
		return
	}
	for i, to := range f.rates() {
		after, before := now.counters[i], old.counters[i]
		if after != nil && before != nil && *after >= *before {
			*to = finite(new((*after - *before) / now.at.Sub(old.at).Seconds()))
		}
	}
	f.Latency, f.Freshness = now.latency.since(old.latency), now.fresh.since(old.fresh)
}

// buckets are the cumulative counts of a histogram by upper bound, without +Inf, and the count of all.
type buckets struct {
	upTo  map[float64]float64
	total float64
}

// histogram adds up the series of a histogram that keep says; nil where it is not exposed.
func (f families) histogram(name string, keep func(*dto.Metric) bool) *buckets {
	var b *buckets
	for _, m := range f[name].GetMetric() {
		h := m.GetHistogram()
		if h == nil || !keep(m) {
			continue
		}
		if b == nil {
			b = &buckets{upTo: map[float64]float64{}}
		}
		b.total += float64(h.GetSampleCount())
		for _, x := range h.GetBucket() {
			if u := x.GetUpperBound(); finite(&u) != nil {
				b.upTo[u] += float64(x.GetCumulativeCount())
			}
		}
	}
	return b
}

// since returns the difference from an earlier reading of the same process; nil if nothing was added.
func (b *buckets) since(before *buckets) *Percentiles {
	if b == nil || before == nil || b.total <= before.total || len(b.upTo) == 0 {
		return nil
	}
	bounds := slices.Sorted(maps.Keys(b.upTo))
	counts := make([]float64, len(bounds))
	for i, u := range bounds {
		counts[i] = b.upTo[u] - before.upTo[u]
		if counts[i] < 0 || i > 0 && counts[i] < counts[i-1] {
			return nil // no histogram
		}
	}
	total := b.total - before.total
	p := Percentiles{quantile(0.5, bounds, counts, total), quantile(0.9, bounds, counts, total),
		quantile(0.99, bounds, counts, total)}
	if math.IsInf(p.P50+p.P90+p.P99, 0) || math.IsNaN(p.P50+p.P90+p.P99) {
		return nil // a bucket wider than a number
	}
	return &p
}

// quantile interpolates within the bucket as Prometheus' histogram_quantile does.
func quantile(q float64, bounds, counts []float64, total float64) float64 {
	rank := q * total
	i, _ := slices.BinarySearch(counts, rank)
	if i == len(bounds) {
		return bounds[len(bounds)-1]
	}
	low, below := 0.0, 0.0
	if i > 0 {
		low, below = bounds[i-1], counts[i-1]
	} else if bounds[0] <= 0 {
		return bounds[0]
	}
	if counts[i] == below {
		return bounds[i]
	}
	return low + (bounds[i]-low)*(rank-below)/(counts[i]-below)
}
