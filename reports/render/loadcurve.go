package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/result"
)

var (
	offered  = medianOf(func(c *result.Cell) *float64 { return c.Load.OfferedQPS })
	planned  = medianOf(func(c *result.Cell) *float64 { return c.Load.PlannedQPS })
	achieved = medianOf(func(c *result.Cell) *float64 { return ifSome(c.Load.QPS, c.Load.DurationS > 0) })
)

// lineTypes tell the lines of one colour apart.
var lineTypes = []string{"solid", "dotted", "dashed"}

// OverLoad is the chart of freshness against load where open loads have several rates: one
// line per strategy, hollow points where storage fell behind. nil where there is one rate.
func (t *table) OverLoad() *chart {
	byName := map[string][]*row{}
	rates := map[float64]bool{}
	for _, r := range believed(t.rows) {
		if !r.isOpen() {
			continue
		}
		name := t.overLoadName(r)
		byName[name] = append(byName[name], r)
	}
	// A profile's plan is of pods, so that the rate of its writes is known by what was written.
	rate, axis := planned, "planned writes/s"
	for _, rows := range byName {
		if slices.ContainsFunc(rows, func(r *row) bool { return planned(r).number == nil }) {
			rate, axis = achieved, "writes/s that the API server acknowledged"
		}
	}
	line := charts.NewLine()
	line.SetGlobalOptions(frame("over-load", named("log", axis), opts.YAxis{Type: "log"})...)
	data := dataTable{Head: []string{"strategy", "load", "writes/s", "freshness p50 s", "freshness p99 s", "keeps up"}}
	for i, name := range slices.Sorted(maps.Keys(byName)) {
		rows := slices.DeleteFunc(byName[name], func(r *row) bool {
			x, y := rate(r).number, freshnessP99.measure(r).number
			return x == nil || y == nil || *x <= 0 || *y <= 0
		})
		slices.SortStableFunc(rows, func(a, b *row) int { return cmp.Compare(*rate(a).number, *rate(b).number) })
		var points []opts.LineData
		for _, r := range rows {
			x := *rate(r).number
			p := opts.LineData{Value: []float64{x, *freshnessP99.measure(r).number}, Symbol: "circle", SymbolSize: 9}
			if _, of := r.pace(); of > 0 && !r.keepsUp() {
				p.Symbol, p.SymbolSize = "emptyCircle", 12
			}
			rates[x] = true
			points = append(points, p)
			data.Rows = append(data.Rows, []string{chartText(name), chartText(r.load), short(x),
				freshnessP99.text(freshnessQuantiles[0].measure(r)), freshnessP99.text(freshnessP99.measure(r)), r.paceWords()})
		}
		if len(points) == 0 {
			continue
		}
		color := spare[i%len(spare)]
		if name == rows[0].strategy {
			color = strategyColor(rows[0])
		}
		line.AddSeries(chartText(name), points, charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(true)}),
			charts.WithLineStyleOpts(opts.LineStyle{Width: 2, Type: lineTypes[i/len(spare)%len(lineTypes)], Color: color}), filled(color))
	}
	if len(rates) < 2 {
		return nil
	}
	return &chart{
		ID: "over-load", Title: "Freshness p99 against load", Unit: "s", Axis: "rate", Option: line, Data: data,
		Caption: "From the intended time of a write until storage acknowledged a state at least that new. Hollow points: storage fell behind, so the figure grows for as long as the load lasts. Both axes are logarithmic.",
	}
}

// overLoadName is what a row has in common with those of other rates. A profile writes
// other objects than plain Pods, so the two are not on one line.
func (t *table) overLoadName(r *row) string {
	words := []string{r.strategy}
	for i, path := range t.extra {
		if path != "load.rate" {
			words = append(words, r.extra[i])
		}
	}
	if i := slices.IndexFunc(r.valid, func(c *result.Cell) bool { return c.Traffic != nil }); i >= 0 {
		words = append(words, r.valid[i].Traffic.Profile)
	}
	return strings.Join(words, " ")
}

// strategyColor is the strategy's, whatever else the row is.
func strategyColor(r *row) string {
	if c, ok := palette[r.strategy]; ok {
		return c
	}
	return r.color()
}
