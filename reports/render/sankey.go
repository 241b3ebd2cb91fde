package render

import (
	"fmt"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/result"
)

// flowCharts are the event flows of a load: first that of its fastest correct row, or of the
// first there is.
func (t *table) flowCharts(id string, rows []*row) []*chart {
	rows = believed(rows)
	winners := t.winners()
	slices.SortStableFunc(rows, func(a, b *row) int {
		switch {
		case winners[a] == winners[b]:
			return 0
		case winners[a]:
			return -1
		}
		return 1
	})
	var all []*chart
	for i, r := range rows {
		all = append(all, flowSankey(fmt.Sprintf("%s-%d", id, i), r))
	}
	return drawn(all)
}

// stream is a part of the events that went into the watcher, or left it.
type stream struct {
	name, color string
	n           int64
}

const unaccounted = "not accounted for"

// streams are the watcher's account of its events. The difference of the two sides is part
// of the smaller one. Events that were queued or parked before the load and no longer are
// count among those that came in.
func streams(e *result.Events) (in, out []stream) {
	in = []stream{{"received", "#64748b", e.Received}}
	difference := e.Received
	for _, s := range []stream{
		{"acknowledged", "#0f8a5f", e.Sent}, {"coalesced", "#2563eb", e.Coalesced}, {"filtered", "#7c3aed", e.Filtered},
		{"parked", "#b7791f", e.Parked}, {"queued", "#0e7490", e.Queued}, {"dropped", "#c2410c", e.Dropped},
	} {
		difference -= s.n
		if s.n < 0 {
			in = append(in, stream{s.name + " before", s.color, -s.n})
		} else {
			out = append(out, s)
		}
	}
	rest := stream{unaccounted, "#be185d", max(difference, -difference)}
	if difference < 0 {
		return append(in, rest), out
	}
	return in, append(out, rest)
}

// flowSankey draws what became of the events that the row's watcher received; nil where it
// gives no account.
func flowSankey(id string, r *row) *chart {
	cell := r.representative()
	e := account(cell)
	if e == nil {
		return nil
	}
	const middle = "watcher"
	var nodes []opts.SankeyNode
	var links []opts.SankeyLink
	node := func(s stream, depth int) string {
		name := fmt.Sprint(s.name, " ", s.n)
		nodes = append(nodes, opts.SankeyNode{Name: name, Depth: &depth, ItemStyle: &opts.ItemStyle{Color: s.color}})
		return name
	}
	in, out := streams(e)
	for _, s := range in {
		if s.n > 0 {
			links = append(links, opts.SankeyLink{Source: node(s, 0), Target: middle, Value: float32(s.n)})
		}
	}
	if len(links) == 0 {
		return nil
	}
	nodes = append(nodes, opts.SankeyNode{Name: middle, Depth: new(1), ItemStyle: &opts.ItemStyle{Color: r.color()}})
	for _, s := range out {
		if s.n > 0 {
			links = append(links, opts.SankeyLink{Source: middle, Target: node(s, 2), Value: float32(s.n)})
		}
	}
	data := dataTable{Head: []string{"events", r.legend()}}
	all := slices.Concat(in, out)
	last := slices.IndexFunc(all, func(s stream) bool { return s.name == unaccounted })
	for _, s := range append(slices.Delete(slices.Clone(all), last, last+1), all[last]) {
		data.Rows = append(data.Rows, []string{s.name, fmt.Sprint(s.n)})
	}
	sankey := charts.NewSankey()
	sankey.SetGlobalOptions(
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "item"}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(false)}),
		charts.WithAriaOpts(&opts.Aria{Enabled: opts.Bool(true)}),
	)
	sankey.AddSeries("events", nodes, links)
	caption := "What became of the events that the watcher received, by its own counters; acknowledged are those that storage took."
	if cell.Watcher.Restarts > 0 {
		caption += " The watcher was restarted: the counters are those of its last process."
	}
	if e.Retried > 0 {
		caption += fmt.Sprintf(" %s sent again, which are no events of their own.", plural(int(e.Retried), "request"))
	}
	return &chart{ID: id, Title: "Event flow: " + r.legend(), Caption: caption, Unit: "events", Axis: "flow", Option: sankey, Data: data}
}
