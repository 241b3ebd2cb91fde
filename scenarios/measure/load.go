package measure

import (
	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
)

// LoadPlan is what the scenario asked of the generator.
type LoadPlan struct {
	Model   string // closed, open
	Threads int
	Rate    float64 // open loop
	Planned int64   // writes; 0 where only the generator knows (closed loop over a time)
}

// LoadWindow is when the load ran, from the op log.
type LoadWindow struct {
	First int64 // dispatch of the first write
	Last  int64 // answer to the last one
}

// LoadOf sums up the load phase. Heartbeats keep the cluster alive and are
// not load; the bystander's trickle is a measure of its own.
func LoadOf(ops []oplog.Record, plan LoadPlan) (result.Load, LoadWindow, error) {
	l := result.Load{Model: plan.Model, Threads: plan.Threads, Planned: plan.Planned}
	var w LoadWindow
	lag, fromIntent, fromActual := NewHistogram(), NewHistogram(), NewHistogram()
	var firstIntended, lastIntended, dispatched int64
	for _, op := range ops {
		if op.Phase != oplog.PhaseLoad || op.Bystander || op.Type == oplog.TypeHeartbeat || op.Started == 0 {
			continue
		}
		dispatched++
		if w.First == 0 || op.Started < w.First {
			w.First = op.Started
		}
		w.Last = max(w.Last, op.Finished)
		if firstIntended == 0 || op.Intended < firstIntended {
			firstIntended = op.Intended
		}
		lastIntended = max(lastIntended, op.Intended)
		lag.Add(op.Started - op.Intended)
		if !op.OK() {
			l.Errors++
			continue
		}
		l.Done++
		fromIntent.Add(op.Finished - op.Intended)
		fromActual.Add(op.Finished - op.Started)
	}
	if l.Planned == 0 {
		l.Planned = dispatched
	}
	if w.Last > w.First {
		l.DurationS = round(float64(w.Last-w.First) / 1e9)
		l.QPS = round(float64(l.Done) / (float64(w.Last-w.First) / 1e9))
	}
	if plan.Model == result.ModelOpen {
		l.OfferedQPS = ptr(plan.Rate)
	}
	var err error
	for _, q := range []struct {
		to *(*result.Quantiles)
		h  *Histogram
	}{{&l.LagMs, lag}, {&l.FromIntent, fromIntent}, {&l.FromActual, fromActual}} {
		if *q.to, err = q.h.Quantiles(Millis); err != nil {
			return l, w, err
		}
	}
	return l, w, nil
}
