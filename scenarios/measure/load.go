package measure

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// LoadWindow is when the load ran, in Unix nanoseconds, from the op log.
type LoadWindow struct {
	First int64 // dispatch of the first write
	Last  int64 // answer to the last one
}

// load sums up the load phase. Heartbeats keep the cluster alive and are not load; the bystander's trickle is a measure
// of its own.
type load struct {
	speed                       units.Speed // of a load that is played into a simulated apiserver
	traced                      bool        // that load is a recorded trace
	window                      LoadWindow
	records                     int64         // of the op log, of all phases
	attempted, done, errors     int64         // operations, successes, failed tries
	underWay                    int64         // nanoseconds that threads had a request under way
	until                       map[int]int64 // by thread: the end of its last request
	byShard                     map[int]int64 // successes of each of several generators
	lag, fromIntent, fromActual *Histogram
}

func newLoad() load {
	return load{until: map[int]int64{}, byShard: map[int]int64{}, lag: NewHistogram(), fromIntent: NewHistogram(),
		fromActual: NewHistogram()}
}

func (l *load) add(r *oplog.Record) {
	l.records++
	if r.Phase != oplog.PhaseLoad || r.Bystander || r.Type == oplog.TypeHeartbeat {
		return
	}
	if r.Attempt == 0 {
		l.attempted++
	}
	if r.Started == 0 {
		return
	}
	// The requests of a burst are under way together, and logged as they end. A retry may have the start of an earlier
	// attempt: its own is not known, and before it was a pause.
	if until := l.until[r.Thread]; r.Attempt == 0 || r.Started >= until {
		l.underWay += max(0, r.Finished-max(r.Started, until))
	}
	l.until[r.Thread] = max(r.Finished, l.until[r.Thread])
	if l.window.First == 0 || r.Started < l.window.First {
		l.window.First = r.Started
	}
	l.window.Last = max(l.window.Last, r.Finished)
	if r.Attempt == 0 {
		l.lag.Add(r.Started - r.Intended)
	}
	if !r.OK() {
		l.errors++
		return
	}
	l.done++
	l.byShard[r.Shard]++
	l.fromIntent.Add(r.Finished - r.Intended)
	l.fromActual.Add(r.Finished - r.Started)
}

// busy is the part of the threads' time that they had a request under way.
func (l *load) busy(threads int) *float64 {
	w := l.window
	if threads == 0 || w.Last <= w.First {
		return nil
	}
	return ptr(float64(l.underWay) / float64(w.Last-w.First) / float64(threads))
}

// figures returns the figures of the load phase; planned is 0 where time alone ends it, and what was attempted counts
// instead.
func (l *load) figures(s *spec.Load, planned int64) (result.Load, error) {
	model := s.Model
	if l.traced {
		model = result.ModelOpen
	}
	out := result.Load{Model: model, Threads: s.Threads, Planned: planned, Done: l.done, Errors: l.errors,
		Warmup: s.Warmup.Operations, Prefill: int64(s.Prefill)}
	if out.Planned == 0 {
		out.Planned = l.attempted
	}
	if w := l.window; w.Last > w.First {
		seconds := float64(w.Last-w.First) / 1e9
		out.DurationS, out.QPS = round(seconds), round(float64(l.done)/seconds)
	}
	if model == result.ModelOpen {
		// the rate of a profile is of pods, each of which is many writes
		if l.speed.Limited() && s.Profile == "" && !l.traced {
			out.OfferedQPS = ptr(l.speed.Rate(s.MeanRate()))
		}
		if d := l.speed.Length(s.Duration.Std()).Seconds(); d > 0 {
			out.PlannedQPS = ptr(float64(out.Planned) / d)
		}
		if out.Arrival = cmp.Or(s.Arrival, plan.ArrivalConstant); s.Arrival == "" && s.Profile != "" {
			out.Arrival = plan.ArrivalPoisson
		}
		if l.traced {
			out.Arrival = "trace"
		}
	} else {
		out.ThinkS, out.Timed = s.ThinkTime.Std().Seconds(), s.Duration > 0
	}
	var err error
	for _, q := range []struct {
		to *(*result.Quantiles)
		h  *Histogram
	}{{&out.LagMs, l.lag}, {&out.FromIntent, l.fromIntent}, {&out.FromActual, l.fromActual}} {
		if *q.to, err = q.h.Quantiles(Millis); err != nil {
			return out, err
		}
	}
	return out, nil
}

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
