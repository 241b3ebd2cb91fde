package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/stats"
)

// spread is how far the figure's interval reaches, in per cent of it or, beyond 100 %, as
// a factor; "" where there is none, or nothing to be uncertain of.
func (v reading) spread() string {
	i, ok := v.interval()
	if !ok {
		return ""
	}
	return spreadOf(i, *v.number)
}

func spreadOf(i stats.Interval, figure float64) string {
	if i.Low == i.High {
		return ""
	}
	switch part, ok := i.Spread(figure); {
	case !ok:
		return ""
	case part < 0.0995:
		return "±" + strconv.FormatFloat(100*part, 'f', 1, 64) + " %"
	case part < 1:
		return "±" + strconv.FormatFloat(100*part, 'f', 0, 64) + " %"
	default:
		return "×÷ " + short(1+part)
	}
}

// below is what stands below the figure in a row of n valid repetitions: how far its
// interval reaches, and how many know it if not all do.
func (v reading) below(n int) string {
	s := v.spread()
	if k := len(v.values); v.number != nil && k > 0 && k < n {
		s = strings.TrimSpace(fmt.Sprintf("%s n=%d", s, k))
	}
	return s
}

// interval is where the figure may lie, from its repetitions; ok is false if they are too
// few, or if it was not waited for.
func (v reading) interval() (i stats.Interval, ok bool) {
	if v.number == nil || v.projected || v.atLeast {
		return stats.Interval{}, false
	}
	return stats.Of(v.values)
}

// count is how many repetitions the figures are from, and of how many.
func (r *row) count() string {
	if len(r.valid) == len(r.cells) {
		return strconv.Itoa(len(r.valid))
	}
	return fmt.Sprintf("%d of %d", len(r.valid), len(r.cells))
}

// Precision says what n and ± are in this table.
func (t *table) Precision() string {
	least, most := math.MaxInt, 0 // of a figure, of a row
	for _, r := range t.rows {
		least, most = min(least, len(r.valid)), max(most, len(r.valid))
		for _, c := range measures {
			if v := c.measure(r); v.number != nil && len(v.values) > 0 {
				least = min(least, len(v.values))
			}
		}
	}
	const counts = "n: valid repetitions; below a figure, those that know it, if they are fewer. "
	few := fmt.Sprintf("Figures of fewer than %d repetitions have no interval, and are not ranked.", stats.Least)
	switch {
	case most <= 1:
		return "One repetition: a figure is one measurement, without an interval, and nothing is ranked. Repeat the run (--repeat 3) to learn more."
	case most < stats.Least:
		return counts + "A figure is their median. " + few
	}
	s := counts + fmt.Sprintf("A figure is their median, ± its %g %% interval: %s. Percentiles are of all operations together, lost and reordered are totals, of a check the worst verdict counts and the power of all. What is called faster or fresher is so all but certainly (p ≤ %g %%, logarithms, noise pooled over the rows).",
		100*stats.Level, "Student's t on logarithms, because so few values cannot be resampled", 100*stats.Alpha)
	if least < stats.Least {
		s += " " + few
	}
	return s
}
