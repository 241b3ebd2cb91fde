package measure

import (
	"cmp"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
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
	lag, fromIntent, fromActual *Histogram
}

func newLoad() load {
	return load{until: map[int]int64{}, lag: NewHistogram(), fromIntent: NewHistogram(), fromActual: NewHistogram()}
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
