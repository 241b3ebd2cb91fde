package render

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// freshnessDots compares the percentiles of the rows of a load, one line per row.
// Dots rather than bars: on a logarithmic axis the length of a bar means nothing.
func freshnessDots(id string, rows []*row) *chart {
	rows = slices.DeleteFunc(believed(rows), func(r *row) bool { return freshnessQuantiles[0].measure(r).number == nil })
	if len(rows) == 0 {
		return nil
	}
	data := dataTable{Head: []string{"strategy"}}
	var names []string
	for _, r := range rows {
		names = append(names, r.legend())
		data.Rows = append(data.Rows, []string{r.legend()})
	}
	dots := charts.NewScatter()
	dots.SetGlobalOptions(frame(id, named("log", "s"), opts.YAxis{Type: "category", Data: names, Inverse: opts.Bool(true)})...)
	colors := []string{"#8fb0ea", "#4f7fd6", "#1e4fa8", "#be185d"}
	for j, q := range freshnessQuantiles {
		data.Head = append(data.Head, q.name+" s")
		var values []opts.ScatterData
		for i, r := range rows {
			v := q.measure(r)
			data.Rows[i] = append(data.Rows[i], freshnessP99.text(v))
			if v.number != nil && *v.number > 0 {
				values = append(values, opts.ScatterData{Value: []any{*v.number, i}, SymbolSize: 13})
			}
		}
		dots.AddSeries(q.name, values, filled(colors[j]))
	}
	return &chart{
		ID: id, Title: "Freshness percentiles", Unit: "s", Axis: "dots", Lines: len(rows), Option: dots, Data: data,
		Caption: "From the intended time of an operation until storage acknowledged a state at least that new; further left is better. In a cut cell, only what was acknowledged." + mergedNote(rows),
	}
}

// freshnessCurve draws the whole distribution where the histograms are there.
func freshnessCurve(id string, rows []*row) *chart {
	line := charts.NewLine()
	x := named("log", "percentile")
	x.Min, x.Max = 1, 1000
	line.SetGlobalOptions(frame(id, x, opts.YAxis{Type: "log"})...)
	percentiles := []float64{0, 25, 50, 75, 90, 95, 99, 99.5, 99.9}
	data := dataTable{Head: []string{"percentile"}}
	for _, p := range percentiles {
		data.Rows = append(data.Rows, []string{exact(p)})
	}
	for _, r := range believed(rows) {
		h := r.histogram(freshnessOf)
		if h == nil {
			continue
		}
		seconds := func(percentile float64) float64 { return float64(h.ValueAtPercentile(percentile)) / microsPerSecond }
		var points [][2]any
		// 60 steps over three decades of 1/(1-q): 0 % to 99.9 %.
		const steps = 60
		for s := range steps + 1 {
			x := math.Pow(10, 3*float64(s)/steps)
			points = append(points, [2]any{digits(x), digits(seconds(100 * (1 - 1/x)))})
		}
		data.Head = append(data.Head, r.legend())
		for j, p := range percentiles {
			data.Rows[j] = append(data.Rows[j], short(seconds(p)))
		}
		addLine(line, r, points)
	}
	if len(data.Head) == 1 {
		return nil
	}
	return &chart{
		ID: id, Title: "Freshness distribution", Unit: "s", Axis: "percentile", Option: line, Data: data,
		Caption: "The same in full: how many per cent of the operations had been acknowledged by storage within how many seconds." + mergedNote(rows),
	}
}

// mergedNote says that percentiles are of all repetitions, where there are several.
func mergedNote(rows []*row) string {
	if slices.ContainsFunc(rows, func(r *row) bool { return len(r.valid) > 1 }) {
		return " Percentiles are of several repetitions together; how far these lie apart is in the table above."
	}
	return ""
}

// barSeries is one bar per name; nil is a value that is not known.
type barSeries struct {
	name   string
	values []*float64
	style  []charts.SeriesOpts
}

// bars draws the series, and the same as a table below the given corner; nil if no
// value is known.
func bars(c chart, corner string, names []string, all []barSeries, text func(*float64) string) *chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(c.ID, opts.XAxis{Type: "category"}, opts.YAxis{Type: "value", Min: 0})...)
	bar.SetXAxis(names)
	c.Option = bar
	c.Data.Head = append([]string{corner}, names...)
	known := false
	for _, s := range all {
		cells := []string{s.name}
		var values []opts.BarData
		for _, v := range s.values {
			cells = append(cells, text(v))
			if v == nil {
				values = append(values, opts.BarData{Value: "-"})
				continue
			}
			known = true
			values = append(values, opts.BarData{Value: *v})
		}
		c.Data.Rows = append(c.Data.Rows, cells)
		bar.AddSeries(s.name, values, s.style...)
	}
	if !known {
		return nil
	}
	return &c
}

// efficiencyBars compares how much of the storage's limit each strategy used. In an open
// load that is the plan's doing: more senders use less of it, and are none the worse.
func efficiencyBars(id string, t *table) *chart {
	var names []string
	rows := slices.DeleteFunc(slices.Clone(t.rows), (*row).isOpen)
	for _, r := range rows {
		if name := chartText(r.label()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	colors := append([]string{"#8fb0ea", "#1e4fa8", "#4f7fd6", "#c7d7f5"}, spare...)
	var all []barSeries
	for i, load := range t.loads() {
		if !slices.ContainsFunc(rows, func(r *row) bool { return r.load == load }) {
			continue
		}
		s := barSeries{name: chartText(load), values: make([]*float64, len(names))}
		for _, r := range rows {
			if r.load == load && r.correct() {
				s.values[slices.Index(names, chartText(r.label()))] = efficiency.measure(r).number
			}
		}
		s.style = append(s.style, filled(colors[i%len(colors)]))
		if len(all) == 0 {
			s.style = append(s.style, level("limit", 100)...)
		}
		all = append(all, s)
	}
	return bars(chart{
		ID: id, Title: "Efficiency", Unit: "%",
		Caption: "Storage rate over the whole busy window, as a part of what the senders allow at that latency (senders ÷ configured mean latency). Points that fail a core check are left out.",
	}, "load", names, all, func(v *float64) string { return fixed(v, 1) })
}

// partyBars shows whose work filled the machine.
func partyBars(id string, rows []*row) *chart {
	parties := map[string]bool{}
	var shown []*row
	var names []string
	for _, r := range believed(rows) {
		if p := r.representative().Parties; len(p) > 0 {
			shown = append(shown, r)
			names = append(names, r.legend())
			for name := range p {
				parties[name] = true
			}
		}
	}
	colors := []string{"#2563eb", "#b7791f", "#0f8a5f", "#64748b", "#be185d", "#7c3aed", "#0e7490", "#c2410c"}
	var all []barSeries
	for i, name := range slices.Sorted(maps.Keys(parties)) {
		s := barSeries{name: chartText(name)}
		for _, r := range shown {
			s.values = append(s.values, r.representative().Parties[name].CPUSeconds)
		}
		s.style = []charts.SeriesOpts{charts.WithBarChartOpts(opts.BarChart{Stack: "cpu"}), filled(colors[i%len(colors)])}
		all = append(all, s)
	}
	return bars(chart{
		ID: id, Title: "Who used the machine", Unit: "CPU s",
		Caption: "CPU seconds of each process over load and drain.",
	}, "process", names, all, shortOf)
}

// skewBars shows how unevenly the queues of a partitioned strategy were used, the
// busiest first, each against the mean.
func skewBars(id string, rows []*row) *chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, named("category", "Pod queues, busiest first"), opts.YAxis{Type: "value", Min: 0})...)
	longest := 0
	data := dataTable{Head: []string{"strategy", "queues", "busiest × mean", "idlest × mean", "busiest queue"}}
	for _, r := range believed(rows) {
		handled := r.representative().Queues
		total := 0.0
		for _, n := range handled {
			total += n
		}
		if len(handled) < 2 || total <= 0 {
			continue
		}
		queues := slices.SortedFunc(maps.Keys(handled), func(a, b string) int {
			return cmp.Or(cmp.Compare(handled[b], handled[a]), cmp.Compare(b, a))
		})
		mean := total / float64(len(queues))
		var values []opts.BarData
		for _, q := range queues[:min(len(queues), maxPoints)] {
			values = append(values, opts.BarData{Value: handled[q] / mean})
		}
		busiest, idlest := queues[0], queues[len(queues)-1]
		data.Rows = append(data.Rows, []string{r.legend(), fmt.Sprint(len(queues)), short(handled[busiest] / mean), short(handled[idlest] / mean), clean(busiest)})
		style := []charts.SeriesOpts{filled(r.color())}
		if len(queues) >= longest {
			longest = len(queues)
			style = append(style, level("mean", 1)...)
		}
		bar.AddSeries(r.legend(), values, style...)
	}
	if longest == 0 {
		return nil
	}
	var names []string
	for i := range longest {
		names = append(names, fmt.Sprint(i+1))
	}
	bar.SetXAxis(names)
	return &chart{
		ID: id, Title: "Queue skew", Unit: "× mean", Option: bar, Data: data,
		Caption: "Events handled per Pod queue against the mean. The busiest queue decides when a fixed assignment is done.",
	}
}
