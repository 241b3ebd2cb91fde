package live

import (
	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
)

// chart is one chart of the page. The page fills in the data.
type chart struct {
	ID      string         `json:"id"`
	Title   string         `json:"-"`
	Caption string         `json:"-"`
	Unit    string         `json:"unit"`
	Series  []line         `json:"series,omitempty"`
	Option  map[string]any `json:"option"`
}

// line is one line of a chart.
type line struct {
	Name  string  `json:"name"`
	Path  string  `json:"path"`  // of the figure in a frame
	Scale float64 `json:"scale"` // from the frame's unit to the chart's
	color string
}

// Colours on a light ground, and their counterparts on a dark one.
const (
	blue, orange, green, red, violet, grey = "#2563eb", "#c2410c", "#0f8a5f", "#be185d", "#7c3aed", "#64748b"
)

var (
	darkPalette = map[string]string{
		blue: "#6ea3ff", orange: "#fb8a5c", green: "#3fc996", red: "#f472b0", violet: "#b795ff", grey: "#94a3b8",
	}
)

const (
	mib    = 1.0 / (1 << 20)
	kib    = 1.0 / (1 << 10)
	millis = 1000.0
)

// layout lists the charts in their order; docs/dashboard.md explains each.
func layout() []*chart {
	return []*chart{
		lines("rates", "Events", "Events per second: received from the API server, taken by storage, merged with a later "+
			"one, lost.", "events/s",
			line{"received", "received", 1, blue}, line{"sent", "sent", 1, green}, line{"coalesced", "coalesced", 1, violet},
			line{"dropped", "dropped", 1, red}),
		lines("depth", "Queue depth", "Events that wait in the Writer queue and in all handler queues together.", "events",
			line{"Writer", "writer", 1, orange}, line{"handlers", "handlers", 1, blue}),
		lines("inflight", "Requests in flight", "Requests that storage is answering.", "requests",
			line{"in flight", "inFlight", 1, blue}),
		lines("latency", "Storage latency", "From the request to the answer of writes, retries within a call included.", "ms",
			line{"p50", "latency.p50", millis, green}, line{"p90", "latency.p90", millis, blue},
			line{"p99", "latency.p99", millis, orange}),
		lines("freshness", "Freshness",
			"From the receipt of a change until storage has it, and the age of the oldest change that it lacks.", "s",
			line{"p50", "freshness.p50", 1, green}, line{"p99", "freshness.p99", 1, orange},
			line{"oldest unsent", "oldest", 1, red}),
		lines("cpu", "CPU", "CPU time of the watcher.", "cores", line{"CPU", "cpu", 1, blue}),
		lines("memory", "Memory", "Resident memory of the watcher.", "MiB", line{"memory", "memory", mib, violet}),
		lines("network", "Network", "Bytes on the watcher's own sockets.", "KiB/s",
			line{"in", "netIn", kib, blue}, line{"out", "netOut", kib, orange}),
	}
}

func lines(id, title, caption, unit string, all ...line) *chart {
	c := charts.NewLine()
	c.SetGlobalOptions(append(frame(id), charts.WithXAxisOpts(opts.XAxis{Type: "time", SplitNumber: 4,
		AxisLabel: &opts.AxisLabel{HideOverlap: opts.Bool(true)}}),
		charts.WithYAxisOpts(opts.YAxis{Type: "value", Min: 0}),
		charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: "axis"}),
		charts.WithLegendOpts(opts.Legend{Show: opts.Bool(true), Top: "0", Left: "0", Icon: "roundRect", ItemWidth: 14,
			ItemHeight: 4}))...)
	for _, l := range all {
		c.AddSeries(l.Name, []opts.LineData{},
			charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false)}),
			charts.WithLineStyleOpts(opts.LineStyle{Width: 1.5, Color: l.color}),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: l.color}))
	}
	return &chart{ID: id, Title: title, Caption: caption, Unit: unit, Series: all, Option: option(c)}
}

// frame holds the options common to all charts.
func frame(id string) []charts.GlobalOpts {
	return []charts.GlobalOpts{
		charts.WithInitializationOpts(opts.Initialization{ChartID: id}),
		charts.WithAnimation(false),
		charts.WithGridOpts(opts.Grid{Left: "8", Right: "16", Top: "34", Bottom: "8", ContainLabel: opts.Bool(true)}),
		charts.WithAriaOpts(&opts.Aria{Enabled: opts.Bool(true)}),
	}
}

// option is an ECharts option object. go-echarts' own renderers are not used: they write scripts
// into the page, which its policy forbids.
func option(c interface {
	Validate()
	JSON() map[string]any
}) map[string]any {
	c.Validate()
	m := c.JSON()
	m["animation"] = false
	for _, unused := range []string{"toolbox", "title", "color"} {
		delete(m, unused)
	}
	return m
}

// setup is the data passed to the page's script.
type setup struct {
	Charts  []*chart          `json:"charts"`
	Dark    map[string]string `json:"dark"`
	History int               `json:"history"`
}

func newSetup() setup { return setup{Charts: layout(), Dark: darkPalette, History: History} }
