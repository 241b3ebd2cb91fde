package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/result"
)

// A matrix has some 60 timelines in one file, so they hold less than a run's charts do.
const (
	timelinePoints  = 180 // of a line
	timelineMarks   = 30  // in a chart
	timelineMoments = 40  // in the table
	timelineLines   = 12  // of a chart's data
)

// timeline is one cell of the fault matrix over time.
type timeline struct {
	ID, Name, What string
	Report         string // address of the run's page
	Gone           string // why there are no curves, or why they prove nothing
	Charts         []*chart
	Moments        sheet
	Verdicts       sheet
	Examples       []timelineExample
	Facts          sheet
	Notes          []string
}

type timelineExample struct {
	Title, Text string
	Allowed     bool
}

func newTimeline(id string, e *result.MatrixEntry, saved SavedCell) *timeline {
	failed, invalid := e.Verdict()
	t := &timeline{ID: id, Name: clean(strings.TrimSpace(e.Row + " " + scenarioName(e))), What: clean(cmp.Or(e.Title, rowTitle(e.Row))), Report: saved.Report}
	t.What = strings.TrimSuffix(t.What, ".") + ": " + matrixState(e).Text
	if len(failed) > 0 {
		t.What += " (" + clean(strings.Join(failed, ", ")) + ")"
	}
	t.What += "."
	t.Facts = factSheet(e.Facts)
	for _, f := range slices.Sorted(maps.Keys(e.Fired)) {
		n := e.Fired[f]
		text := fmt.Sprintf("The fault %s happened %s", f, oftenness(n))
		if k, ok := e.Keys[f]; ok && k > 0 {
			text += " and hit " + plural(int(k), "object")
		}
		t.Notes = append(t.Notes, clean(text+"."))
	}
	if e.First != "" {
		t.Notes = append(t.Notes, clean("This is the second try. The first: "+e.First+"."))
	}
	if saved.Cell == nil {
		t.Gone = clean(cmp.Or(saved.Why, "The cell was not saved."))
		return t
	}
	if invalid != "" {
		t.Gone = clean("This cell proves nothing, and its curves are no measurements: " + invalid)
	}
	c := saved.Cell
	var moments []result.Moment
	if c.Robustness != nil {
		moments = c.Robustness.Moments
	}
	if len(moments) == 0 {
		t.Notes = append(t.Notes, "The record does not say when faults began and ended.")
	}
	t.Moments = momentSheet(moments)
	t.Verdicts, t.Examples = verdictSheet(c)
	t.Charts = drawn([]*chart{
		timelineChart(id+"-rates", "Load and storage rate", "Writes that the apiserver acknowledged, and requests that storage acknowledged, per second.", c, invalid != "", moments,
			timelineCurve{result.SeriesLoadQPS, "load", "#2563eb"}, timelineCurve{result.SeriesStorageQPS, "storage", "#0f8a5f"}),
		timelineChart(id+"-depth", "Queue depth", "Pod events accepted by the watcher and not yet acknowledged by storage.", c, invalid != "", moments,
			timelineCurve{result.SeriesQueueDepth, "queued", "#7c3aed"}),
		timelineChart(id+"-rss", "Watcher memory", "Resident memory of the watcher process.", c, invalid != "", moments,
			timelineCurve{result.SeriesWatcherRSS, "RSS", "#b7791f"}),
	})
	return t
}

func oftenness(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// momentNames are those of the runner's marks in words; faults are named as the scenario
// does.
var momentNames = map[string]string{
	"started": "watcher started", "ready": "watcher ready", "sigterm": "SIGTERM to the watcher", "sigkill": "SIGKILL to the watcher",
	"sigstop": "SIGSTOP to the watcher", "sigcont": "SIGCONT to the watcher", "exited": "watcher exited", "converged": "storage caught up", "diverged": "storage did not catch up",
	"resized": "queues resized", "tamper-remove": "rows removed from storage", "tamper-edit": "rows edited in storage", "tamper-add": "rows added to storage",
	"storage-killed": "storage killed", "storage-back": "storage back", "token-replaced": "token replaced", "token-refused": "former token refused",
	"unserved": "kind no longer served", "served": "kind served again",
}

func momentSheet(all []result.Moment) sheet {
	s := sheet{Keys: 1, Heads: []heading{{Title: "no.", Left: true}, {Title: "from", Unit: "s"}, {Title: "until", Unit: "s"}, {Title: "what", Left: true}}}
	for i, m := range all {
		if i == timelineMoments {
			var r sheetRow
			r.add("…", "", "", fmt.Sprintf("%d more in %s", len(all)-i, result.FileName))
			s.Rows = append(s.Rows, r)
			break
		}
		what := clean(cmp.Or(momentNames[m.What], m.What))
		if m.Count > 1 {
			what += fmt.Sprintf(" (%d)", m.Count)
		}
		if m.Note != "" {
			what += ": " + clean(m.Note)
		}
		until := ""
		if m.Until != nil {
			until = fixed(m.Until, 2)
		}
		var r sheetRow
		r.add(fmt.Sprint(i+1), fixed(&m.T, 2), until, what)
		s.Rows = append(s.Rows, r)
	}
	return s
}

// verdictSheet lists the checks of a cell that were judged, and the counterexamples.
func verdictSheet(c *result.Cell) (s sheet, examples []timelineExample) {
	s = sheet{Keys: 1, Heads: words("guarantee", "verdict", "detail", "asks")}
	for _, g := range slices.SortedFunc(maps.Keys(c.Checks), compareNatural) {
		x := c.Checks[g]
		if x.Verdict == result.NotApply || x.Verdict == result.NotJudged && !core(g) {
			continue
		}
		v := verdictCell(x)
		if x.Verdict == result.Pass && !c.Valid {
			v = cell{Word: "proves nothing", Detail: "the cell is invalid", tone: warn}
		}
		s.Rows = append(s.Rows, sheetRow{Cells: []cell{{Text: checkTitle(g)}, {Text: v.Word, tone: v.tone}, {Text: v.Detail}, {Text: guarantees[g].meaning}}})
		if x.Verdict == result.Fail || x.Verdict == result.Allowed {
			examples = append(examples, timelineExample{
				Title: checkTitle(g) + ": " + clean(violations(x)), Text: cmp.Or(counterexamples(x, shownExamples), "The record holds no counterexample."), Allowed: x.Verdict == result.Allowed,
			})
		}
	}
	return s, examples
}

// factSheet lists what the columns are judged by, with the most or the least that is allowed.
func factSheet(all []result.Fact) sheet {
	s := sheet{Keys: 1, Heads: append(words("fact"), heading{Title: "value"}, heading{Title: "at least"}, heading{Title: "at most"}, heading{Title: "column", Left: true}, heading{Title: "holds", Left: true}, heading{Title: "detail", Left: true})}
	bound := func(v *float64) string {
		if v == nil {
			return ""
		}
		return Brief(*v)
	}
	for _, f := range all {
		value := strings.TrimSpace(Brief(f.Value) + " " + clean(f.Unit))
		holds := cell{Text: "yes", tone: good}
		switch {
		case f.Missing:
			value, holds = unknown, cell{Text: "not known", tone: warn}
		case !f.OK:
			holds = cell{Text: "NO", tone: bad}
		case f.Limit == nil && f.Least == nil:
			holds = cell{Text: "only measured", tone: faint}
		}
		s.Rows = append(s.Rows, sheetRow{Cells: []cell{{Text: clean(f.Name)}, {Text: value}, {Text: bound(f.Least)}, {Text: bound(f.Limit)}, {Text: clean(f.Column)}, holds, {Text: clean(f.Detail)}}})
	}
	return s
}

// timelineCurve is one curve of a timeline.
type timelineCurve struct{ series, name, color string }

// timelineChart draws curves with what was done meanwhile; nil if the cell has none of them.
func timelineChart(id, title, caption string, c *result.Cell, invalid bool, moments []result.Moment, lines ...timelineCurve) *chart {
	chartLine := charts.NewLine()
	x := named("value", "seconds from the start of the load")
	x.Min, x.Max = "dataMin", "dataMax"
	chartLine.SetGlobalOptions(frame(id, x, opts.YAxis{Type: "value", Min: 0})...)
	out := &chart{ID: id, Title: title, Caption: caption, Option: chartLine, Data: dataTable{Head: []string{"s"}}}
	if len(moments) > 0 {
		out.Caption += " The numbers are those of the table below."
	}
	dash := "solid"
	if invalid {
		dash, out.Title = "dashed", title+" (invalid)"
	}
	var shown []result.Series
	for _, l := range lines {
		s := c.Series[l.series]
		var points []any // pairs: opts.LineData would double the file
		for i, piece := range curve(s, timelinePoints) {
			if i > 0 {
				points = append(points, []any{digits(piece[0].x), "-"})
			}
			for _, p := range piece {
				points = append(points, [2]float64{digits(p.x), digits(p.y)})
			}
		}
		if len(points) == 0 {
			continue
		}
		series := []charts.SeriesOpts{
			charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false)}),
			charts.WithLineStyleOpts(opts.LineStyle{Width: 2, Type: dash, Color: l.color}), filled(l.color),
		}
		if len(shown) == 0 {
			series = append(series, marked(moments)...)
		}
		series = append(series, func(s *charts.SingleSeries) { s.Data = points })
		chartLine.AddSeries(l.name, nil, series...)
		out.Data.Head = append(out.Data.Head, l.name)
		out.Unit = clean(s.Unit)
		shown = append(shown, s)
	}
	if len(shown) == 0 {
		return nil
	}
	from, to := max(shown[0].T[0], -beforeLoad), shown[0].T[len(shown[0].T)-1]
	for i := range timelineLines + 1 {
		x := from + (to-from)*float64(i)/timelineLines
		row := []string{fixed(&x, 1)}
		for _, s := range shown {
			row = append(row, shortOf(at(s, x)))
		}
		out.Data.Rows = append(out.Data.Rows, row)
	}
	return out
}

// marked are the first moments in a chart, under their numbers in the table: a band for what
// takes time, a line for the rest.
func marked(moments []result.Moment) []charts.SeriesOpts {
	var bands [][2]opts.MarkAreaNameXAxisItem
	var lines []opts.MarkLineNameXAxisItem
	for i, m := range moments[:min(len(moments), timelineMarks)] {
		name := fmt.Sprint(i + 1)
		if m.T < -beforeLoad || !finiteNumber(m.T) {
			continue
		}
		if m.Until != nil && *m.Until > m.T && finiteNumber(*m.Until) {
			bands = append(bands, [2]opts.MarkAreaNameXAxisItem{{Name: name, XAxis: m.T}, {XAxis: *m.Until}})
			continue
		}
		lines = append(lines, opts.MarkLineNameXAxisItem{Name: name, XAxis: m.T})
	}
	var all []charts.SeriesOpts
	if len(lines) > 0 {
		all = append(all, charts.WithMarkLineNameXAxisItemOpts(lines...), dotted("{b}", "end"))
	}
	if len(bands) > 0 {
		all = append(all, func(s *charts.SingleSeries) {
			s.MarkAreas = &opts.MarkAreas{MarkAreaStyle: opts.MarkAreaStyle{
				ItemStyle: &opts.ItemStyle{Color: "#b7791f", Opacity: opts.Float(0.16)}, Label: &opts.Label{Show: opts.Bool(true), Position: "insideTop", Color: "#64748b"},
			}}
			for _, b := range bands {
				s.MarkAreas.Data = append(s.MarkAreas.Data, b)
			}
		})
	}
	return all
}
