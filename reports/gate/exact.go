package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/stats"
)

// sharp reports whether a count is as exact as the rule takes it to be: BASE has the same in
// all repetitions, or, where each has a plan of its own, NEW differs from it by the same
// factor in each. spread is how far that is from so.
func (s samples) sharp(allow float64) (spread float64, ok bool) {
	if len(s.same) == 0 {
		return math.Inf(1), false
	}
	var ratios []float64
	for _, v := range s.same {
		switch {
		case v[0] == v[1]:
			ratios = append(ratios, 1)
		case v[0] > 0 && v[1] > 0:
			ratios = append(ratios, v[1]/v[0])
		default:
			return math.Inf(1), apart(s.base) <= allow+rounding
		}
	}
	spread = apart(ratios)
	return spread, min(spread, apart(s.base)) <= allow+rounding
}

// apart is how far values spread, as a part of the lowest.
func apart(values []float64) float64 {
	low, high := slices.Min(values), slices.Max(values)
	switch {
	case low == high:
		return 0
	case low <= 0:
		return math.Inf(1)
	}
	return high/low - 1
}

// rounding is what the six digits of results.json may add.
const rounding = 1e-5

// exact judges a count, each repetition of NEW by that of BASE with the same plan.
func (f *Finding) exact(s samples) {
	direction := func(base, changed float64) int { // 1 is worse, -1 better, by more than is allowed
		by := cmp.Compare(changed, base)
		if within := base * (f.Allow + rounding); math.Abs(changed-base) <= within {
			by = 0
		}
		if f.Better == higher {
			by = -by
		}
		return by
	}
	f.N, f.Outcome = len(s.same), Pass
	var ratios []float64
	worse, better, gone := 0, 0, 0
	for _, v := range s.same {
		switch direction(v[0], v[1]) {
		case 1:
			worse++
		case -1:
			better++
		}
		if v[0] > 0 && v[1] > 0 {
			ratios = append(ratios, v[1]/v[0])
		} else if v[0] > 0 {
			gone++
		}
	}
	if m := median(ratios); m != nil {
		f.Ratio, f.Interval = &stats.Ratio{Median: *m, Interval: stats.Interval{Low: *m, High: *m}, N: f.N}, stats.Interval{Low: *m, High: *m}
	}
	switch {
	case 2*worse >= f.N:
		f.Outcome, f.Why = Fail, "worse in "+of(worse, f.N)
	case worse > 0:
		f.Outcome, f.Why = Warn, "worse in "+of(worse, f.N)
	case gone > 0:
		f.Outcome, f.Why = Warn, "went to 0 in "+of(gone, f.N)+", which is better, or no measurement"
	case 2*better > f.N:
		f.Improved, f.Why = true, "improved"
	}
}

func of(n, all int) string { return fmt.Sprintf("%d of %d repetitions", n, all) }
