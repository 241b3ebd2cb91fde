package live

import (
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

// rateWindow is the least time that a rate or a percentile covers: over less, a clock tick
// of CPU time or a single slow request would be most of the figure.
const rateWindow = time.Second

// leastWindow is the least that is taken where there is no older reading: the first two of a
// cell may be a few milliseconds apart.
const leastWindow = rateWindow / 5

// maxPast bounds the readings that are kept to compare with: 64 in a second are more than
// any source takes.
const maxPast = 64

// maxQueues bounds the queues in a frame.
const maxQueues = 256

// Meter makes frames of readings. It compares each with an earlier one.
type Meter struct {
	past    []snapshot // oldest first
	outage  int64      // when readings began to fail; 0 if the last one succeeded
	failing bool
}

// snapshot is kept of a reading to compare the next one with.
type snapshot struct {
	at                                                         time.Time
	start                                                      *float64
	received, sent, coalesced, dropped, cpuTime, netIn, netOut *float64
	latency, fresh                                             *buckets
}

// Frame turns a reading into what the page shows.
func (m *Meter) Frame(r Reading) Frame {
	f := Frame{Time: r.Time.UnixMilli(), Run: r.Run.plain()}
	if r.Metrics == nil && r.Err == nil && r.CPUSeconds == nil {
		f.State = true
		return f
	}
	now := snapshot{at: r.Time, cpuTime: r.CPUSeconds}
	var text families
	err := r.Err
	if err == nil && r.Metrics != nil {
		text, err = parse(r.Metrics)
	}
	f.Unreachable = m.unreachable(f.Time, err)
	if text != nil {
		now.read(text)
		f.gauges(text)
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

// unreachable says since when there is an error.
func (m *Meter) unreachable(now int64, err error) *Outage {
	if err == nil {
		m.failing = false
		return nil
	}
	if !m.failing {
		m.failing, m.outage = true, now
	}
	return &Outage{Since: m.outage, Why: plain(err.Error())}
}

// before finds the reading to compare with: the latest one at least a window old, else the
// oldest. A restarted watcher begins anew.
func (m *Meter) before(now *snapshot) *snapshot {
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

// read takes what is compared.
func (s *snapshot) read(f families) {
	s.start = f.sum(processStart, "", "")
	s.received, s.coalesced = f.sum(metric.EventsReceived, "", ""), f.sum(metric.EventsCoalesced, "", "")
	s.sent, s.dropped = f.sum(metric.EventsSent, "", ""), f.sum(metric.EventsDropped, "", "")
	if s.received == nil {
		s.original(f)
	}
	if s.cpuTime == nil {
		s.cpuTime = f.sum(processCPU, "", "")
	}
	s.netIn, s.netOut = f.sum(metric.NetBytes, "direction", "in"), f.sum(metric.NetBytes, "direction", "out")
	s.latency = f.histogram(metric.StorageLatency, func(m *dto.Metric) bool { return label(m, "method") != "GET" })
	s.fresh = f.histogram(metric.Freshness, func(*dto.Metric) bool { return true })
}

// original reads bcs-k8s-watch, which counts requests, not events. It has no series of
// discarded events before the first one.
func (s *snapshot) original(f families) {
	f.each(metric.StorageRequests, func(label func(string) string, v float64) {
		if s.sent == nil {
			s.sent = new(float64)
		}
		if label("method") != "GET" && label("status") == "success" {
			*s.sent += v
		}
	})
	s.sent = finite(s.sent)
	if s.dropped = f.sum(metric.HandlerDiscards, "", ""); s.dropped == nil && f[metric.HandlerQueue] != nil {
		s.dropped = new(float64)
	}
}

// gauges sets the figures that one reading suffices for.
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
	f.InFlight = text.sum(metric.InFlight, "", "")
	f.Oldest, f.OldestOf = text.largest(metric.OldestUnsent)
	f.Memory = text.sum(processMemory, "", "")
}

// compare sets the figures that need two readings; old is nil if there is only one.
func (f *Frame) compare(now, old *snapshot) {
	if old == nil {
		return
	}
	seconds := now.at.Sub(old.at).Seconds()
	if seconds < leastWindow.Seconds() {
		return
	}
	rate := func(after, before *float64) *float64 {
		if after == nil || before == nil || *after < *before {
			return nil
		}
		return finite(new((*after - *before) / seconds))
	}
	f.Received, f.Sent = rate(now.received, old.received), rate(now.sent, old.sent)
	f.Coalesced, f.Dropped = rate(now.coalesced, old.coalesced), rate(now.dropped, old.dropped)
	f.CPU, f.NetIn, f.NetOut = rate(now.cpuTime, old.cpuTime), rate(now.netIn, old.netIn), rate(now.netOut, old.netOut)
	f.Latency, f.Freshness = now.latency.since(old.latency), now.fresh.since(old.fresh)
}
