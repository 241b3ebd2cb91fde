package knee

import (
	"fmt"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
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
