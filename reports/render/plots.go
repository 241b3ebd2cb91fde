package render

import (
	"cmp"
	"fmt"
	"maps"
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

// moreCurves are drawn on request.
var moreCurves = []curveKind{
	{result.SeriesLoadQPS, "Load", "Writes that the apiserver acknowledged per second.", "requests/s"},
	{result.SeriesWriterDepth, "Writer queue", "Events of all kinds in the Writer queue.", "events"},
	{result.SeriesHandlerDepth, "Pod handler queues", "Events in the Pod handler queues together.", "events"},
	{result.SeriesStorageInFlight, "Requests in flight", "Requests that storage was answering.", "requests"},
	{result.SeriesWatcherNet, "Watcher network", "Bytes that the watcher read and wrote.", "KiB/s"},
}

// mostRows bounds the lines in a chart: more would be indistinguishable.
const mostRows = 24

// loadSections are the charts of each load, the further ones in a section of their own.
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
			compared := func(r *row) bool { return r.correct() }
			other := func(r *row) bool { return !r.correct() }
			rows = slices.Concat(slices.DeleteFunc(slices.Clone(rows), other), slices.DeleteFunc(slices.Clone(rows),
				compared))[:mostRows]
			notes = []string{fmt.Sprintf("The charts show %d of the %d points of this load, those first that may be compared.",
				mostRows, n)}
		}
		main := append(curvePlots(rows, mainCurves, most), freshnessPlot(rows), skewPlot(rows), partyPlot(rows))
		if slices.ContainsFunc(rows, func(r *row) bool { return !r.correct() }) {
			notes = append(notes, "Broken lines belong to points that fail a core check: their speed is not to be compared.")
		}
		id := fmt.Sprintf("load%d", i+1)
		all = append(all,
			Section{ID: id, Title: "Load " + load, Place: OnPage, Plots: main, Notes: notes},
			Section{ID: id + "-more", Title: "More of load " + load, Place: OnPage, Closed: true, Plots: curvePlots(rows, moreCurves, most)})
	}
	return all
}

// believed are the rows that a chart may show.
func believed(rows []*row) []*row { return slices.DeleteFunc(slices.Clone(rows), (*row).void) }

// curvePlots draw measures of one load, all strategies in one chart so that they share their axes, with at most so many
// points a line, of the first valid repetition. Load and drain are shaded.
func curvePlots(rows []*row, kinds []curveKind, most int) (all []Plot) {
	for _, k := range kinds {
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
		Caption: "How many per cent of the operations storage had acknowledged within how many seconds, all repetitions together.",
		Data:    Table{Keys: 1, Heads: []Head{{Title: "percentile"}}}}
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

// partyPlot shows whose work filled the machine.
func partyPlot(rows []*row) Plot {
	p := Plot{Title: "Who used the machine", Unit: "CPU s", X: "strategy", Bars: true, Stacked: true,
		Caption: "CPU seconds of each process over load and drain."}
	parties := map[string]bool{}
	rows = slices.DeleteFunc(believed(rows), func(r *row) bool { return len(r.representative().Parties) == 0 })
	for _, r := range rows {
		p.Categories = append(p.Categories, r.line(nil).Name)
		for name := range r.representative().Parties {
			parties[name] = true
		}
	}
	colors := []string{"#2563eb", "#b7791f", "#0f8a5f", "#64748b", "#be185d", "#7c3aed", "#0e7490", "#c2410c"}
	for i, name := range slices.Sorted(maps.Keys(parties)) {
		l := PlotLine{Name: name, Color: colors[i%len(colors)]}
		for j, r := range rows {
			y := math.NaN()
			if v := r.representative().Parties[name].CPUSeconds; v != nil {
				y = *v
			}
			l.Points = append(l.Points, [2]float64{float64(j), y})
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// skewPlot shows how unevenly the queues of a partitioned strategy were used, the
// busiest first, each against the mean.
func skewPlot(rows []*row) Plot {
	p := Plot{Title: "Queue skew", Unit: "× mean", X: "Pod queues, busiest first", Bars: true,
		Caption: "Events handled per Pod queue against the mean. The busiest queue decides when a fixed assignment is done."}
	for _, r := range believed(rows) {
		handled := slices.Sorted(maps.Values(r.representative().Queues))
		slices.Reverse(handled)
		total := 0.0
		for _, n := range handled {
			total += n
		}
		if len(handled) < 2 || total <= 0 {
			continue
		}
		l := r.line(nil)
		for i, n := range handled[:min(len(handled), maxPoints)] {
			if i >= len(p.Categories) {
				p.Categories = append(p.Categories, fmt.Sprint(i+1))
			}
			l.Points = append(l.Points, [2]float64{float64(i), n * float64(len(handled)) / total})
		}
		p.Lines = append(p.Lines, l)
	}
	return p
}

// overLoad is freshness against load where open loads have several rates: one
// line per strategy, hollow points where storage fell behind.
func (t *table) overLoad() Section {
	rows := slices.DeleteFunc(believed(t.rows), func(r *row) bool { return !r.isOpen() })
	p := Plot{Title: "Freshness p99 against load", Unit: "s", X: "planned writes/s", Log: true,
		Caption: "Hollow points: storage fell behind, so the figure grows for as long as the load lasts. Both axes are logarithmic."}
	// A profile's plan is of pods, so that the rate of its writes is known by what was written.
	rate := planned
	if slices.ContainsFunc(rows, func(r *row) bool { return planned(r).number == nil }) {
		rate, p.X = achieved, "writes/s that the API server acknowledged"
	}
	rates := map[float64]bool{}
	lines := map[string]*PlotLine{}
	slices.SortStableFunc(rows, func(a, b *row) int { return compareKnown(rate(a).number, rate(b).number) })
	for _, r := range rows {
		x, y := rate(r).number, freshnessP99.measure(r).number
		if x == nil || y == nil || *x <= 0 || *y <= 0 {
			continue
		}
		name := t.overLoadName(r)
		if lines[name] == nil {
			lines[name] = &PlotLine{Name: name}
		}
		_, of := r.Pace()
		lines[name].Points = append(lines[name].Points, [2]float64{*x, *y})
		lines[name].Hollow = append(lines[name].Hollow, of > 0 && !r.KeepsUp())
		rates[*x] = true
	}
	if len(rates) < 2 {
		return Section{}
	}
	for i, name := range slices.Sorted(maps.Keys(lines)) {
		if palette[name] == "" {
			lines[name].Color = spare[i%len(spare)]
		}
		p.Lines = append(p.Lines, *lines[name])
	}
	return Section{ID: "over-load", Title: "Freshness against load", Place: OnPage, Plots: []Plot{p}}
}

func compareKnown(a, b *float64) int {
	if a == nil || b == nil {
		return 0
	}
	return cmp.Compare(*a, *b)
}

// overLoadName names the line of rows that differ in their rate alone. A profile writes
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
