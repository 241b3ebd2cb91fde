package render

import (
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/result"
)

// chart is one figure of the page: what ECharts draws, and the same as a table for
// readers without script, screen readers and copying.
type chart struct {
	ID      string
	Title   string
	Caption string
	Unit    string
	Axis    string // how the x axis is labelled: "" as is, "percentile" from 1/(1-q)
	Lines   int    // that stand below one another, of a chart with a line per row
	Option  optioner
	Data    dataTable
	HTML    template.HTML // the chart as the page has it; only a run's page draws ahead
}

// Height is enough for each line's name.
func (c *chart) Height() int { return max(300, 110+26*c.Lines) }

type dataTable struct {
	Head []string
	Rows [][]string
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
// end the script or the string it stands in.
func encode(c optioner) ([]byte, error) {
	c.Validate()
	m := c.JSON()
	m["animation"] = false
	delete(m, "toolbox")
	delete(m, "title")
	delete(m, "color") // every series has its own
	return json.Marshal(m)
}

// palette gives every strategy one colour in all charts; the page maps it to a
// lighter one on a dark ground.
var palette = map[string]string{
	"single": "#64748b", "unordered": "#c2410c", "dedup": "#2563eb",
	"partitioned": "#b7791f", "keyed": "#0f8a5f", "adaptive": "#7c3aed",
}

// spare colours serve further strategies and parties, in order; the last six are those of
// strategies and serve rows that differ in more.
var spare = []string{
	"#0e7490", "#be185d", "#4d7c0f", "#9333ea", "#92400e", "#1e40af",
	"#c2410c", "#2563eb", "#b7791f", "#0f8a5f", "#64748b", "#7c3aed",
}

// darkPalette maps each colour to its counterpart on a dark ground.
var darkPalette = map[string]string{
	"#64748b": "#94a3b8", "#c2410c": "#fb8a5c", "#2563eb": "#6ea3ff", "#b7791f": "#e3b34c", "#0f8a5f": "#3fc996", "#7c3aed": "#b795ff",
	"#0e7490": "#4cc3de", "#be185d": "#f472b0", "#4d7c0f": "#a3cf4e", "#9333ea": "#cf9bff", "#92400e": "#dd9a63", "#1e40af": "#8aa6f5",
	"#c7d7f5": "#27406f", "#8fb0ea": "#3f66ad", "#4f7fd6": "#6b97e8", "#1e4fa8": "#a9c5fb",
}

// color is the row's in all charts.
func (r *row) color() string {
	if c, ok := palette[r.strategy]; ok && len(r.extra) == 0 {
		return c
	}
	return spare[r.place%len(spare)]
}

// legend is the row's name in a chart, with its flaw.
func (r *row) legend() string {
	name := chartText(r.label())
	switch r.state() {
	case stateFailed, stateAllowed:
		return name + " (fails " + chartText(strings.Join(r.failing(), " ")) + ")"
	case stateCut:
		return name + " (cut)"
	}
	return name
}

// chartText is text for a chart. ECharts wraps its own meaning around a few runes
// in names ("{a|…}" starts a style), so they are kept out.
func chartText(s string) string {
	return strings.NewReplacer("{", "(", "}", ")").Replace(clean(s))
}

// curveKind is a measure over time.
type curveKind struct{ series, title, caption, unit string }

var mainCurves = []curveKind{
	{result.SeriesQueueDepth, "Queue depth", "Pod events that the API server had answered and storage was owed, by op log and ledger.", "events"},
	{result.SeriesStorageQPS, "Storage rate", "Requests that storage acknowledged per second.", "requests/s"},
	{result.SeriesWatcherCPU, "Watcher CPU", "User and system time of the watcher process.", "cores"},
	{result.SeriesWatcherRSS, "Watcher memory", "Resident memory of the watcher process.", "MiB"},
}

// moreCurves are drawn on request; any curve the record holds besides follows them.
var moreCurves = []curveKind{
	{result.SeriesLoadQPS, "Load", "Writes that the apiserver acknowledged per second.", "requests/s"},
	{result.SeriesWriterDepth, "Writer queue", "Events of all kinds in the Writer queue.", "events"},
	{result.SeriesHandlerDepth, "Pod handler queues", "Events in the Pod handler queues together.", "events"},
	{result.SeriesStorageInFlight, "Requests in flight", "Requests that storage was answering.", "requests"},
	{result.SeriesWatcherNet, "Watcher network", "Bytes that the watcher read and wrote.", "KiB/s"},
}

// curveCharts draws the given measures of one load, all strategies in one chart so
// that they share their axes, with at most so many points a line. Measures that no row has
// are left out.
func curveCharts(id string, rows []*row, kinds []curveKind, most int) (all []*chart) {
	for i, k := range kinds {
		all = append(all, curveChart(fmt.Sprintf("%s-%d", id, i), rows, k, most))
	}
	return drawn(all)
}

// drawn drops the charts that have nothing to show.
func drawn(all []*chart) []*chart {
	return slices.DeleteFunc(all, func(c *chart) bool { return c == nil })
}

// believed are the rows that a chart may show.
func believed(rows []*row) []*row {
	return slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return r.void() })
}

func curveChart(id string, rows []*row, k curveKind, most int) *chart {
	line := charts.NewLine()
	x := named("value", "seconds from the start of the load")
	x.Min, x.Max = "dataMin", "dataMax"
	line.SetGlobalOptions(frame(id, x, opts.YAxis{Type: "value", Min: 0})...)
	data := dataTable{Head: []string{"s"}}
	var shown []result.Series
	from, to := 0.0, 0.0
	var drains phases
	thinned := false
	for _, r := range believed(rows) {
		cell := r.representative()
		s := cell.Series[k.series]
		thinned = thinned || len(s.T) > most
		pieces := curve(s, most)
		points := dots(pieces)
		if len(points) == 0 {
			continue
		}
		drains.add(cell)
		addLine(line, r, points)
		shown = append(shown, s)
		data.Head = append(data.Head, r.legend())
		first, last := pieces[0][0], pieces[len(pieces)-1]
		from, to = math.Min(from, first.x), math.Max(to, last[len(last)-1].x)
	}
	if len(shown) == 0 {
		return nil
	}
	drains.shade(line, to)
	const lines = 12
	for i := range lines + 1 {
		x := from + (to-from)*float64(i)/lines
		cells := []string{fixed(&x, 1)}
		for _, s := range shown {
			cells = append(cells, shortOf(at(s, x)))
		}
		data.Rows = append(data.Rows, cells)
	}
	caption := k.caption
	if thinned {
		caption = strings.TrimSpace(fmt.Sprintf("%s At most %d points of a line are drawn, chosen to keep its shape.", caption, most))
	}
	return &chart{ID: id, Title: k.title, Caption: caption, Unit: k.unit, Option: line, Data: data}
}

// otherCurves lists the curves of the record that have no place of their own.
func otherCurves(rows []*row) (kinds []curveKind) {
	units := map[string]string{}
	for _, r := range rows {
		for name, s := range r.representative().Series {
			units[name] = s.Unit
		}
	}
	for _, k := range slices.Concat(mainCurves, moreCurves) {
		delete(units, k.series)
	}
	for _, name := range slices.Sorted(maps.Keys(units)) {
		kinds = append(kinds, curveKind{series: name, title: clean(name), unit: clean(units[name])})
	}
	return kinds
}

// frame is what all charts have in common, and their axes. The id is fixed: the same
// record gives the same page.
func frame(id string, x opts.XAxis, y opts.YAxis) []charts.GlobalOpts {
	return []charts.GlobalOpts{
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithAnimation(false),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Top: "0", Left: "0", Icon: "roundRect", ItemWidth: 14, ItemHeight: 4}),
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "20", Top: "58", Bottom: "34", ContainLabel: opts.Bool(true)}),
		charts.WithAriaOpts(&opts.Aria{Enabled: opts.Bool(true)}),
		charts.WithXAxisOpts(x),
		charts.WithYAxisOpts(y),
	}
}

// named is an x axis with its name below.
func named(kind, name string) opts.XAxis {
	return opts.XAxis{Type: kind, Name: name, NameLocation: "middle", NameGap: 26}
}

// stroke is the row's line; one that must not be compared is broken. Where there are more
// rows than colours, those of one colour differ in style.
func (r *row) stroke() []charts.SeriesOpts {
	round := r.place / len(spare)
	dash, width := []string{"solid", "dotted"}[round%2], 2+round/2
	if !r.correct() {
		dash, width = "dashed", 2+round
	}
	return []charts.SeriesOpts{
		charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false)}),
		charts.WithLineStyleOpts(opts.LineStyle{Width: float32(width), Type: dash, Color: r.color()}),
		filled(r.color()),
	}
}

func filled(color string) charts.SeriesOpts {
	return charts.WithItemStyleOpts(opts.ItemStyle{Color: color})
}

// level is a dotted line across bars.
func level(name string, y float64) []charts.SeriesOpts {
	item := opts.MarkLineNameYAxisItem{Name: name, YAxis: y}
	return []charts.SeriesOpts{charts.WithMarkLineNameYAxisItemOpts(item), dotted(name, "insideEndTop")}
}

// dotted is a marked line with its name at the given place.
func dotted(name, position string) charts.SeriesOpts {
	return charts.WithMarkLineStyleOpts(opts.MarkLineStyle{
		Symbol: []string{"none", "none"}, Label: &opts.Label{Show: opts.Bool(true), Formatter: name, Position: position},
		LineStyle: &opts.LineStyle{Type: "dotted", Width: 1},
	})
}
