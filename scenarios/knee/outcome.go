package knee

import (
	"context"
	"fmt"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// result is what the search came to.
func (f *finder) result() Strategy {
	s := Strategy{Strategy: f.s.label, Cells: len(f.probes), Probes: f.probes, Remarks: f.remarks, Steady: f.steady, Bound: Unfinished}
	low, carried := f.carried()
	if carried {
		s.Knee = &low
	}
	if high, ok := f.above(low); ok {
		s.Above, s.Why, s.Bound = &high, f.why(high), f.bound(high)
		s.Complete = carried && (high-low)/high <= f.Resolution
	} else if carried && low >= mostRate {
		s.Bound, s.Complete = ByFormat, true
	}
	s.Remarks = slices.Concat(s.Remarks, f.contradictions(low, carried), f.doubts(low))
	return s
}

// doubts are what a knee's cells cannot show.
func (f *finder) doubts(knee float64) (all []string) {
	cells := f.tried[knee]
	if slices.ContainsFunc(cells, func(p Probe) bool { return p.Verdict == Carried && !p.paced }) {
		all = append(all, "whether the backlog grows was not judged at the knee: the load is short, or has no steady rate; a longer one may have a lower knee")
	}
	if f.Objective.Metric == "freshness.p99" && slices.ContainsFunc(cells, func(p Probe) bool { return p.few }) {
		all = append(all, fmt.Sprintf("at the knee the load has fewer than %d operations, so its p99 is the maximum", result.LeastForP99))
	}
	return all
}

// bound says what a rate that was not carried shows.
func (f *finder) bound(rate float64) string {
	v, _ := verdict(f.tried[rate])
	switch {
	case v == Not:
		return ByStrategy
	case slices.ContainsFunc(f.tried[rate], func(p Probe) bool { return p.generator }):
		return ByGenerator
	}
	return ByMachine
}

// why is the reason of a cell at the rate that says what the rate's cells say together.
func (f *finder) why(rate float64) string {
	v, _ := verdict(f.tried[rate])
	for _, p := range f.tried[rate] {
		if p.Verdict == v {
			return p.Why
		}
	}
	return ""
}

// contradictions are rates whose cells do not agree, and those that were carried above one
// that was not.
func (f *finder) contradictions(knee float64, carried bool) (all []string) {
	seen := map[float64]bool{}
	for _, p := range f.probes {
		if seen[p.Rate] {
			continue
		}
		seen[p.Rate] = true
		yes, no := 0, 0
		for _, q := range f.tried[p.Rate] {
			yes += map[bool]int{true: 1}[q.Verdict == Carried]
			no += map[bool]int{true: 1}[q.Verdict == Not]
		}
		if yes > 0 && no > 0 {
			all = append(all, fmt.Sprintf("%s %s: %d of %d cells carried it", number(p.Rate), f.unit, yes, yes+no))
		}
		if v, _ := verdict(f.tried[p.Rate]); v == Carried && (!carried || p.Rate > knee) {
			all = append(all, fmt.Sprintf("%s %s was carried, though a lower rate was not: not monotonic", number(p.Rate), f.unit))
		}
	}
	return all
}

// settle measures freshness at a part of the knee.
func (f *finder) settle(ctx context.Context, knee float64) error {
	rate := rounded(Share * knee)
	if f.Report != nil {
		f.Report(fmt.Sprintf("%s: measuring freshness at %s %s, %.0f%% of it", f.where, number(rate), f.unit, 100*Share))
	}
	file, err := f.s.at(rate, f.s.base.Seed, f.Repeat)
	if err != nil {
		return err
	}
	res, err := f.m.Measure(ctx, file)
	if res == nil {
		return err
	}
	f.steady = f.steadyOf(rate, res)
	switch crashes := res.Crashes(); {
	case crashes != "" && ctx.Err() == nil:
		f.steady.Why, err = crashes, nil
	case f.steady.Carried < f.steady.Valid:
		f.remark("at %.0f%% of the knee only %d of %d valid cells met the objective: %s", 100*Share, f.steady.Carried, f.steady.Valid, f.steady.Why)
	}
	return err
}

func (f *finder) steadyOf(rate float64, res *result.Results) *Steady {
	s := &Steady{Rate: rate, Share: Share, Cells: len(res.Cells), Run: res.Run.ID}
	var p50, p99 []float64
	lost, known := int64(0), true
	for i := range res.Cells {
		c := &res.Cells[i]
		p := f.Objective.judge(c, f.s.base.Limits)
		if p.Verdict != Carried && s.Why == "" {
			s.Why = p.Why
		}
		if p.Verdict == Invalid {
			continue
		}
		s.Valid++
		if p.Verdict == Carried {
			s.Carried++
		}
		if p.Lost == nil {
			known = false
		} else {
			lost += *p.Lost
		}
		if c.Freshness != nil && !c.Cut {
			p50, p99 = append(p50, c.Freshness.P50), append(p99, c.Freshness.P99)
		}
	}
	if known && s.Valid > 0 {
		s.Lost = &lost
	}
	if m, ok := stats.Median(p50); ok {
		s.P50 = &m
	}
	if m, ok := stats.Median(p99); ok {
		low, high := slices.Min(p99), slices.Max(p99)
		s.P99, s.P99Low, s.P99High = &m, &low, &high
	}
	return s
}
