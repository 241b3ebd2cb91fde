package runner

import (
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
)

// bound completes the evidence for G7 and G8, which need the whole record.
func (c *cellRun) bound(cell *result.Cell) error {
	f := c.s.Fault
	if f == nil {
		return nil
	}
	c.meta.Ceilings = c.ceilings()
	if base := c.r.opts.Baseline; base != nil && (slices.Contains(f.Assert, "I") || slices.Contains(f.Measure, "I")) {
		c.meta.Isolation = c.isolation(base, cell)
	}
	return check.SaveMeta(c.dir, c.meta)
}

// Ceilings that are derived where a scenario gives none.
const (
	// spareGoroutines covers requests under way and the servers' own.
	spareGoroutines = 120
	// returnGoroutines is what may be left of them.
	returnGoroutines = 5
	// overhead of one cached object or queued event beside its JSON.
	objectOverhead = 2 << 10
	cacheFactor    = 1.25
)

// ceilings are the scenario's, and derived ones where it gives none: resident memory
// is bounded by what it was before the load, the objects that can be cached at once,
// and the queues' capacity.
func (c *cellRun) ceilings() *check.Ceilings {
	s := c.s.Ceilings
	w := c.s.Largest()
	before := c.baseline()
	rss, goroutines, sockets := before.rss, before.goroutines, before.sockets
	size := float64(c.s.Load.ObjectBytes) + objectOverhead
	live := float64(measure.PeakLive(c.evidence.ops) + c.s.Extra.Namespaces*c.s.Extra.Pods)
	if c.customs != nil {
		live += float64(c.customs.cached)
	}
	queue := min(float64(max(w.WriterQueueLen, leastWriterQueue)+w.HandlerQueueLen), float64(len(c.evidence.ops)))
	rss += cacheFactor*live*size + queue*size
	if s.RSS > 0 {
		rss = float64(s.RSS)
	}
	goroutines += spareGoroutines + float64(len(c.kinds)*w.PodQueueNum)
	if s.Goroutines > 0 {
		goroutines = float64(s.Goroutines)
	}
	// One connection per request in flight, and those that are being replaced.
	sockets += float64(2 * len(c.kinds) * w.PodQueueNum)
	if s.Sockets > 0 {
		sockets = float64(s.Sockets)
	}
	left := c.goroutinesLeft()
	out := &check.Ceilings{RSSBytes: &rss, Goroutines: &goroutines, Sockets: &sockets, GoroutinesReturn: &left}
	if s.SlopePerMinute > 0 {
		percent := 100 * float64(s.SlopePerMinute)
		out.SlopePercentPerMinute, out.SlopeWindow = &percent, int64(s.SlopeWindow)
	}
	return out
}

// held is what the watcher held before the load: of memory (bytes) and sockets the most,
// of goroutines the last figure.
type held struct{ rss, goroutines, sockets float64 }

func (c *cellRun) baseline() held {
	var b held
	for _, x := range c.sampler.taken() {
		if x.Time > c.loadStarted {
			break
		}
		if u, ok := x.Parties[history.PartyWatcher]; ok {
			b.rss = max(b.rss, u.RSSBytes)
		}
		if x.Goroutines != nil {
			b.goroutines = *x.Goroutines
		}
		if x.Sockets != nil {
			b.sockets = max(b.sockets, *x.Sockets)
		}
	}
	return b
}

// goroutinesLeft is how many more than before the load there may be at the end.
func (c *cellRun) goroutinesLeft() float64 {
	if n := c.s.Ceilings.GoroutinesReturn; n > 0 {
		return float64(n)
	}
	return returnGoroutines
}

// leastWriterQueue is what the watcher raises shorter Writer queues to, as the
// original does.
const leastWriterQueue = 10240

// leastBaseline is the freshness p99 below which a baseline is not taken as better:
// on a shared machine a few milliseconds are noise, and the row F0 itself may have
// twice this.
const leastBaseline = 0.125

// isolation compares the bystander kind, and the keys that no fault hit where the
// faults choose keys, with the undisturbed row.
func (c *cellRun) isolation(base, cell *result.Cell) *check.Isolation {
	calm := func(q *result.Quantiles) *result.Quantiles {
		if q == nil {
			return nil
		}
		x := *q
		x.HDR = ""
		x.P99 = max(x.P99, leastBaseline)
		return &x
	}
	bare := func(q *result.Quantiles) *result.Quantiles {
		if q == nil {
			return nil
		}
		x := *q
		x.HDR = ""
		return &x
	}
	out := &check.Isolation{
		Bystander: bare(cell.Bystander.Freshness), BystanderBaseline: calm(base.Bystander.Freshness), Factor: c.s.Fault.Isolation,
	}
	if c.s.Fault.FromAnswer {
		out.Bystander = c.bystanderFromAnswer()
	}
	byKey := false
	for _, s := range c.s.Storage.FaultSpecs() {
		byKey = byKey || s.Key != "" || s.Keys < 1
	}
	if byKey {
		h := measure.FreshnessOfOthers(c.evidence.changes)
		if q, err := h.Quantiles(measure.Seconds); err == nil {
			out.Others, out.OthersBaseline = bare(q), calm(base.Freshness)
		}
	}
	return out
}

// bystanderFromAnswer is nil where no operation of the bystander arrived.
func (c *cellRun) bystanderFromAnswer() *result.Quantiles {
	q, err := measure.BystanderFromAnswer(c.evidence.changes).Quantiles(measure.Seconds)
	if err != nil || q == nil {
		return nil
	}
	q.HDR = ""
	return q
}
