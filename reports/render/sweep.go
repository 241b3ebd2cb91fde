package render

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
)

// sweptLeast is how many values make a curve.
const sweptLeast = 3

// notations are the quantities that points may be written in, with the unit of the axis and its
// size in the quantity's smallest unit.
var notations = []struct {
	quantity units.Quantity
	unit     string
	least    float64
}{
	{units.Numbers, "", 1}, {units.Durations, "s", 1e9}, {units.Sizes, "KiB", 1 << 10}, {units.Shares, "%",
		1e-2}, {units.Speeds, "×", 1},
}

// swept has the rows along each axis whose points are numbers, or have a unit, by rising value, and a chart of
// storage's rate over each. A ladder has its own table.
func (t *table) swept() Section {
	s := Section{ID: "sweep", Title: "Over the swept values", Notes: []string{
		"Where gain no longer follows the values, something else limits the rate: see “Where the events went”."}}
	s.Table.Heads = append(Heads("axis", "of"), Head{Title: "value"})
	metrics := chosen("storage.qps", "handler.drainSeconds", "freshness.p99")
	for _, m := range metrics {
		s.Table.Heads = append(s.Table.Heads, headOf(m))
	}
	s.Table.Heads = append(s.Table.Heads, Head{Title: "gain", Unit: "×",
		Meaning: "Storage rate divided by that of the line above."}, Head{Title: "verdict", Words: true})
	if t.ladder() {
		return s
	}
	for i, path := range t.extra {
		at, unit := t.along(i)
		if at == nil {
			continue
		}
		p := Plot{Title: "Storage rate over " + axis(path), Unit: "qps", X: axis(path) + leading(" (", unit, ")"),
			LogX: spansDecade(at), Caption: metrics[0].Meaning}
		name := func(r *row) string {
			rest := slices.Delete(slices.Clone(r.extra), i, i+1)
			return clean(strings.Join(slices.Concat([]string{r.strategy}, rest, []string{r.load}), " "))
		}
		rows := slices.SortedStableFunc(slices.Values(t.rows), func(a, b *row) int {
			return cmp.Or(cmp.Compare(name(a), name(b)), cmp.Compare(at[a], at[b]))
		})
		for k, r := range rows {
			begins := k == 0 || name(rows[k-1]) != name(r)
			if begins {
				p.Lines = append(p.Lines, PlotLine{Name: name(r)})
			}
			rate, gain := r.speed(), math.NaN()
			if !begins {
				gain = rate / rows[k-1].speed()
			}
			line := &p.Lines[len(p.Lines)-1]
			line.Points = append(line.Points, [2]float64{at[r], rate})
			cells := append([]Cell{{Text: axis(path), Gap: begins}}, Cells(name(r), r.extra[i])...)
			for _, m := range metrics {
				cells = append(cells, cellOf(m, r.Cells))
			}
			s.Table.Rows = append(s.Table.Rows, append(cells, Cell{Text: fixed(&gain, 2)},
				Cell{Text: r.verdict(), Tone: r.state().tone()}))
		}
		s.Plots = append(s.Plots, p)
	}
	return s
}

// speed is storage's rate where it may be compared, else NaN.
func (r *row) speed() float64 {
	if v := figureOf("storage.qps").Over(r.Cells).Value; v != nil && r.correct() {
		return *v
	}
	return math.NaN()
}

// along are the rows' values on an axis, and the unit in which all its points are written; nil where they are not.
func (t *table) along(axis int) (at map[*row]float64, unit string) {
	for _, n := range notations {
		at, values := map[*row]float64{}, map[float64]bool{}
		for _, r := range t.rows {
			if v, ok := n.quantity.Value(r.extra[axis]); ok {
				at[r], values[v] = v/n.least, true
			}
		}
		if len(at) == len(t.rows) && len(values) >= sweptLeast {
			return at, n.unit
		}
	}
	return nil, ""
}

// spansDecade reports whether values are far enough apart for a logarithmic axis.
func spansDecade(at map[*row]float64) bool {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range at {
		least, most = min(least, v), max(most, v)
	}
	return least > 0 && most >= 16*least
}
