package measure

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// pace is when the writes of an open load were taken by the apiserver, and when they were settled: storage had
// acknowledged a state at least as new, and the answer had come, since a write that storage has before is owed at no
// time. 16 bytes per write.
type pace struct{ written, settled []int64 }

// leastWrites is the fewest writes that a rate is computed from.
const leastWrites = 10

// paceStep is how often the writes owed are counted, in nanoseconds.
const paceStep = int64(100e6)

// mostGrowth is the part of the rate of writing by which the writes owed may grow in a cell that keeps up.
const mostGrowth = 0.05

// leastSteps is how often the writes owed must have been counted for a slope.
const leastSteps = 10

// A backlog grows until the first writes come out of it, however much storage can take. Writes of one object are sent
// one after the other, and pod/fast has seven, so half of the load is to be 14 mean latencies, twice such a life; and
// five times the 99th percentile, for long tails.
const (
	leastMeans = 28
	leastP99s  = 10
)

// paced reports whether the cell may show if storage keeps up: the writes do not wait for answers and are planned at
// one rate throughout, and nothing but the load happens. A profile has a rate of pods, whose writes come as they do,
// and controllers write beside it.
func (f *Figures) paced() bool {
	s := &f.cell.Scenario
	// A storage that is slow for whole periods has no latency to speak of.
	steady := len(s.Load.Steps) == 0 && !strings.Contains(s.Storage.Latency, "slow(")
	steady = steady && s.Load.Profile == "" && !s.Cluster.Controllers
	return s.Load.Model == result.ModelOpen && steady && len(s.Events)+len(s.Storage.Faults)+len(s.Watch.Faults) == 0
}

// leastLoad is the length of load below which a backlog grows though storage keeps up.
func (f *Figures) leastLoad() time.Duration {
	l := f.cell.Scenario.Storage.LatencyFigures(podKind)
	return max(leastMeans*l.Mean, leastP99s*l.P99)
}

// watch notes the changes of the load on their way to the figures. What arrived after the drain did not arrive.
func (p *pace) watch(changes iter.Seq[history.Change], to int64) iter.Seq[history.Change] {
	return func(yield func(history.Change) bool) {
		for c := range changes {
			if !c.Bystander {
				p.written = append(p.written, c.Finished)
				if c.Stored != 0 && c.Arrived <= to {
					p.settled = append(p.settled, max(c.Stored, c.Finished))
				}
			}
			if !yield(c) {
				return
			}
		}
	}
}

// kept says whether storage kept up in the second half of the load's window; nil with too few writes. acked is how many
// requests settled how many events.
func (p *pace) kept(w LoadWindow, least time.Duration, acked, settled int64) *result.Pace {
	slices.Sort(p.written)
	slices.Sort(p.settled)
	from, to := w.First+(w.Last-w.First)/2, w.Last
	written := countBetween(p.written, from, to)
	if written < leastWrites || to-from < leastSteps*paceStep || w.Last-w.First < int64(least) {
		return nil
	}
	rate, growth := float64(written)/(float64(to-from)/1e9), p.growth(from, to)
	return &result.Pace{
		KeepsUp: growth <= mostGrowth*rate, WrittenQPS: round(rate), GrowthQPS: round(growth),
		SentPerEvent: ptr(float64(acked) / float64(settled)),
	}
}

// growth is the slope of the straight line that fits the number of writes owed best, per second. A stall of the machine
// at the end moves it less than it moves the last count.
func (p *pace) growth(from, to int64) float64 {
	steps := (to - from) / paceStep
	var sum, squares float64
	for i := range steps + 1 {
		x := (float64(i) - float64(steps)/2) * float64(paceStep) / 1e9
		sum += x * float64(p.owed(from+i*paceStep))
		squares += x * x
	}
	return sum / squares
}

// owed is how many writes storage owed before a time; both lists are sorted.
func (p *pace) owed(t int64) int {
	return countBetween(p.written, 0, t) - countBetween(p.settled, 0, t)
}

// countBetween counts values in [lo, hi) of a sorted list.
func countBetween(sorted []int64, lo, hi int64) int {
	i, _ := slices.BinarySearch(sorted, lo)
	j, _ := slices.BinarySearch(sorted, hi)
	return j - i
}
