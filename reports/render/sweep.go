package render

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
)

// sweep is an axis of the matrix whose points are numbers, or have a unit, and the rows along
// it: each series is a strategy, load and point of the other axes, by rising value.
type sweep struct {
	path   string
	axis   int // among the table's extra
	unit   string
	series [][]*row
	names  []string
	at     map[*row]float64
}

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

// sweeps finds the swept axes; a ladder has its own table.
func (t *table) sweeps() (all []*sweep) {
	if t.res.Growth != nil && len(t.res.Growth.Rungs) > 0 {
		return nil
	}
	for i, path := range t.extra {
		s := &sweep{path: path, axis: i, at: map[*row]float64{}}
		if !s.read(t.rows) {
			continue
		}
		for _, r := range t.rows {
			name := strings.Join(slices.Concat([]string{r.strategy}, slices.Delete(slices.Clone(r.extra), i, i+1),
				[]string{r.load}), " ")
			j := slices.Index(s.names, name)
			if j < 0 {
				j = len(s.names)
				s.series, s.names = append(s.series, nil), append(s.names, name)
			}
			s.series[j] = append(s.series[j], r)
		}
		for _, rows := range s.series {
			slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(s.at[a], s.at[b]) })
		}
		all = append(all, s)
	}
	return all
}

// read finds the notation in which all points of an axis are written.
func (s *sweep) read(rows []*row) bool {
	for _, n := range notations {
		values := map[float64]bool{}
		for _, r := range rows {
			v, ok := n.quantity.Value(r.extra[s.axis])
			if !ok {
				break
			}
			s.at[r], s.unit = v/n.least, n.unit
			values[v] = true
		}
		if len(s.at) == len(rows) && len(values) >= sweptLeast {
			return true
		}
		clear(s.at)
	}
	return false
}

// sweptColumns are drawn and listed over an axis.
var sweptColumns = []*column{storageRate, drain, freshnessP99}

// swept has a line for each point along each swept axis, in the order of its values.
func (t *table) swept() Section {
	all := t.sweeps()
	if len(all) == 0 {
		return Section{}
	}
	s := Section{ID: "sweep", Title: "Over the swept values", Notes: []string{
		"Where gain no longer follows the values, something else limits the rate: see “Where the events went”."}}
	s.Table = Table{Keys: 3, Heads: append(Heads("axis", t.who()+" and load"), Head{Title: "value"}, storageRate.head(),
		Head{Title: "gain", Unit: "×", Meaning: "Storage rate divided by that of the line " +
			"above."}, drain.head(), freshnessP99.head(),
		Head{Title: "checks", Words: true, Signed: true})}
	for _, x := range all {
		for j, rows := range x.series {
			for k, r := range rows {
				cells := Cells(axis(x.path), x.names[j], r.extra[x.axis])
				cells[0].Gap, cells[0].Color = k == 0, r.color()
				if r.void() {
					cells = append(cells, Cells(unknown, unknown, unknown, unknown)...)
				} else {
					cells = append(cells, storageRate.cell(r), Cell{Text: gain(rows, k)}, drain.cell(r), freshnessP99.cell(r))
				}
				s.Table.Rows = append(s.Table.Rows, append(cells, Cell{Text: r.verdict(), Tone: r.state().tone()}))
			}
		}
		for _, c := range sweptColumns {
			s.Plots = append(s.Plots, x.plot(c))
		}
	}
	return s
}

// gain is how much faster storage was written to than at the value before, where both may be
// compared.
func gain(rows []*row, k int) string {
	if k == 0 || !rows[k-1].correct() || !rows[k].correct() {
		return unknown
	}
	a, b := storageRate.measure(rows[k-1]).number, storageRate.measure(rows[k]).number
	if a == nil || b == nil || *a <= 0 {
		return unknown
	}
	return fixed(new(*b / *a), 2)
}

// plot draws a column over the axis; points that may not be compared break the line.
func (s *sweep) plot(c *column) Plot {
	p := Plot{Title: c.Title + " over " + axis(s.path), Unit: c.Unit, Caption: c.Meaning, X: axis(s.path) + leading(" (",
		s.unit, ")")}
	least, most := math.Inf(1), math.Inf(-1)
	for i, rows := range s.series {
		l := PlotLine{Name: s.names[i], Color: spare[i%len(spare)]}
		for _, r := range rows {
			least, most = min(least, s.at[r]), max(most, s.at[r])
			v, y := c.measure(r), math.NaN()
			if r.correct() && v.number != nil && !v.projected && !v.atLeast {
				y = *v.number
			}
			l.Points = append(l.Points, [2]float64{s.at[r], y})
		}
		p.Lines = append(p.Lines, l)
	}
	if p.LogX = least > 0 && most >= 16*least; p.LogX {
		p.Caption += " The axis below is logarithmic."
	}
	return p
}
