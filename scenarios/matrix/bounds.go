package matrix

import (
	"iter"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Ceilings that are derived where a scenario gives none.
const (
	// spareGoroutines covers requests under way and the servers' own.
	spareGoroutines = 120
	// returnGoroutines of them may be left.
	returnGoroutines = 5
	// objectOverhead is the bytes that a cached object or queued event takes beside its JSON.
	objectOverhead = 2 << 10
	cacheFactor    = 1.25
	// leastWriterQueue: the watcher raises shorter Writer queues to it, as the original does.
	leastWriterQueue = 10240
)

// Ceilings are the scenario's, and derived ones where it gives none: resident memory is bounded by what it was before
// the load, the objects that can be cached at once, and the queues' capacity.
func Ceilings(c *Case, rules []Rule, seen Seen) *check.Ceilings {
	scenario := &c.Cell.Scenario
	s, w := scenario.Ceilings, scenario.Largest()
	before := BeforeLoad(c.Samples, c.Cell.LoadStarted)
	rss, goroutines, sockets := before.RSSBytes, before.Goroutines, before.Sockets
	size := float64(scenario.Load.ObjectBytes) + objectOverhead
	live := float64(seen.PeakLive + scenario.Extra.Namespaces*scenario.Extra.Pods)
	for _, r := range rules {
		live += float64(r.Cached)
	}
	queue := min(float64(max(w.WriterQueueLen, leastWriterQueue)+w.HandlerQueueLen), float64(seen.Operations))
	rss += cacheFactor*live*size + queue*size
	if s.RSS > 0 {
		rss = float64(s.RSS)
	}
	senders := float64(len(c.Cell.Kinds) * w.PodQueueNum)
	goroutines += spareGoroutines + senders
	if s.Goroutines > 0 {
		goroutines = float64(s.Goroutines)
	}
	sockets += 2 * senders // one per request in flight, and those that are being replaced
	if s.Sockets > 0 {
		sockets = float64(s.Sockets)
	}
	left := GoroutinesLeft(s)
	out := &check.Ceilings{RSSBytes: &rss, Goroutines: &goroutines, Sockets: &sockets, GoroutinesReturn: &left}
	if s.SlopePerMinute > 0 {
		percent := 100 * float64(s.SlopePerMinute)
		out.SlopePercentPerMinute, out.SlopeWindow = &percent, int64(s.SlopeWindow)
	}
	return out
}

// Held describes the watcher before the load: of memory and sockets the most, of goroutines the last figure.
type Held struct{ RSSBytes, Goroutines, Sockets float64 }

// BeforeLoad reads it from the samples.
func BeforeLoad(samples []history.Sample, loadStarted int64) (h Held) {
	for _, x := range samples {
		if x.Time > loadStarted {
			break
		}
		if rss := x.Memory(); rss != nil {
			h.RSSBytes = max(h.RSSBytes, *rss)
		}
		if x.Goroutines != nil {
			h.Goroutines = *x.Goroutines
		}
		if x.Sockets != nil {
			h.Sockets = max(h.Sockets, *x.Sockets)
		}
	}
	return h
}

// GoroutinesLeft is how many more than before the load there may be at the end.
func GoroutinesLeft(c spec.Ceilings) float64 {
	if c.GoroutinesReturn > 0 {
		return float64(c.GoroutinesReturn)
	}
	return returnGoroutines
}

// leastBaseline is the freshness p99, in seconds, below which a baseline is not taken as better. On two quiet cores F0
// has 0.02 s for the bystander and 0.04 s for Pods, and the scheduler alone moves a p99 by as much again.
const leastBaseline = 0.05

// Isolation compares the bystander kind, and the keys that no fault hit where the faults choose keys, with the
// undisturbed row. It is nil if there is none or the scenario does not ask for column I.
func Isolation(c *Case, seen Seen) *check.Isolation {
	s, base := &c.Cell.Scenario, c.Baseline
	if base == nil || !slices.Contains(s.Fault.Assert, "I") && !slices.Contains(s.Fault.Measure, "I") {
		return nil
	}
	out := &check.Isolation{
		Bystander: bare(seen.Figures.Bystander.Freshness, 0), BystanderBaseline: bare(base.Bystander.Freshness,
			leastBaseline),
	}
	if s.Fault.FromAnswer {
		out.Bystander = fromAnswer(seen.Changes)
	}
	if out.Bystander == nil && s.Load.Bystander != nil {
		out.Bystander = &result.Quantiles{} // nothing of it arrived
	}
	for _, f := range s.Storage.FaultSpecs() {
		if f.Key == "" && f.Keys >= 1 {
			continue // it hits every key
		}
		unhit := func(c history.Change) (int64, bool) { return c.Stored - c.Intended, !c.Bystander && !c.Hit }
		if out.Others = freshness(seen.Changes, unhit); out.Others == nil {
			out.Others = &result.Quantiles{} // the fault left none
		}
		out.OthersBaseline = bare(base.Freshness, leastBaseline)
		break
	}
	return out
}

// bare are quantiles without their histogram, the p99 raised to a least.
func bare(q *result.Quantiles, least float64) *result.Quantiles {
	if q == nil {
		return nil
	}
	x := *q
	x.HDR, x.P99 = "", max(x.P99, least)
	return &x
}

// fromAnswer is the bystander's freshness counted from the apiserver's answer: where a fault keeps the apiserver itself
// busy, this is the watcher's part. nil where no operation of the bystander arrived.
func fromAnswer(changes iter.Seq[history.Change]) *result.Quantiles {
	return freshness(changes, func(c history.Change) (int64, bool) {
		return max(0, c.Stored-c.Finished), c.Bystander // the watch may be faster than the answer
	})
}

// freshness, in seconds, of the changes that a function keeps, by its age of each (ns). Changes that never arrived are
// missing from it; G1 and G6 have them.
func freshness(changes iter.Seq[history.Change], age func(history.Change) (int64, bool)) *result.Quantiles {
	h := measure.NewHistogram()
	for c := range changes {
		if v, ok := age(c); ok && c.Stored != 0 {
			h.Add(v)
		}
	}
	q, err := h.Quantiles(measure.Seconds)
	if err != nil {
		return nil
	}
	return bare(q, 0)
}
