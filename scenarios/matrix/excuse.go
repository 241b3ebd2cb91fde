package matrix

import (
	"cmp"
	"math"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
)

// stall is a time in which the machine stood still for a part of it.
type stall struct {
	result.Span
	lost time.Duration
}

type stalls []stall

// lostTime is when the machine stood still, between each two samples, by the evidence that
// Stalled names: as long as they are apart if nothing ran or others crowded the cell out,
// and otherwise what the hypervisor took, as if all of it had been missing at once.
func lostTime(c *Case) (all stalls) {
	samples := judged(c)
	if len(samples) < 2 {
		return nil
	}
	first, last := &samples[0], &samples[len(samples)-1]
	share, _ := stolen(first, last)
	usual := usualUse(samples, c.Cell.LoadFinished)
	_, _, crowdedOut := crowded(first, last)
	crowdedOut = crowdedOut && allSampled(c, last)
	for i := range samples[1:] {
		a, b := &samples[i], &samples[i+1]
		apart, lost := time.Duration(b.Time-a.Time), time.Duration(0)
		if d := max(runnerGap(a, b), standstill(a, b, c.Cell.LoadFinished, usual)); d >= stallGap {
			lost = d
		}
		if _, _, now := crowded(a, b); now && crowdedOut {
			lost = apart
		}
		if share >= stallSteal && a.CPU != nil && b.CPU != nil {
			lost = max(lost, time.Duration((b.CPU.Steal-a.CPU.Steal)*1e9))
		}
		if lost = min(lost, apart); lost > 0 {
			all = append(all, stall{result.Span{From: a.Time, To: b.Time}, lost})
		}
	}
	return all
}

// within is how much of a span the machine stood still.
func (all stalls) within(s result.Span) (lost time.Duration) {
	for _, x := range all {
		if over := min(s.To, x.To) - max(s.From, x.From); over > 0 {
			lost += min(x.lost, time.Duration(over))
		}
	}
	return lost
}

// always spans a whole cell.
var always = result.Span{From: math.MinInt64 / 2, To: math.MaxInt64 / 2}

// excuse reports whether a late column would be in time but for the stalls: each span
// without what was lost in it, or a figure of which only the length is known without all
// that was lost.
func (all stalls) excuse(c *Case, col string, facts []result.Fact, seen Seen) bool {
	for _, f := range facts {
		if f.Column != col || !late(f) {
			continue
		}
		short := func(took, lost time.Duration) bool { return (took - lost).Seconds() <= *f.Limit }
		if len(f.Spans) == 0 && !short(time.Duration(f.Value*1e9), all.within(always)) {
			return false
		}
		for _, s := range f.Spans {
			if !short(time.Duration(s.To-s.From), all.within(s)) {
				return false
			}
		}
	}
	return col != "I" || all.excuseIsolation(c, seen)
}

// excuseIsolation reports whether others would be fresh enough without what was lost while
// each change was under way.
func (all stalls) excuseIsolation(c *Case, seen Seen) bool {
	s := Isolation(c, seen)
	if s == nil || seen.Changes == nil || s.Bystander == nil && s.Others == nil {
		return false
	}
	age := func(keep func(history.Change) bool, from func(history.Change) int64) *result.Quantiles {
		return freshness(seen.Changes, func(x history.Change) (int64, bool) {
			at := from(x)
			return max(0, x.Stored-at-int64(all.within(result.Span{From: at, To: x.Stored}))), keep(x)
		})
	}
	intended := func(x history.Change) int64 { return x.Intended }
	bystander := intended
	if c.Cell.Scenario.Fault.FromAnswer {
		bystander = func(x history.Change) int64 { return x.Finished }
	}
	factor := cmp.Or(s.Factor, check.DefaultIsolationFactor)
	fresh := func(q, base *result.Quantiles) bool { return q != nil && base != nil && q.P99 <= factor*base.P99 }
	return (s.Bystander == nil || fresh(age(func(x history.Change) bool { return x.Bystander }, bystander), s.BystanderBaseline)) &&
		(s.Others == nil || fresh(age(func(x history.Change) bool { return !x.Bystander && !x.Hit }, intended), s.OthersBaseline))
}

// excuseLoad reports whether the generator would have kept to its plan but for the stalls
// of the load. Whether a storage would, cannot be told.
func (all stalls) excuseLoad(c *Case, l *result.Load) bool {
	lost := all.within(result.Span{From: c.Cell.LoadStarted, To: c.Cell.LoadFinished}).Seconds()
	limits := &c.Cell.Scenario.Limits
	if q := l.LagMs; q != nil && q.P99/1e3-lost > limits.Lag.Std().Seconds() {
		return false
	}
	p := l.PlannedQPS
	return p == nil || *p <= 0 || l.DurationS*(float64(limits.MinOffered) - l.QPS / *p) <= lost
}

// forgive takes from a cell the lateness that its stalls do not explain: it has no second
// try.
func (all stalls) forgive(c *Case, cell *result.Cell, facts []result.Fact, seen Seen) {
	for name, x := range cell.Robustness.Columns {
		if x.Late && !all.excuse(c, name, facts, seen) {
			x.Late = false
			cell.Robustness.Columns[name] = x
		}
	}
	if !all.excuseLoad(c, &cell.Load) {
		cell.LateReasons = nil
	}
}
