package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/internal/units"
)

// sweep is an axis of the matrix whose points are numbers, or have a unit, and the rows along
// it: each series is a strategy, load and point of the other axes, by rising value.
type sweep struct {
	path   string
	unit   string
	series [][]*row
	names  []string // of the series; empty where there is only one
	at     map[*row]float64
}

// sweptLeast is how many values make a curve.
const sweptLeast = 3

// notations are what points may be written in, and the unit of the chart's axis with what it
// has of the quantity's least.
var notations = []struct {
	quantity units.Quantity
	unit     string
	least    float64
}{
	{units.Numbers, "", 1}, {units.Durations, "s", 1e9}, {units.Sizes, "KiB", 1 << 10}, {units.Shares, "%", 1e-2}, {units.Speeds, "×", 1},
}

// sweeps are those of the record. What the table of a ladder shows is left to it.
func (t *table) sweeps() (all []*sweep) {
	if t.res.Growth != nil && len(t.res.Growth.Rungs) > 0 {
		return nil
	}
	for i, path := range t.extra {
		s := &sweep{path: path, at: map[*row]float64{}}
		if !s.read(t.rows, i) {
			continue
		}
		byName := map[string]int{}
		for _, r := range t.rows {
			words := []string{r.strategy}
			for j, v := range r.extra {
				if j != i {
					words = append(words, v)
				}
			}
			name := clean(strings.Join(append(words, r.load), " "))
			if _, ok := byName[name]; !ok {
				byName[name] = len(s.series)
				s.series, s.names = append(s.series, nil), append(s.names, name)
			}
			s.series[byName[name]] = append(s.series[byName[name]], r)
		}
		for _, rows := range s.series {
			slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(s.at[a], s.at[b]) })
		}
		all = append(all, s)
	}
	return all
}

// read finds the notation in which all points of an axis are written.
func (s *sweep) read(rows []*row, i int) bool {
	for _, n := range notations {
		values := map[float64]bool{}
		for _, r := range rows {
			v, ok := n.quantity.Value(r.extra[i])
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

// sweptColumns are drawn, and stand in the table, over an axis.
var sweptColumns = []*column{storageRate, drain, freshnessP99}

// Sweeps has a line for each point along each swept axis, in the order of its values.
func (t *table) Sweeps() (s sheet) {
	all := t.sweeps()
	if len(all) == 0 {
		return s
	}
	s.Keys = 3
	s.Heads = append(words("axis", t.who()+" and load"), heading{Title: "value"})
	for _, c := range sweptColumns {
		s.Heads = append(s.Heads, c.heading(false))
		if c == storageRate {
			s.Heads = append(s.Heads, heading{Title: "gain", Unit: "×", Meaning: "Storage rate divided by that of the line above."})
		}
	}
	s.Heads = append(s.Heads, verdict.heading(false))
	for _, x := range all {
		i := slices.Index(t.extra, x.path)
		for j, rows := range x.series {
			for k, r := range rows {
				l := sheetRow{First: k == 0 && len(s.Rows) > 0, State: r.state(), Color: r.color()}
				l.add(axis(x.path), x.names[j], clean(r.extra[i]))
				for _, c := range sweptColumns {
					l.add(sweptText(c, r))
					if c == storageRate {
						l.add(gain(rows, k))
					}
				}
				l.add(r.verdict())
				s.Rows = append(s.Rows, l)
			}
		}
	}
	return s
}

// SweptNote says how to read the table.
func (t *table) SweptNote() string {
	return "Gain is the storage rate divided by that of the line above. Where it no longer follows the values, something else limits it: see “Where the events went”. Points that fail a core check have no curve, and none is drawn through them."
}

func sweptText(c *column, r *row) string {
	if r.void() {
		return unknown
	}
	return c.text(c.measure(r))
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
	ratio := *b / *a
	return fixed(&ratio, 2)
}

// SweptCharts draw the figures over the values of each swept axis.
func (t *table) SweptCharts() (all []*chart) {
	for i, s := range t.sweeps() {
		for j, c := range sweptColumns {
			all = append(all, s.chart(fmt.Sprintf("sweep%d-%d", i+1, j), c))
		}
	}
	return drawn(all)
}

func (s *sweep) chart(id string, c *column) *chart {
	name := axis(s.path)
	if s.unit != "" {
		name += " (" + s.unit + ")"
	}
	x, y := named("value", name), opts.YAxis{Type: "value", Min: 0}
	if s.wide() {
		x.Type = "log"
	}
	line := charts.NewLine()
	line.SetGlobalOptions(frame(id, x, y)...)
	data := dataTable{Head: []string{"strategy and load", name, strings.TrimSpace(c.Title + " " + c.Unit)}}
	for i, rows := range s.series {
		var points []opts.LineData
		for _, r := range rows {
			v := c.measure(r)
			if r.correct() && v.number != nil && !v.projected && !v.atLeast {
				points = append(points, opts.LineData{Value: []float64{s.at[r], *v.number}, Symbol: "circle", SymbolSize: 7})
				data.Rows = append(data.Rows, []string{chartText(s.names[i]), short(s.at[r]), c.text(v)})
			} else if len(points) > 0 {
				points = append(points, opts.LineData{Value: []any{s.at[r], "-"}}) // breaks the line
			}
		}
		if len(points) == 0 {
			continue
		}
		color := spare[i%len(spare)]
		line.AddSeries(chartText(s.names[i]), points,
			charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(true)}),
			charts.WithLineStyleOpts(opts.LineStyle{Width: 2, Type: lineTypes[i/len(spare)%len(lineTypes)], Color: color}), filled(color))
	}
	if len(data.Rows) < 2 {
		return nil
	}
	caption := c.Meaning
	if s.wide() {
		caption += " The axis below is logarithmic."
	}
	return &chart{ID: id, Title: c.Title + " over " + axis(s.path), Unit: c.Unit, Caption: caption, Option: line, Data: data}
}

// wide reports whether the values are too far apart for a linear axis.
func (s *sweep) wide() bool {
	var all []float64
	for _, v := range s.at {
		all = append(all, v)
	}
	return slices.Min(all) > 0 && slices.Max(all) >= 16*slices.Min(all)
}
