package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/watchbench/watchbench/reports/result"
)

// Freshness against load: rows whose load is a part of what the strategy carries, beside
// the calibrations that measured it.

// calibrates reports whether the row measured a capacity, or was to.
func (r *row) calibrates() bool { return slices.ContainsFunc(r.cells, calibrates) }

func calibrates(c *result.Cell) bool {
	return c.Calibrates || c.Capacity != nil && c.Capacity.Cell == c.ID
}

// share is the part of the capacity that the row's load is, nil for other rows.
func (r *row) share() *float64 { return r.cells[0].Load.OfCapacity }

// shared reports whether a load is another one for every strategy, by their capacities,
// so that drain times are not to be compared.
func (t *table) shared(load string) bool {
	return slices.ContainsFunc(t.under(load), func(r *row) bool { return r.share() != nil || r.calibrates() })
}

// atLeast reports whether the row's capacity is a lower bound in any repetition.
func (r *row) atLeast() bool {
	return slices.ContainsFunc(r.valid, func(c *result.Cell) bool { return c.Capacity != nil && c.Capacity.AtLeast })
}

// overloaded reports whether the row's load is at or above what the strategy carries: its
// freshness then grows for as long as the load lasts.
func (r *row) overloaded() bool { return r.share() != nil && *r.share() >= 1 && !r.atLeast() }

var (
	offered       = medianOf(func(c *result.Cell) *float64 { return c.Load.OfferedQPS })
	planned       = medianOf(func(c *result.Cell) *float64 { return c.Load.PlannedQPS })
	achieved      = medianOf(func(c *result.Cell) *float64 { return ifSome(c.Load.QPS, c.Load.DurationS > 0) })
	loadSeconds   = medianOf(func(c *result.Cell) *float64 { return ifSome(c.Load.DurationS, c.Load.DurationS > 0) })
	capacity      = capacityOf(func(c *result.Capacity) float64 { return c.QPS })
	writtenBeside = capacityOf(func(c *result.Capacity) float64 { return c.WrittenQPS })
)

func capacityOf(field func(*result.Capacity) float64) func(*row) reading {
	return func(r *row) reading {
		v := medianOf(func(c *result.Cell) *float64 {
			if c.Capacity == nil {
				return nil
			}
			return new(field(c.Capacity))
		})(r)
		v.atLeast = v.number != nil && r.atLeast()
		return v
	}
}

// fewForP99 is how many operations a 99th percentile needs to be more than the slowest.
const fewForP99 = 100

// kneeNote says how to read a row's freshness.
func (r *row) kneeNote() string {
	if len(r.valid) == 0 {
		return "invalid: " + clean(strings.Join(r.cells[0].InvalidReasons, "; "))
	}
	var notes []string
	switch s := loadSeconds(r).number; {
	case r.overloaded() && s != nil:
		notes = append(notes, fmt.Sprintf("no steady figure: grows with time, this is after %s s", short(*s)))
	case r.atLeast():
		notes = append(notes, "part of a lower bound: the strategy may carry more")
	}
	if n := r.counted(); n > 0 && n < fewForP99 {
		notes = append(notes, fmt.Sprintf("p99 of %d is about the slowest", n))
	}
	if r.cut() {
		notes = append(notes, "cut: covers only what was acknowledged")
	}
	if f := r.failing(); len(f) > 0 {
		notes = append(notes, "fails "+clean(strings.Join(f, " ")))
	}
	return strings.Join(notes, "; ")
}

// counted is how many operations the row's freshness is of.
func (r *row) counted() (n int64) {
	for _, c := range r.valid {
		if c.Freshness != nil {
			n += c.Freshness.Count
		}
	}
	return n
}

// knees are the rows of the freshness against load, by load, strategy and part.
func (t *table) knees() []*row {
	return slices.DeleteFunc(slices.Clone(t.rows), func(r *row) bool { return r.share() == nil })
}

// Knees is the table of freshness against load; without rows if no load is a part of a
// capacity.
func (t *table) Knees() (s sheet) {
	rows := t.knees()
	if len(rows) == 0 {
		return s
	}
	s.Keys, s.Heads = 3, append(words(t.who(), "load", "of capacity"),
		heading{Title: "offered", Unit: "writes/s"}, heading{Title: "planned", Unit: "writes/s"}, heading{Title: "achieved", Unit: "writes/s"}, heading{Title: "operations"},
		heading{Title: "freshness p50", Unit: "s"}, heading{Title: "freshness p99", Unit: "s"}, heading{Title: "how to read it", Left: true})
	for i, r := range rows {
		l := sheetRow{First: i > 0 && (r.load != rows[i-1].load || r.strategy != rows[i-1].strategy), State: r.state(), Color: strategyColor(r)}
		l.add(clean(r.strategy), clean(r.load), percent(*r.share()),
			fixed(offered(r).number, 1), fixed(planned(r).number, 1), fixed(achieved(r).number, 1), fmt.Sprint(r.counted()),
			freshnessP99.text(freshnessQuantiles[0].measure(r)), freshnessP99.text(freshnessP99.measure(r)), r.kneeNote())
		s.Rows = append(s.Rows, l)
	}
	return s
}

// Capacities is the table of what the strategies carry; without rows if no cell measured
// it.
func (t *table) Capacities() (s sheet) {
	for _, r := range t.rows {
		if !r.calibrates() {
			continue
		}
		l := sheetRow{State: r.state(), Color: strategyColor(r)}
		text := (&column{decimals: 1}).text
		bound := "the strategy"
		if r.atLeast() {
			bound = fmt.Sprintf("the API server: storage kept up with all that was written, so it is at least %s/s", fixed(capacity(r).number, 1))
		}
		if len(r.valid) == 0 {
			bound = r.kneeNote()
		}
		requests := medianOf(func(c *result.Cell) *float64 { return c.Storage.QPS })(r)
		l.add(clean(r.strategy), text(capacity(r)), text(requests), fixed(writtenBeside(r).number, 1), bound)
		s.Rows = append(s.Rows, l)
	}
	if len(s.Rows) > 0 {
		s.Keys, s.Heads = 1, append(words(t.who()), heading{Title: "capacity", Unit: "writes/s"}, heading{Title: "storage", Unit: "requests/s"},
			heading{Title: "written", Unit: "writes/s"}, heading{Title: "limited by", Left: true})
	}
	return s
}

// strategyColor is the strategy's, whatever part of its capacity the row is.
func strategyColor(r *row) string {
	if c, ok := palette[r.strategy]; ok {
		return c
	}
	return r.color()
}

// curveName is the row's watcher, whatever part of its capacity the load is.
func (t *table) curveName(r *row) string {
	words := []string{r.strategy}
	for i, axis := range t.extra {
		if axis != "load.ofCapacity" {
			words = append(words, r.extra[i])
		}
	}
	return strings.Join(words, " ")
}

// lineTypes tell the loads of a strategy apart.
var lineTypes = []string{"solid", "dotted", "dashed"}

// Knee is the chart of freshness against load: one line per strategy and load, hollow
// points where there is no steady figure. nil if no load is a part of a capacity.
func (t *table) Knee() *chart {
	line := charts.NewLine()
	x := named("log", "offered writes/s, as planned")
	line.SetGlobalOptions(frame("knee-chart", x, opts.YAxis{Type: "log"})...)
	data := dataTable{Head: []string{"strategy and load", "of capacity", "planned writes/s", "freshness p50 s", "freshness p99 s", "how to read it"}}
	for i, load := range t.loads() {
		var names []string
		points := map[string][]opts.LineData{}
		style := map[string]*row{}
		for _, r := range believed(t.under(load)) {
			at, fresh := planned(r).number, freshnessP99.measure(r).number
			if r.share() == nil || at == nil || fresh == nil || *at <= 0 || *fresh <= 0 {
				continue
			}
			name := chartText(t.curveName(r) + " " + load)
			if points[name] == nil {
				names, style[name] = append(names, name), r
			}
			p := opts.LineData{Value: []float64{*at, *fresh}, Symbol: "circle", SymbolSize: 9}
			if r.overloaded() {
				p.Symbol, p.SymbolSize = "emptyCircle", 12
			}
			points[name] = append(points[name], p)
			data.Rows = append(data.Rows, []string{name, percent(*r.share()), short(*at),
				freshnessP99.text(freshnessQuantiles[0].measure(r)), freshnessP99.text(freshnessP99.measure(r)), r.kneeNote()})
		}
		for j, name := range names {
			color := strategyColor(style[name])
			if t.curveName(style[name]) != style[name].strategy { // more than a strategy has a colour for
				color = spare[j%len(spare)]
			}
			line.AddSeries(name, points[name],
				charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(true)}),
				charts.WithLineStyleOpts(opts.LineStyle{Width: 2, Type: lineTypes[i%len(lineTypes)], Color: color}), filled(color))
		}
	}
	if len(data.Rows) == 0 {
		return nil
	}
	var types []string
	for i, load := range t.loads() {
		if slices.ContainsFunc(t.under(load), func(r *row) bool { return r.share() != nil }) {
			types = append(types, clean(load)+" "+lineTypes[i%len(lineTypes)])
		}
	}
	return &chart{
		ID: "knee-chart", Title: "Freshness p99 against offered load", Unit: "s", Axis: "rate", Option: line, Data: data,
		Caption: "Find your rate at the bottom; the lowest line above it is the freshest strategy, one that ends to the left of it does not carry the rate, and one that begins to the right of it is at least as fresh there as at its first point. " +
			"Hollow points are at or above the measured capacity: no steady figure, freshness grows for as long as the load lasts, and the point is what it came to in this one. Lines: " + join(types) + ". Both axes are logarithmic.",
	}
}

// csvCapacity are the columns of throughput.csv for loads that are parts of a capacity.
func (t *table) csvCapacity() []csvField {
	if len(t.knees()) == 0 {
		return nil
	}
	return []csvField{
		csvNumber("of_capacity", func(r *row) reading { return reading{number: r.share()} }),
		csvNumber("capacity_writes_per_s", capacity),
		{"capacity_at_least", func(r *row) string { return fmt.Sprint(r.atLeast()) }},
		csvNumber("offered_writes_per_s", offered),
		csvNumber("planned_writes_per_s", planned),
		{"freshness_operations", func(r *row) string { return fmt.Sprint(r.counted()) }},
		{"freshness_grows", func(r *row) string { return fmt.Sprint(r.overloaded()) }},
	}
}
