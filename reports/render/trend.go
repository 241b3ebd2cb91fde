package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/archive"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/versus"
)

// Bounds that keep the page of hundreds of runs small and quick.
const (
	trendRuns   = 40 // in a chart, the latest
	trendLines  = 6  // in a chart
	trendGroups = 12 // with charts
	trendOpen   = 2  // groups whose charts are drawn at once
	trendApart  = 4  // differences that are named
	trendLeft   = 50 // readings that are in no line
)

// trendFigures are those that have a chart over runs.
var trendFigures = []struct{ metric, title, caption, unit string }{
	{"handler.drainSeconds", "Drain time", "From the first event of the load to the last acknowledgement.", "s"},
	{"storage.qps", "Storage rate", "Requests that storage acknowledged per second.", "requests/s"},
	{"freshness.p99", "Freshness p99", "From a write to its acknowledgement by storage; all repetitions together.", "s"},
	{"watcher.cpuMicrosPerRequest", "CPU per request", "CPU time of the watcher per request to storage.", "µs"},
	{"watcher.rssPeakMiB", "Memory", "Highest resident memory of the watcher during load and drain.", "MiB"},
}

// trendGroup are runs whose figures may stand in one line, the oldest first.
type trendGroup struct {
	ID, Title, About string
	Apart            []string // what sets it apart from the newest group of the scenario
	Charts           []*chart
	Left             []string // readings that are in no line, and why; the first trendLeft
	Lefts            int      // how many there are
	Notes            []string // what is not drawn
	Later            bool     // drawn on request

	runs []*archive.Entry
}

// trends groups the runs by scenario and by what versus calls comparable, the newest group
// first. alone says of runs without a partner what sets them apart.
func trends(all []archive.Entry) (groups []trendGroup, alone []string, err error) {
	lines, newest := map[string]int{}, map[string]*result.Results{} // group of a line; first run of a scenario
	for i := range all {                                            // newest first
		e := &all[i]
		if e.Results == nil {
			continue
		}
		line, err := versus.Line(e.Results)
		if err != nil {
			return nil, nil, err
		}
		at, known := lines[line]
		if line == "" || !known {
			var apart []string
			if first := newest[e.Scenario]; first != nil {
				differences, err := versus.Apart(first, e.Results)
				if err != nil {
					return nil, nil, err
				}
				apart = sentences(differences)
			} else {
				newest[e.Scenario] = e.Results
			}
			at = len(groups)
			lines[line], groups = at, append(groups, trendGroup{Apart: apart})
		}
		groups[at].runs = append(groups[at].runs, e)
	}
	metrics, err := trendMetrics()
	if err != nil {
		return nil, nil, err
	}
	var kept []trendGroup
	for _, g := range groups {
		if len(g.runs) < 2 {
			e := g.runs[0]
			text := fmt.Sprintf("%s (%s): no other run of this scenario is here.", e.Name, orUnknown(e.Scenario))
			if len(g.Apart) > 0 {
				text = fmt.Sprintf("%s (%s) differs from the newest run of its scenario: %s.", e.Name, orUnknown(e.Scenario), strings.Join(g.Apart, "; "))
			}
			alone = append(alone, clean(text))
			continue
		}
		if len(kept) == trendGroups {
			alone = append(alone, clean(fmt.Sprintf("%s: %s, of which the page has no charts: it has those of %d groups.", orUnknown(g.runs[0].Scenario), plural(len(g.runs), "run"), trendGroups)))
			continue
		}
		g.fill(len(kept)+1, metrics)
		kept = append(kept, g)
	}
	return kept, alone, nil
}

func sentences(all []versus.Difference) (texts []string) {
	for i, d := range all {
		if i == trendApart {
			return append(texts, fmt.Sprintf("%d more", len(all)-i))
		}
		texts = append(texts, d.Sentence())
	}
	return texts
}

func trendMetrics() (all []result.Metric, err error) {
	for _, f := range trendFigures {
		m, err := result.MetricByName(f.metric)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.metric, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// trendLine is one point of the matrix over the runs; nil where a run does not have it.
type trendLine struct {
	name, color string
	readings    []*versus.Reading
}

func (g *trendGroup) fill(number int, metrics []result.Metric) {
	newest := g.runs[0]
	g.ID, g.Later = fmt.Sprintf("group%d", number), number > trendOpen
	g.Title = clean(orUnknown(newest.Scenario))
	g.About = fmt.Sprintf("%s of one scenario, control plane and machine.", plural(len(g.runs), "run"))
	if len(g.runs) > trendRuns {
		g.About += fmt.Sprintf(" The charts have the latest %d.", trendRuns)
	}
	if len(g.Apart) > 0 {
		g.Title += " (other settings or machine)"
		g.About += " Not in one line with the newest runs of this scenario, from which they differ:"
	}
	g.Apart = cleanAll(g.Apart)
	shown := slices.Clone(g.runs[:min(len(g.runs), trendRuns)])
	slices.Reverse(shown)
	var lines []*trendLine
	byName := map[string]*trendLine{}
	for i, e := range shown {
		readings := versus.Readings(e.Results, metrics)
		for j := range readings {
			r := &readings[j]
			l := byName[r.Point]
			if l == nil {
				l = &trendLine{name: chartText(pointName(r)), readings: make([]*versus.Reading, len(shown))}
				if l.color = palette[r.Params[result.ParamStrategy]]; l.color == "" || len(r.Params) > 1 {
					l.color = spare[len(lines)%len(spare)]
				}
				byName[r.Point] = l
				lines = append(lines, l)
			}
			l.readings[i] = r
			if r.Why != "" {
				if g.Lefts++; g.Lefts > trendLeft {
					continue
				}
				g.Left = append(g.Left, clean(fmt.Sprintf("%s, %s: %s", e.Name, r.Point, r.Why)))
			}
		}
	}
	for k := range trendFigures {
		known := slices.DeleteFunc(slices.Clone(lines), func(l *trendLine) bool { return !l.knows(k) })
		parts := slices.Collect(slices.Chunk(known, trendLines))
		for n, part := range parts {
			c := trendChart(fmt.Sprintf("%s-%d-%d", g.ID, k+1, n+1), k, shown, part)
			if len(parts) > 1 {
				c.Title += fmt.Sprintf(" (%d of %d)", n+1, len(parts))
			}
			g.Charts = append(g.Charts, c)
		}
	}
}

// knows reports whether any run has the figure.
func (l *trendLine) knows(figure int) bool {
	return slices.ContainsFunc(l.readings, func(r *versus.Reading) bool { return r != nil && r.Sides[figure].Value != nil })
}

// without is why no line of a chart has a value for the i-th run; empty if one has, or if no
// reason is known.
func without(lines []*trendLine, i, figure int) (why string) {
	for _, l := range lines {
		switch r := l.readings[i]; {
		case r == nil:
		case r.Sides[figure].Value != nil:
			return ""
		case why == "":
			why = r.Why
		}
	}
	return why
}

// pointName is what a line is called: load and strategy where the point has no other.
func pointName(r *versus.Reading) string {
	if r.Point == "" {
		return "all"
	}
	return r.Point
}

// trendChart draws one figure over runs: lines of medians with their intervals, and a mark
// where a run is in no line.
func trendChart(id string, figure int, runs []*archive.Entry, lines []*trendLine) *chart {
	f := trendFigures[figure]
	c := &chart{ID: id, Title: f.title, Unit: f.unit, Axis: "plain", Caption: f.caption + " Medians of a run, with their 99 % intervals; a dotted line marks a run that is in no line.", Data: dataTable{Head: []string{"started (UTC)", "folder"}}}
	var labels []string
	marks := []any{}
	for i, e := range runs {
		labels = append(labels, minute(e.Started))
		c.Data.Rows = append(c.Data.Rows, []string{labels[i], clean(e.Name)})
		if why := without(lines, i, figure); why != "" {
			marks = append(marks, map[string]any{"name": chartText(why), "xAxis": i, "lineStyle": map[string]any{"type": "dotted", "width": 1},
				"label": map[string]any{"show": len(runs) <= 12, "formatter": "{b}", "position": "insideEndTop"}})
		}
	}
	plot := charts.NewLine()
	plot.SetGlobalOptions(frame(id, named("category", ""), opts.YAxis{Type: "value", Min: 0})...)
	plot.SetXAxis(labels)
	c.Option = plot
	for _, l := range lines {
		points, bars := make([]any, len(runs)), marks
		marks = nil // those of all lines are drawn with the first
		for i, r := range l.readings {
			points[i] = "-"
			text := unknown
			if r != nil && r.Why != "" {
				text = clean(r.Why)
			} else if r != nil && r.Sides[figure].Value != nil {
				s := r.Sides[figure]
				points[i], text = digits(*s.Value), short(*s.Value)
				if s.Low != nil && s.High != nil {
					text += fmt.Sprintf(" (%s–%s)", short(*s.Low), short(*s.High))
					bars = append(bars, []any{map[string]any{"coord": []any{i, digits(*s.Low)}}, map[string]any{"coord": []any{i, digits(*s.High)}}})
				}
			}
			c.Data.Rows[i] = append(c.Data.Rows[i], text)
		}
		c.Data.Head = append(c.Data.Head, l.name)
		plot.AddSeries(l.name, nil,
			charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(true), ConnectNulls: opts.Bool(true)}),
			charts.WithLineStyleOpts(opts.LineStyle{Width: 2, Color: l.color}), filled(l.color),
			func(s *charts.SingleSeries) {
				s.Data, s.SymbolSize = points, 7
				if len(bars) > 0 {
					s.MarkLines = &opts.MarkLines{Data: bars, MarkLineStyle: opts.MarkLineStyle{
						Symbol: []string{"none", "none"}, Label: &opts.Label{Show: opts.Bool(false)}, LineStyle: &opts.LineStyle{Type: "solid", Width: 1},
					}}
				}
			})
	}
	return c
}
