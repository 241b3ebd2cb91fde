package result

import (
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/stats"
)

// Decision explains a run's number of repetitions, if its scenario says "decide" or has a pair.
type Decision struct {
	Figure string `json:"figure"` // that rows are ranked by, such as freshness.p99; empty of a pair
	Blocks int    `json:"blocks"` // repetitions that were run
	End    string `json:"end"`    // what ended them
}

// Ends of a Decision.
const (
	EndDecided = "decided" // of any two rows it is known that they differ, or are the same within 10 %
	EndTime    = "time"    // another block would have taken more than the budget
	EndBlocks  = "blocks"  // as many were run as the scenario allows
	EndInvalid = "invalid" // the first two blocks have no valid cell
)

// Places are rows of cells in the order of a figure, the lowest first.
type Places struct {
	stats.Ranking
	Rows    []int  // of those that were given, by place
	Bounded []bool // by place: the load was its limit, so the watcher alone might do better
}

// Rank holds rows of cells against each other by a figure. A repetition is a block, and counts for the rows that
// have a valid cell of it that knows the figure. Ranked are the rows that have at least stats.Least. ok is false where
// they are fewer than two, or two have too few blocks in common.
func Rank(rows [][]*Cell, of func(*Cell) *float64) (p Places, ok bool) {
	blocks := 0
	for _, row := range rows {
		for _, c := range row {
			blocks = max(blocks, c.Repetition)
		}
	}
	var figures [][]float64
	var ranked []int
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
	if p.Ranking, ok = stats.Rank(figures); ok {
		for _, i := range p.Order {
			limited := 0
			for _, c := range rows[ranked[i]] {
				if c.Bottleneck.Stage == KeptUp {
					limited++
				}
			}
			p.Rows, p.Bounded = append(p.Rows, ranked[i]), append(p.Bounded, 2*limited > len(rows[ranked[i]]))
		}
	}
	return p, ok
}

// KeptUp is the stage of a Bottleneck where the load was the limit.
const KeptUp = "none"

// Differ reports whether the row at place i is all but certainly better than that at place j. Two that the load limited
// are not compared.
func (p *Places) Differ(i, j int) bool {
	return p.Ratio(p.Order[i], p.Order[j]).Differs() && (!p.Bounded[i] || !p.Bounded[j])
}

// Alike reports whether a choice between two places makes no difference: within 10 %, or both limited by the load.
func (p *Places) Alike(i, j int) bool {
	return p.Bounded[i] && p.Bounded[j] || p.Ratio(p.Order[i], p.Order[j]).Same()
}

// Decided reports whether of any two places that follow each other it is known that they differ or are alike: another
// block would add nothing.
func (p *Places) Decided() bool {
	for i := 1; i < len(p.Rows); i++ {
		if !p.Differ(i-1, i) && !p.Alike(i-1, i) {
			return false
		}
	}
	return true
}

// Decided reports whether a figure ranks the points of every contest. What violates a guarantee takes part in none.
func (r *Results) Decided(m Metric) bool {
	_, contests := r.contests()
	for _, points := range contests {
		var rows [][]*Cell
		repeated := 0
		for _, p := range points {
			if !slices.ContainsFunc(p.Cells, (*Cell).violates) {
				if rows = append(rows, p.Cells); len(p.Cells) > 1 {
					repeated++
				}
			}
		}
		if p, ok := Rank(rows, m.Of); !ok || len(p.Rows) < repeated || !p.Decided() {
			return false
		}
	}
	return len(contests) > 0
}

// OfWatcher reports whether a parameter of a point is about its watcher.
func OfWatcher(param string) bool { return param == "watcher" || strings.HasPrefix(param, "watcher.") }

// Lacking returns the missing or invalid cells that make a run invalid. Where its scenario decides, another repetition
// replaces an invalid cell, unless a point has not enough valid ones: stats.Least, or one where it was run fewer times.
func (r *Results) Lacking() (ids []string) {
	valid, all := map[string]int{}, map[string]int{}
	for i := range r.Cells {
		c := &r.Cells[i]
		if all[c.Point()]++; c.Valid {
			valid[c.Point()]++
		}
	}
	for i := range r.Cells {
		c := &r.Cells[i]
		need := 1
		if all[c.Point()] >= stats.Least {
			need = stats.Least
		}
		if !c.Valid && (r.Run.Decision == nil || valid[c.Point()] < need) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Violates reports whether a guarantee is violated, also where the scenario allows it.
func (c *Cell) Violates(g string) bool {
	v := c.Checks[g].Verdict
	return (v == Fail || v == Allowed) && c.Counts(g)
}

// violates is Violates of any core guarantee.
func (c *Cell) violates() bool { return slices.ContainsFunc(Core, c.Violates) }

// Core are the checks that a cell must pass before its speed is compared.
var Core = []string{"G1", "G2", "G3", "G4", "G5", "G6"}

// byClock are the checks whose verdict depends on how fast the machine was: memory and
// sockets that a stall let pile up, a delay of others, a repair within its time.
var byClock = map[string]bool{"G7": true, "G8": true, "G12": true}

// Counts reports whether a check's verdict may be used. In an invalid cell only a violation may, allowed or not:
// lateness explains no loss. A pass proves nothing there, neither does a violation that was expected and did not
// come, nor one that a stalled machine may cause.
func (c *Cell) Counts(g string) bool {
	check, ok := c.Checks[g]
	if !ok || c.Valid {
		return ok
	}
	return (check.Verdict == Fail || check.Verdict == Allowed) && check.Violations > 0 && !byClock[g]
}
