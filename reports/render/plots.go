package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// curveKind is a measure over time.
type curveKind struct{ series, title, caption, unit string }

var mainCurves = []curveKind{
	{result.SeriesQueueDepth, "Queue depth",
		"Pod events that the API server had answered and storage was owed, by op log and ledger.", "events"},
	{result.SeriesStorageQPS, "Storage rate", "Requests that storage acknowledged per second.", "requests/s"},
	{result.SeriesWatcherCPU, "Watcher CPU", "User and system time of the watcher process.", "cores"},
	{result.SeriesWatcherRSS, "Watcher memory", "Resident memory of the watcher process.", "MiB"},
}

// mostRows bounds the lines in a chart: more would be indistinguishable.
const mostRows = 24

// loadSections are the charts of each load.
func (t *table) loadSections() (all []Section) {
	loads := map[string][]*row{}
	curves := 0
	for _, load := range t.loads() {
		loads[load] = believed(t.under(load))
		for _, r := range loads[load] {
			curves += len(r.representative().Series)
		}
	}
	most := pointsPerLine(curves)
	for i, load := range t.loads() {
		rows := loads[load]
		var notes []string
		if n := len(rows); n > mostRows {
			slices.SortStableFunc(rows, func(a, b *row) int { return boolOrder(b.correct(), a.correct()) })
			rows = rows[:mostRows]
			notes = []string{fmt.Sprintf("The charts show %d of the %d points of this load, those first that may be compared.",
				mostRows, n)}
		}
		main := append(curvePlots(rows, most), freshnessPlot(rows))
		if slices.ContainsFunc(rows, func(r *row) bool { return !r.correct() }) {
			notes = append(notes, "Broken lines belong to points that fail a core check: their speed is not to be compared.")
		}
		all = append(all, Section{ID: fmt.Sprintf("load%d", i+1), Title: "Load " + load, Place: OnPage, Plots: main,
			Notes: notes})
	}
	return all
}

// believed are the rows that a chart may show.
func believed(rows []*row) []*row { return slices.DeleteFunc(slices.Clone(rows), (*row).void) }

// curvePlots draw measures of one load, all strategies in one chart so that they share their axes, with at most so many
// points a line, of the first valid repetition. Load and drain are shaded.
func curvePlots(rows []*row, most int) (all []Plot) {
	for _, k := range mainCurves {
		p := Plot{Title: k.title, Caption: k.caption, Unit: k.unit, X: "seconds from the start of the load"}
		var loads []float64
		drained, end, thinned := 0.0, 0.0, false
		for _, r := range rows {
			cell := r.representative()
			s := cell.Series[k.series]
			l := r.line(curve(s, most))
			if len(l.Points) == 0 {
				continue
			}
			thinned = thinned || len(s.T) > most
			end = max(end, l.Points[len(l.Points)-1][0])
			if p.Lines = append(p.Lines, l); cell.Load.DurationS <= 0 {
				continue
			}
			loads = append(loads, cell.Load.DurationS)
			if d := cell.Handler.DrainAfterLoad; d != nil {
				drained = max(drained, cell.Load.DurationS+*d)
			}
			if cell.Cut {
				drained = math.Inf(1) // the record ends before
			}
		}
		if thinned {
			p.Caption = strings.TrimSpace(fmt.Sprintf("%s At most %d points of a line are drawn, chosen to keep its shape.",
				p.Caption, most))
		}
		if m := median(loads); m != nil && end > 0 {
			p.Bands = append(p.Bands, Band{"load", "#8fb0ea", 0, min(*m, end)})
			if until := min(drained, end); until > *m {
				p.Bands = append(p.Bands, Band{"drain", "#c7d7f5", *m, until})
			}
		}
		if len(p.Lines) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// line is the row's line in a chart, with its flaw.
func (r *row) line(points [][2]float64) PlotLine {
	name := r.label()
	switch r.state() {
	case stateFailed, stateAllowed:
		name += " (fails " + strings.Join(r.failing(), " ") + ")"
	case stateCut:
		name += " (cut)"
	}
	return PlotLine{Name: name, Points: points, Color: r.color(), Model: !r.correct(), Smooth: true}
}

// freshnessPlot draws the whole distribution where the histograms are there.
func freshnessPlot(rows []*row) Plot {
	p := Plot{Title: "Freshness distribution", Unit: "s", X: "percentile", Percent: true,
		Caption: "How many per cent of the operations storage had acknowledged within how many seconds, all repetitions " +
			"together.",
		Data: Table{Keys: 1, Heads: []Head{{Title: "percentile"}}}}
	percentiles := []float64{0, 25, 50, 75, 90, 95, 99, 99.5, 99.9}
	for _, q := range percentiles {
		p.Data.Rows = append(p.Data.Rows, Cells(exact(q)))
	}
	for _, r := range believed(rows) {
		h := r.histogram(freshnessOf)
		if h == nil {
			continue
		}
		seconds := func(q float64) float64 { return float64(h.ValueAtPercentile(q)) / microsPerSecond }
		l := r.line(nil)
		// 60 steps over three decades of 1/(1-q): 0 % to 99.9 %.
		const steps = 60
		for s := range steps + 1 {
			x := math.Pow(10, 3*float64(s)/steps)
			l.Points = append(l.Points, [2]float64{x, seconds(100 * (1 - 1/x))})
		}
		p.Data.Heads = append(p.Data.Heads, Head{Title: l.Name})
		for j, q := range percentiles {
			p.Data.Rows[j] = append(p.Data.Rows[j], Cell{Text: short(seconds(q))})
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// boolOrder puts false before true.
func boolOrder(a, b bool) int {
	if a == b {
		return 0
	}
	if b {
		return -1
	}
	return 1
}
