package render

import (
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// Heat is a chart of values over two lists: the more a field stands out from the page, the higher. Colours begin at 0.
type Heat struct {
	Title, Caption string
	X, Unit        string   // what the x axis and the values are
	Columns, Rows  []string // along x and y
	Values         [][]*float64
}

// chart draws the map; nil without a value.
func (h Heat) chart(id string) *chart {
	m := charts.NewHeatMap()
	columns, rows := cleanAll(h.Columns), make([]string, len(h.Rows))
	data := dataTable{Head: append([]string{""}, columns...)}
	high := 0.0
	var points []opts.HeatMapData
	for y, name := range h.Rows {
		rows[y] = chartText(name)
		line := []string{rows[y]}
		for x := range h.Columns {
			v := h.Values[y][x]
			line = append(line, shortOf(v))
			if v == nil || !finiteNumber(*v) {
				continue
			}
			high = max(high, *v)
			points = append(points, opts.HeatMapData{Value: []any{x, y, math.Round(*v*1e4) / 1e4}, Name: rows[y] + " " + columns[x] + ": " + short(*v) + " " + clean(h.Unit)})
		}
		data.Rows = append(data.Rows, line)
	}
	if len(points) == 0 {
		return nil
	}
	x := named("category", clean(h.X))
	x.Data = columns
	m.SetGlobalOptions(append(frame(id, x, opts.YAxis{Type: "category", Data: rows}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item", Formatter: "{b}"}),
		charts.WithVisualMapOpts(opts.VisualMap{
			Min: 0, Max: float32(high), Show: opts.Bool(false),
			InRange: &opts.VisualMapInRange{Color: []string{"#c7d7f5", "#8fb0ea", "#4f7fd6", "#1e4fa8"}},
		}))...)
	m.AddSeries(clean(h.Unit), points)
	return &chart{ID: id, Title: clean(h.Title), Caption: clean(h.Caption), Unit: clean(h.Unit), Axis: "heat", Lines: len(rows), Option: m, Data: data}
}
