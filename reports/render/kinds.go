package render

import (
	"fmt"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// KindCharts draw the events of each kind, a chart per load that has a profile.
func (t *table) KindCharts() (all []*chart) {
	for i, f := range t.flowsOfProfiles() {
		var names []string
		series := []barSeries{{name: "added"}, {name: "modified"}, {name: "deleted"}}
		for _, kind := range f.order() {
			names = append(names, chartText(kind))
			k := f.kinds[kind]
			for j, n := range []int64{k.added, k.modified, k.deleted} {
				series[j].values = append(series[j].values, new(float64(n)/float64(f.cells)))
			}
		}
		for j, color := range []string{"#0f8a5f", "#2563eb", "#c2410c"} {
			series[j].style = []charts.SeriesOpts{charts.WithBarChartOpts(opts.BarChart{Stack: "events"}), filled(color)}
		}
		all = append(all, bars(chart{
			ID: fmt.Sprintf("kinds-%d", i+1), Title: fmt.Sprintf("Events per kind: %s, load %s", chartText(f.profile), chartText(f.load)), Unit: "events per cell",
			Caption: fmt.Sprintf("Writes that the apiserver acknowledged, each of which is one watch event; mean of %s.", plural(f.cells, "valid cell")),
		}, "type", names, series, shortOf))
	}
	return drawn(all)
}
