package render

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// palette gives every strategy one colour in all charts; the page maps it to a
// lighter one on a dark ground.
var palette = map[string]string{
	"single": "#64748b", "unordered": "#c2410c", "dedup": "#2563eb",
	"partitioned": "#b7791f", "keyed": "#0f8a5f", "adaptive": "#7c3aed",
}

// spare colours serve further strategies and parties, in order; the last six repeat the strategies'.
var spare = []string{
	"#0e7490", "#be185d", "#4d7c0f", "#9333ea", "#92400e", "#1e40af",
	"#c2410c", "#2563eb", "#b7791f", "#0f8a5f", "#64748b", "#7c3aed",
}

// darkPalette maps each colour to its counterpart on a dark ground.
var darkPalette = map[string]string{
	"#64748b": "#94a3b8", "#c2410c": "#fb8a5c", "#2563eb": "#6ea3ff", "#b7791f": "#e3b34c", "#0f8a5f": "#3fc996",
	"#7c3aed": "#b795ff", "#0e7490": "#4cc3de", "#be185d": "#f472b0", "#4d7c0f": "#a3cf4e", "#9333ea": "#cf9bff",
	"#92400e": "#dd9a63", "#1e40af": "#8aa6f5", "#c7d7f5": "#27406f", "#8fb0ea": "#3f66ad",
}

// optioner is a chart of go-echarts.
type optioner interface {
	Validate()
	JSON() map[string]any
}

// encode turns a chart into JSON that may stand inside an HTML page.
//
// go-echarts' own renderers are not used: they marshal without HTML escaping,
// ignore marshalling errors (one NaN gives an empty chart), unescape entities and
// delete the text "__f__" wherever it occurs, so that a name from a cluster could
// end the script or its string.
func encode(c optioner) ([]byte, error) {
	c.Validate()
	m := c.JSON()
	m["animation"] = false
	delete(m, "toolbox")
	delete(m, "title")
	delete(m, "color") // every series has its own
	return json.Marshal(m)
}

// chartText is text for a chart. ECharts wraps its own meaning around a few runes
// in names ("{a|…}" starts a style), so they are kept out.
func chartText(s string) string { return strings.NewReplacer("{", "(", "}", ")").Replace(clean(s)) }

// Axis is how the page labels the x axis of a plot.
func (p *Plot) Axis() string {
	switch {
	case p.Percent:
		return "percentile"
	case strings.HasPrefix(p.X, "seconds"):
		return ""
	}
	return "plain"
}

// Empty reports whether a plot has no point.
func (p *Plot) Empty() bool {
	return !slices.ContainsFunc(p.Lines, func(l PlotLine) bool { return len(p.points(&l)) > 0 })
}

// JSON is the plot as ECharts draws it, under an id that is fixed: the same record gives the
// same page.
func (p *Plot) JSON(id string) ([]byte, error) {
	line := charts.NewLine()
	line.SetGlobalOptions(p.frame(id)...)
	for i, l := range p.Lines {
		points := p.points(&l)
		if len(points) == 0 {
			continue
		}
		line.AddSeries(chartText(l.Name), nil, l.style(i)...)
		s := &line.MultiSeries[len(line.MultiSeries)-1]
		s.Data, s.SymbolSize = points, 8
	}
	p.shade(line)
	return encode(line)
}

// frame returns the options common to all charts, and the axes.
func (p *Plot) frame(id string) []charts.GlobalOpts {
	x, y := opts.XAxis{Type: "value", Name: clean(p.X)}, opts.YAxis{Type: "value", Min: 0}
	x.NameLocation, x.NameGap = "middle", 26
	switch {
	case p.Log, p.LogX, p.Percent:
		x.Type = "log"
	}
	if p.Log || p.Percent {
		y = opts.YAxis{Type: "log"}
	}
	if p.Percent {
		x.Min, x.Max = 1, 1000
	} else if x.Type == "value" && p.smooth() {
		x.Min, x.Max = "dataMin", "dataMax"
	}
	on := opts.Bool(true)
	return []charts.GlobalOpts{
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithAnimation(false),
		charts.WithTooltipOpts(opts.Tooltip{Show: on, Trigger: "axis"}),
		charts.WithLegendOpts(opts.Legend{Show: on, Top: "0", Left: "0", Icon: "roundRect", ItemWidth: 14, ItemHeight: 4}),
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "20", Top: "58", Bottom: "34", ContainLabel: on}),
		charts.WithAriaOpts(&opts.Aria{Enabled: on}),
		charts.WithXAxisOpts(x),
		charts.WithYAxisOpts(y),
	}
}

func (p *Plot) smooth() bool {
	return slices.ContainsFunc(p.Lines, func(l PlotLine) bool { return l.Smooth })
}

// points returns a line's points for ECharts: plain pairs, since go-echarts would write each
// as an object of its own, with times in milliseconds and values to five digits, which is more
// than a screen shows.
func (p *Plot) points(l *PlotLine) (all []any) {
	known := false
	for _, at := range l.Points {
		x, y := math.Round(at[0]*1e3)/1e3, digits(at[1])
		if !finiteNumber(at[0]) || p.Log && at[0] <= 0 || (p.Log || p.Percent) && at[1] <= 0 {
			continue
		}
		known = known || finiteNumber(at[1])
		point := [2]any{x, y}
		if !finiteNumber(at[1]) {
			point[1] = "-" // breaks the line
		}
		all = append(all, point)
	}
	if !known {
		return nil
	}
	return all
}

// color is the line's: its own, that of the strategy by which it is called, or the i-th of those to spare.
func (l *PlotLine) color(i int) string {
	if l.Color != "" {
		return l.Color
	}
	for strategy, c := range palette {
		if strings.HasPrefix(l.Name, strategy) {
			return c
		}
	}
	return spare[i%len(spare)]
}

func (l *PlotLine) style(i int) []charts.SeriesOpts {
	round := i / len(spare)
	dash, width := []string{"solid", "dotted"}[round%2], 2+round/2
	if l.Model {
		dash, width = "dashed", 2+round
	}
	color := l.color(i)
	return []charts.SeriesOpts{
		charts.WithLineChartOpts(opts.LineChart{
			ShowSymbol: opts.Bool(!l.Smooth && !l.Model), Symbol: "circle"}),
		charts.WithLineStyleOpts(opts.LineStyle{Width: float32(width), Type: dash, Color: color}),
		charts.WithItemStyleOpts(opts.ItemStyle{Color: color}),
	}
}

// shade draws the bands as a series without a name, which has no place in the legend, so that no
// click there removes them.
func (p *Plot) shade(line *charts.Line) {
	var areas []any
	for _, b := range p.Bands {
		if finiteNumber(b.From) && finiteNumber(b.To) {
			style := map[string]any{"color": b.Color, "opacity": 0.25}
			areas = append(areas, []any{
				map[string]any{"name": b.Name, "xAxis": b.From, "itemStyle": style}, map[string]any{"xAxis": b.To}})
		}
	}
	if len(areas) == 0 {
		return
	}
	line.AddSeries("", []opts.LineData{})
	line.MultiSeries[len(line.MultiSeries)-1].MarkAreas = &opts.MarkAreas{Data: areas, MarkAreaStyle: opts.MarkAreaStyle{
		Label: &opts.Label{Show: opts.Bool(true), Position: "insideTop"}}}
}

// figures returns the plot as a table, with a row per x, or sampled where there are many.
func (p *Plot) figures() Table {
	if len(p.Data.Rows) > 0 {
		return p.Data.cleaned()
	}
	t := Table{Keys: 1, Heads: []Head{{Title: clean(p.X)}}}
	known := map[float64]bool{}
	for _, l := range p.Lines {
		t.Heads = append(t.Heads, Head{Title: clean(l.Name)})
		for _, at := range l.Points {
			known[at[0]] = true
		}
	}
	const many, steps = 40, 12
	xs := slices.Sorted(maps.Keys(known))
	sampled := len(xs) > many
	if sampled {
		first, last := xs[0], xs[len(xs)-1]
		xs = xs[:0]
		for i := range steps + 1 {
			xs = append(xs, first+(last-first)*float64(i)/steps)
		}
	}
	for _, x := range xs {
		row := Cells(short(x))
		for _, l := range p.Lines {
			row = append(row, Cell{Text: l.at(x, sampled)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// at is the line's figure at x, or the last before.
func (l *PlotLine) at(x float64, before bool) string {
	text := unknown
	if n := len(l.Points); n == 0 || x > l.Points[n-1][0] {
		return text
	}
	for _, at := range l.Points {
		if at[0] > x || at[0] < x && !before {
			continue
		}
		if text = unknown; finiteNumber(at[1]) {
			text = short(at[1])
		}
	}
	return text
}

func finiteNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// digits rounds to five of them.
func digits(v float64) float64 {
	if v == 0 || !finiteNumber(v) {
		return v
	}
	scale := math.Pow10(4 - int(math.Floor(math.Log10(math.Abs(v)))))
	if !finiteNumber(scale) || scale == 0 {
		return v
	}
	return math.Round(v*scale) / scale
}
