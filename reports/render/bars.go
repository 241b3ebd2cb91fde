package render

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/result"
)

// freshnessDots compares the percentiles of the rows of a load, one line per row.
// Dots rather than bars: on a logarithmic axis the length of a bar means nothing.
func freshnessDots(id string, rows []*row) *chart {
	quantiles := []struct {
		name, color string
		measure     func(*row) reading
	}{
		{"p50", "#8fb0ea", measureFreshness(50, func(q *result.Quantiles) float64 { return q.P50 })},
		{"p90", "#4f7fd6", measureFreshness(90, func(q *result.Quantiles) float64 { return q.P90 })},
		{"p99", "#1e4fa8", measureFreshness(99, func(q *result.Quantiles) float64 { return q.P99 })},
		{"max", "#be185d", measureFreshness(100, func(q *result.Quantiles) float64 { return q.Max })},
	}
	data := dataTable{Head: []string{"strategy"}}
	var names []string
	var shown []*row
	for _, r := range rows {
		if r.state() != stateInvalid && quantiles[0].measure(r).number != nil {
			shown, names = append(shown, r), append(names, r.legend())
			data.Rows = append(data.Rows, []string{r.legend()})
		}
	}
	if len(shown) == 0 {
		return nil
	}
	dots := charts.NewScatter()
	dots.SetGlobalOptions(frame(id, opts.XAxis{Type: "log", Name: "s", NameLocation: "middle", NameGap: 26}, opts.YAxis{Type: "category", Data: names, Inverse: opts.Bool(true)})...)
	for _, q := range quantiles {
		data.Head = append(data.Head, q.name+" s")
		var values []opts.ScatterData
		for i, r := range shown {
			v := q.measure(r)
			data.Rows[i] = append(data.Rows[i], freshnessP99.text(v))
			if v.number != nil && *v.number > 0 {
				values = append(values, opts.ScatterData{Value: []any{*v.number, i}, SymbolSize: 13})
			}
		}
		dots.AddSeries(q.name, values, charts.WithItemStyleOpts(opts.ItemStyle{Color: q.color}))
	}
	return &chart{ID: id, Title: "Freshness percentiles", Caption: "From the intended time of an operation until storage held a state at least that new; further left is better. In a cut cell, only what was acknowledged.",
		Unit: "s", Axis: "dots", Option: dots, Data: data}
}

// freshnessCurve draws the whole distribution where the histograms are there.
func freshnessCurve(id string, rows []*row) *chart {
	line := charts.NewLine()
	line.SetGlobalOptions(frame(id, opts.XAxis{Type: "log", Name: "percentile", NameLocation: "middle", NameGap: 26, Min: 1, Max: 1000}, opts.YAxis{Type: "log"})...)
	percentiles := []float64{0, 25, 50, 75, 90, 95, 99, 99.5, 99.9}
	data := dataTable{Head: []string{"percentile"}}
	for _, p := range percentiles {
		data.Rows = append(data.Rows, []string{exact(p)})
	}
	for i, r := range rows {
		if r.state() == stateInvalid {
			continue
		}
		h := r.freshness()
		if h == nil {
			continue
		}
		var points []opts.LineData
		// 60 steps over three decades of 1/(1-q): 0 % to 99.9 %.
		const steps = 60
		for s := range steps + 1 {
			x := math.Pow(10, 3*float64(s)/steps)
			seconds := float64(h.ValueAtPercentile(100*(1-1/x))) / microsPerSecond
			points = append(points, opts.LineData{Value: []float64{x, seconds}})
		}
		data.Head = append(data.Head, r.legend())
		for j, p := range percentiles {
			data.Rows[j] = append(data.Rows[j], short(float64(h.ValueAtPercentile(p))/microsPerSecond))
		}
		line.AddSeries(r.legend(), points, r.stroke(i)...)
	}
	if len(data.Head) == 1 {
		return nil
	}
	return &chart{ID: id, Title: "Freshness distribution", Caption: "The same in full: how many per cent of the operations were visible in storage within how many seconds.",
		Unit: "s", Axis: "percentile", Option: line, Data: data}
}

// efficiencyBars compares how much of the storage's limit each strategy used.
func efficiencyBars(id string, t *table) *chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, opts.XAxis{Type: "category"}, opts.YAxis{Type: "value", Min: 0})...)
	var names []string
	for _, r := range t.rows {
		if !slices.Contains(names, chartText(r.label())) {
			names = append(names, chartText(r.label()))
		}
	}
	bar.SetXAxis(names)
	data := dataTable{Head: []string{"load"}}
	data.Head = append(data.Head, names...)
	colors := []string{"#8fb0ea", "#1e4fa8", "#4f7fd6", "#c7d7f5"}
	known := false
	for i, load := range t.loads() {
		values := make([]opts.BarData, len(names))
		cells := append([]string{chartText(load)}, slices.Repeat([]string{unknown}, len(names))...)
		for j := range values {
			values[j].Value = "-"
		}
		for _, r := range t.under(load) {
			v := efficiency.value(r)
			if v.number == nil {
				continue
			}
			known = true
			j := slices.Index(names, chartText(r.label()))
			values[j].Value = *v.number
			cells[j+1] = fixed(v.number, 1)
		}
		data.Rows = append(data.Rows, cells)
		series := []charts.SeriesOpts{charts.WithItemStyleOpts(opts.ItemStyle{Color: colors[i%len(colors)]})}
		if i == 0 {
			series = append(series, charts.WithMarkLineNameYAxisItemOpts(opts.MarkLineNameYAxisItem{Name: "limit", YAxis: 100}), dotted("limit", "insideEndTop"))
		}
		bar.AddSeries(chartText(load), values, series...)
	}
	if !known {
		return nil
	}
	return &chart{ID: id, Title: "Efficiency", Caption: "Storage rate over the whole busy window, as a part of what the senders allow at that latency (senders ÷ mean latency).",
		Unit: "%", Option: bar, Data: data}
}

// skewBars shows how unevenly the queues of a partitioned strategy were used, the
// busiest first, each against the mean.
func skewBars(id string, rows []*row) *chart {
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, opts.XAxis{Type: "category", Name: "Pod queues, busiest first", NameLocation: "middle", NameGap: 26}, opts.YAxis{Type: "value", Min: 0})...)
	longest := 0
	data := dataTable{Head: []string{"strategy", "queues", "busiest × mean", "idlest × mean", "busiest queue"}}
	for i, r := range rows {
		q := r.representative().Queues
		if r.state() == stateInvalid || len(q) < 2 {
			continue
		}
		shares := slices.Sorted(maps.Values(q))
		slices.Reverse(shares)
		total := 0.0
		for _, s := range shares {
			total += s
		}
		if total <= 0 {
			continue
		}
		mean := total / float64(len(shares))
		longest = max(longest, len(shares))
		var values []opts.BarData
		for _, s := range shares[:min(len(shares), maxPoints)] {
			values = append(values, opts.BarData{Value: s / mean})
		}
		busiest := slices.MaxFunc(slices.Sorted(maps.Keys(q)), func(a, b string) int {
			if q[a] < q[b] {
				return -1
			}
			return 1
		})
		data.Rows = append(data.Rows, []string{r.legend(), fmt.Sprint(len(shares)), short(shares[0] / mean), short(shares[len(shares)-1] / mean), clean(busiest)})
		series := []charts.SeriesOpts{charts.WithItemStyleOpts(opts.ItemStyle{Color: r.color(i)})}
		if longest == len(shares) {
			series = append(series, charts.WithMarkLineNameYAxisItemOpts(opts.MarkLineNameYAxisItem{Name: "mean", YAxis: 1}), dotted("mean", "insideEndTop"))
		}
		bar.AddSeries(r.legend(), values, series...)
	}
	if longest == 0 {
		return nil
	}
	names := make([]string, longest)
	for i := range names {
		names[i] = fmt.Sprint(i + 1)
	}
	bar.SetXAxis(names)
	return &chart{ID: id, Title: "Queue skew", Caption: "Events handled per Pod queue against the mean. The busiest queue decides when a fixed assignment is done.",
		Unit: "× mean", Option: bar, Data: data}
}

// partyBars shows whose work filled the machine.
func partyBars(id string, rows []*row) *chart {
	parties := map[string]bool{}
	var shown []*row
	var names []string
	for _, r := range rows {
		if p := r.representative().Parties; r.state() != stateInvalid && len(p) > 0 {
			shown, names = append(shown, r), append(names, r.legend())
			for name := range p {
				parties[name] = true
			}
		}
	}
	if len(shown) == 0 {
		return nil
	}
	bar := charts.NewBar()
	bar.SetGlobalOptions(frame(id, opts.XAxis{Type: "category"}, opts.YAxis{Type: "value", Min: 0})...)
	bar.SetXAxis(names)
	data := dataTable{Head: append([]string{"process"}, names...)}
	colors := []string{"#2563eb", "#b7791f", "#0f8a5f", "#64748b", "#be185d", "#7c3aed", "#0e7490", "#c2410c"}
	for i, name := range slices.Sorted(maps.Keys(parties)) {
		cells := []string{chartText(name)}
		var values []opts.BarData
		for _, r := range shown {
			p, ok := r.representative().Parties[name]
			if !ok {
				values, cells = append(values, opts.BarData{Value: "-"}), append(cells, unknown)
				continue
			}
			values, cells = append(values, opts.BarData{Value: p.CPUSeconds}), append(cells, short(p.CPUSeconds))
		}
		data.Rows = append(data.Rows, cells)
		bar.AddSeries(chartText(name), values,
			charts.WithBarChartOpts(opts.BarChart{Stack: "cpu"}),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: colors[i%len(colors)]}))
	}
	return &chart{ID: id, Title: "Who used the machine", Caption: "CPU seconds of each process over the cell. Processes share the machine, so one's work is another's wait.",
		Unit: "CPU s", Option: bar, Data: data}
}
