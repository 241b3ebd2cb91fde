package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/result"
)

// Plot is a chart of lines.
type Plot struct {
	Title, Caption string
	X, Unit        string // what the axes say
	Lines          []PlotLine
}

// PlotLine is one of them; its points are in the order in which they are joined, and NaN breaks it.
type PlotLine struct {
	Name   string
	Points [][2]float64
	Model  bool // predicted, not measured, a bound, or not to be compared: broken
	Smooth bool // over time, without marks at the points
	Marks  bool // points that are not joined
}

var colors = []string{
	"#0f8a5f", "#2563eb", "#c2410c", "#7c3aed", "#b7791f", "#64748b", "#0e7490", "#be185d", "#4d7c0f", "#9333ea",
	"#92400e", "#1e40af",
}

var darkPalette = map[string]string{
	"#64748b": "#94a3b8", "#c2410c": "#fb8a5c", "#2563eb": "#6ea3ff", "#b7791f": "#e3b34c", "#0f8a5f": "#3fc996",
	"#7c3aed": "#b795ff", "#0e7490": "#4cc3de", "#be185d": "#f472b0", "#4d7c0f": "#a3cf4e", "#9333ea": "#cf9bff",
	"#92400e": "#dd9a63", "#1e40af": "#8aa6f5",
}

// The most lines of a chart, points of a line and charts of loads: a page stays below 3 MB.
const (
	mostLines  = 24
	mostPoints = 400
	mostLoads  = 6
)

// curves are a chart for each load, the heaviest last: how many events storage was owed over time, which is where the
// strategies differ. A line is of the first valid repetition.
func (t *table) curves() (all []Section) {
	loads := t.loads()
	for i, load := range loads[max(0, len(loads)-mostLoads):] {
		p := Plot{Title: "Changes waiting", Unit: "events", X: "seconds from the start of the load",
			Caption: "Changes of Pods that storage still lacked. A broken line fails a core check."}
		left := 0
		for _, r := range t.rows {
			if r.load != load || r.void() {
				continue
			}
			points := curve(r.valid[0].Series[result.SeriesQueueDepth])
			switch {
			case len(points) == 0:
			case len(p.Lines) == mostLines:
				left++
			default:
				p.Lines = append(p.Lines, PlotLine{Name: r.label(), Points: points, Model: !r.correct(), Smooth: true})
			}
		}
		s := Section{ID: fmt.Sprintf("load%d", i+1), Title: "Load " + load, Place: OnPage, Plots: []Plot{p}}
		if left > 0 {
			s.Notes = []string{plural(left, "further point") + " of this load not drawn."}
		}
		if len(p.Lines) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// curve is a series for drawing: from shortly before the load on, and of each stretch of time the highest value.
func curve(s result.Series) (points [][2]float64) {
	n := min(len(s.T), len(s.V))
	per := max(1, (n+mostPoints-1)/mostPoints)
	for i := 0; i < n; i += per {
		at := i
		for j := i; j < min(i+per, n); j++ {
			if s.V[j] > s.V[at] {
				at = j
			}
		}
		if s.T[at] >= -2 && finiteNumber(s.T[at]) && finiteNumber(s.V[at]) {
			points = append(points, [2]float64{s.T[at], s.V[at]})
		}
	}
	return points
}

// cleaned is the plot with its texts safe. ECharts wraps a meaning of its own around braces ("{a|…}" starts a style).
func (p *Plot) cleaned() *Plot {
	text := func(s string) string { return strings.NewReplacer("{", "(", "}", ")").Replace(clean(s)) }
	c := *p
	c.Title, c.Caption, c.X, c.Unit, c.Lines = clean(p.Title), clean(p.Caption), text(p.X), clean(p.Unit), nil
	for _, l := range p.Lines {
		l.Name, l.Points = text(l.Name), slices.DeleteFunc(slices.Clone(l.Points), func(at [2]float64) bool {
			return !finiteNumber(at[0])
		})
		if slices.ContainsFunc(l.Points, func(at [2]float64) bool { return finiteNumber(at[1]) }) {
			c.Lines = append(c.Lines, l)
		}
	}
	return &c
}

func (p *Plot) empty() bool { return len(p.Lines) == 0 }

// axis is the type of an axis: logarithmic where the values of all points span more than a decade.
func (p *Plot) axis(of int) string {
	least, most := math.Inf(1), math.Inf(-1)
	for _, l := range p.Lines {
		for _, at := range l.Points {
			if v := at[of]; finiteNumber(v) {
				least, most = min(least, v), max(most, v)
			}
		}
	}
	if least > 0 && most >= 16*least {
		return "log"
	}
	return "value"
}

func (p *Plot) bound(name string, at float64) {
	var xs []float64
	for _, l := range p.Lines {
		for _, point := range l.Points {
			xs = append(xs, point[0])
		}
	}
	if len(xs) > 0 {
		p.Lines = append(p.Lines, PlotLine{Name: name, Model: true,
			Points: [][2]float64{{slices.Min(xs), at}, {slices.Max(xs), at}}})
	}
}

// Axis is how the page labels the x axis.
func (p *Plot) Axis() string {
	return map[bool]string{false: "plain"}[strings.HasPrefix(p.X, "seconds")]
}

// option is the plot as ECharts draws it, under an id that is fixed: the same record gives the same page.
//
// go-echarts' own renderers are not used: they marshal without HTML escaping, ignore marshalling errors (one NaN
// gives an empty chart), unescape entities and delete the text "__f__" wherever it occurs, so that a name from a
// cluster could end the script or its string.
func (p *Plot) option(id string) ([]byte, error) {
	x := opts.XAxis{Type: p.axis(0), Name: p.X, NameLocation: "middle", NameGap: 26}
	y := opts.YAxis{Type: p.axis(1)}
	if y.Type == "value" {
		y.Min = 0
	}
	if p.Lines[0].Smooth {
		x.Type, y.Type, y.Min, x.Min, x.Max = "value", "value", 0, "dataMin", "dataMax"
	}
	line, on := charts.NewLine(), opts.Bool(true)
	line.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}), charts.WithAnimation(false),
		charts.WithTooltipOpts(opts.Tooltip{Show: on, Trigger: "axis"}),
		charts.WithLegendOpts(opts.Legend{Show: on, Top: "0", Left: "0", Icon: "roundRect", ItemWidth: 14, ItemHeight: 4}),
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "20", Top: "58", Bottom: "34", ContainLabel: on}),
		charts.WithAriaOpts(&opts.Aria{Enabled: on}), charts.WithXAxisOpts(x), charts.WithYAxisOpts(y))
	for i, l := range p.Lines {
		color, dash := colors[i%len(colors)], "solid"
		if l.Model || i >= len(colors) {
			dash = map[bool]string{true: "dashed", false: "dotted"}[l.Model]
		}
		width, size := float32(2), 5
		if l.Marks {
			width, size = 0, map[bool]int{true: 16, false: 8}[len(l.Points) == 1] // a single one is the answer
		}
		line.AddSeries(l.Name, nil,
			charts.WithLineChartOpts(opts.LineChart{Symbol: "circle", SymbolSize: size,
				ShowSymbol: opts.Bool(!l.Smooth && (!l.Model || len(l.Points) == 1))}),
			charts.WithLineStyleOpts(opts.LineStyle{Width: width, Type: dash, Color: color}),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: color}))
		var points []any // plain pairs: go-echarts would write each as an object of its own
		for _, at := range l.Points {
			point := [2]any{math.Round(at[0]*1e3) / 1e3, "-"} // breaks the line
			if finiteNumber(at[1]) {
				point[1] = json.Number(fmt.Sprintf("%.5g", at[1]))
			}
			points = append(points, point)
		}
		line.MultiSeries[len(line.MultiSeries)-1].Data = points
	}
	line.Validate()
	m := line.JSON()
	m["animation"] = false
	for _, unused := range []string{"toolbox", "title", "color"} { // every series has its own
		delete(m, unused)
	}
	return json.Marshal(m)
}

func (p *Plot) figures() Table {
	t := Table{Heads: []Head{{Title: p.X, Words: true}}}
	known := map[float64]bool{}
	for _, l := range p.Lines {
		t.Heads = append(t.Heads, Head{Title: l.Name})
		for _, at := range l.Points {
			known[at[0]] = true
		}
	}
	const most = 40
	xs := slices.Sorted(maps.Keys(known))
	step := (len(xs) + most - 1) / most
	for i := 0; i < len(xs); i += step {
		row := Cells(Brief(xs[i]))
		for _, l := range p.Lines {
			text := unknown
			for _, at := range l.Points { // the figure at x, or of many the last before
				if (at[0] == xs[i] || step > 1 && at[0] < xs[i]) && finiteNumber(at[1]) {
					text = short(at[1])
				}
			}
			row = append(row, Cell{Text: text})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func finiteNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
