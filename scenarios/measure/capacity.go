package measure

import (
	"fmt"
	"iter"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// pace is when the writes of a calibration or of an open load were taken by the apiserver,
// and when they were made good: storage had acknowledged a state at least as new. settled
// is the later of both, since a write that storage has before its answer comes is owed at no
// time. 24 bytes per write.
type pace struct{ written, good, settled []int64 }

// leastWrites is how many writes must have been made good for a rate to be told.
const leastWrites = 10

// keptUp is the part of the writes made good beyond which the writes, not the strategy,
// set the rate.
const keptUp = 0.95

// tooFew is why a calibration without a capacity is invalid.
var tooFew = fmt.Sprintf("fewer than %d writes were made good in the second half of the load: too few to tell a capacity", leastWrites)

// watch notes the changes of the load on their way to the figures. What arrived after the
// drain did not arrive.
func (p *pace) watch(changes iter.Seq[history.Change], to int64) iter.Seq[history.Change] {
	return func(yield func(history.Change) bool) {
		for c := range changes {
			if !c.Bystander {
				p.written = append(p.written, c.Finished)
				if c.Stored != 0 && c.Arrived <= to {
					p.good = append(p.good, c.Stored)
					p.settled = append(p.settled, max(c.Stored, c.Finished))
				}
			}
			if !yield(c) {
				return
			}
		}
	}
}

// capacity is the rate in the second half of the load's window: by then a backlog is
// there if there ever is one, and what coalesces has it to coalesce in. Without a backlog
// of at least the requests in flight throughout, or if nearly all that was written was
// made good meanwhile, it is a lower bound. nil if there is too little to tell.
func (p *pace) capacity(cell string, w LoadWindow, senders int) *result.Capacity {
	slices.Sort(p.written)
	slices.Sort(p.good)
	slices.Sort(p.settled)
	from, to := w.First+(w.Last-w.First)/2, w.Last
	good, qps := rateWithin(p.good, from, to)
	_, written := rateWithin(p.written, from, to)
	if good < leastWrites || qps == 0 || written == 0 {
		return nil
	}
	return &result.Capacity{
		Cell: cell, QPS: round(qps), WrittenQPS: round(written), Seconds: round(float64(to-from) / 1e9), Writes: int64(good),
		AtLeast: qps >= keptUp*written || p.leastOwed(from, to) < max(senders, 1),
	}
}

// paceStep is how often the writes owed are counted, in nanoseconds.
const paceStep = int64(100e6)

// owed is how many writes storage owed before a time; both lists are sorted.
func (p *pace) owed(t int64) int {
	return countBetween(p.written, 0, t) - countBetween(p.settled, 0, t)
}

// leastOwed is the smallest number of writes that storage owed, looked at every
// paceStep.
func (p *pace) leastOwed(from, to int64) int {
	least := len(p.written)
	for t := from; t <= to; t += paceStep {
		least = min(least, p.owed(t))
	}
	return least
}

// rateWithin counts sorted times in [from, to) and gives their rate per second, between
// the first and the last; 0 where they do not tell one.
func rateWithin(times []int64, from, to int64) (n int, perSecond float64) {
	i, _ := slices.BinarySearch(times, from)
	n = countBetween(times, from, to)
	if n < 2 || times[i+n-1] == times[i] {
		return n, 0
	}
	return n, float64(n-1) / (float64(times[i+n-1]-times[i]) / 1e9)
}

// countBetween counts values in [lo, hi) of a sorted list.
func countBetween(sorted []int64, lo, hi int64) int {
	i, _ := slices.BinarySearch(sorted, lo)
	j, _ := slices.BinarySearch(sorted, hi)
	return j - i
}
