package matrix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// without is the name of the point of an axis that is the load without what goes wrong at the other points.
const without = "none"

const pairedName = "freshness p99 of Pods, against the same load without the fault"

// pair adds to the entry of each cell that asks for it how fresh its Pods were beside those of the cell without the
// fault. A cell that has none fails: nothing was compared.
func pair(cells []result.Cell, entries []result.MatrixEntry) {
	for i := range cells {
		c := &cells[i]
		if c.Robustness == nil || c.Robustness.Paired == 0 || undisturbed(c) {
			continue
		}
		e := &entries[i]
		if _, asked := e.Columns["I"]; !asked {
			continue
		}
		f := pairedFact(c, other(cells, c))
		e.Facts = append(slices.Clone(e.Facts), f)
		e.Columns = maps.Clone(e.Columns)
		col := e.Columns["I"]
		col.Value = cmp.Or(col.Value, factText(f))
		if !f.OK {
			why := fmt.Sprintf("%s: %s%s", f.Name, factText(f), limitText(f))
			if col.Verdict == result.Fail {
				why = col.Detail + "; " + why
			}
			col.Verdict, col.Detail = result.Fail, why
		}
		e.Columns["I"] = col
	}
}

func undisturbed(c *result.Cell) bool {
	for _, point := range c.Params {
		if point == without {
			return true
		}
	}
	return false
}

// other is the cell of the same repetition that differs from one in nothing but that one of its points is none; nil if
// there is none, or if it proves nothing.
func other(cells []result.Cell, c *result.Cell) *result.Cell {
	for i := range cells {
		o := &cells[i]
		differ, same := 0, o.Repetition == c.Repetition && len(o.Params) == len(c.Params)
		for axis, point := range c.Params {
			switch o.Params[axis] {
			case point:
			case without:
				differ++
			default:
				same = false
			}
		}
		if same && differ == 1 && o.Valid && !o.Cut {
			return o
		}
	}
	return nil
}

// pairedFact holds a cell's freshness to that of the other. What is better than leastBaseline counts as that, as for
// the row F0.
func pairedFact(c, base *result.Cell) result.Fact {
	switch {
	case base == nil || base.Freshness == nil:
		return Missing("I", pairedName, "s", "no cell without the fault to compare with")
	case c.Freshness == nil:
		return Missing("I", pairedName, "s", "nothing arrived")
	}
	f := Within("I", pairedName, "s", c.Freshness.P99, c.Robustness.Paired*max(base.Freshness.P99, leastBaseline))
	f.Detail = fmt.Sprintf("without: %v s", base.Freshness.P99)
	return f
}
