package result

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/stats"
)

// Decision is how a run came to its number of repetitions, where its scenario says "decide".
type Decision struct {
	Figure string `json:"figure"` // that rows are ranked by, such as freshness.p99
	Blocks int    `json:"blocks"` // repetitions that were run
	End    string `json:"end"`    // what ended them
}

// Ends of a Decision.
const (
	EndDecided = "decided" // of any two rows it is known that they differ, or are the same within 10 %
	EndTime    = "time"    // another block would have taken more than the budget
	EndBlocks  = "blocks"  // as many were run as the scenario allows
)

// Rank holds rows of cells against each other by a figure. A repetition is a block, and counts where all rows have a
// valid cell of it that knows the figure. ranked are those of the rows that have at least stats.Least: the ranking
// counts by them. ok is false where they are fewer than two, or have too few blocks in common.
func Rank(rows [][]*Cell, of func(*Cell) *float64) (k stats.Ranking, ranked []int, ok bool) {
	blocks := 0
	for _, row := range rows {
		for _, c := range row {
			blocks = max(blocks, c.Repetition)
		}
	}
	var figures [][]float64
	for i, row := range rows {
		values, n := make([]float64, blocks), 0
		for b := range values {
			values[b] = math.NaN()
		}
		for _, c := range row {
			if v := of(c); c.Valid && v != nil && c.Repetition > 0 {
				values[c.Repetition-1] = *v
				n++
			}
		}
		if n >= stats.Least {
			figures, ranked = append(figures, values), append(ranked, i)
		}
	}
	k, ok = stats.Rank(figures)
	return k, ranked, ok
}

// Decided reports whether a figure ranks the points of every contest: those that differ in their watcher alone. What
// violates a guarantee takes part in none.
func (r *Results) Decided(m Metric) bool {
	contests := map[string]map[string][]*Cell{}
	for i := range r.Cells {
		c, name := &r.Cells[i], ""
		for _, p := range slices.Sorted(maps.Keys(c.Params)) {
			if p != "watcher" && !strings.HasPrefix(p, "watcher.") {
				name += p + "=" + c.Params[p] + "\n"
			}
		}
		if contests[name] == nil {
			contests[name] = map[string][]*Cell{}
		}
		contests[name][c.Point()] = append(contests[name][c.Point()], c)
	}
	for _, points := range contests {
		var rows [][]*Cell
		for _, p := range slices.Sorted(maps.Keys(points)) {
			if !slices.ContainsFunc(points[p], (*Cell).wrong) {
				rows = append(rows, points[p])
			}
		}
		if k, _, ok := Rank(rows, m.Of); !ok || !k.Decided() {
			return false
		}
	}
	return len(contests) > 0
}

// wrong reports whether a core guarantee is violated, also where the scenario allows it.
func (c *Cell) wrong() bool {
	return slices.ContainsFunc(Core, func(g string) bool {
		v := c.Checks[g].Verdict
		return v == Fail || v == Allowed
	})
}
