package render

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/reports/versus"
)

// comparison is the comparison of several runs, arranged for reading.
type comparison struct{ *versus.Comparison }

// ComparisonFormat is a way to render a comparison into a file.
type ComparisonFormat struct {
	Name  string // as the user types it
	File  string
	Write func(io.Writer, *versus.Comparison) error
}

// ComparisonFormats lists the file formats. The terminal is not among them: see
// CompareTerminal.
func ComparisonFormats() []ComparisonFormat {
	return []ComparisonFormat{
		{"html", "compare.html", CompareHTML},
		{"md", "compare.md", CompareMarkdown},
		{"csv", "compare.csv", CompareCSV},
		{"json", "compare.json", CompareJSON},
	}
}

// CompareJSON writes the comparison as it is.
func CompareJSON(w io.Writer, c *versus.Comparison) error {
	return result.EncodeJSON(w, c)
}

// CompareCSV writes a line per point, metric and run.
func CompareCSV(w io.Writer, c *versus.Comparison) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"point", "metric", "unit", "run", "label", "n", "value", "low", "high", "ratio", "ratio_low", "ratio_high", "verdict", "why"}}
	full := func(v *float64) string {
		if v == nil {
			return ""
		}
		return exact(*v)
	}
	for _, f := range c.Figures {
		for i, s := range f.Sides {
			lines = append(lines, []string{
				csvText(f.Point), f.Metric, f.Unit, c.Runs[i].Name, csvText(c.Runs[i].Label), strconv.Itoa(s.N),
				full(s.Value), full(s.Low), full(s.High), full(s.Ratio), full(s.RatioLow), full(s.RatioHigh), string(s.Verdict), csvText(s.Why),
			})
		}
	}
	return out.WriteAll(lines)
}

// Title names what is compared.
func (c comparison) Title() string {
	var names []string
	for _, r := range c.Runs {
		names = append(names, clean(r.Label))
	}
	return "compare " + join(names)
}

// Legend is the table of the runs.
func (c comparison) Legend() sheet {
	s := sheet{Keys: 1, Heads: append(words("", "run", "scenario", "started"), heading{Title: "seed"}, heading{Title: "valid cells"})}
	for i, r := range c.Runs {
		row := sheetRow{Color: runColor(i)}
		row.add(r.Name, clean(r.Label), clean(orUnknown(r.Scenario)), when(r.Started), strconv.FormatUint(r.Seed, 10), fmt.Sprintf("%d of %d", r.Valid, r.Cells))
		s.Rows = append(s.Rows, row)
	}
	return s
}

// runColor is a run's in all charts.
func runColor(i int) string { return spare[i%len(spare)] }

// Sentences say first what came out, then how far the runs compare.
func (c comparison) Sentences() (all []string) {
	for i := range c.Verdicts {
		all = append(all, clean(c.Verdicts[i]), clean(c.Origins[i]))
	}
	return all
}

// Setup is the table of what the runs do not share.
func (c comparison) Setup() sheet {
	s := sheet{Keys: 2, Heads: words("differs", "in")}
	for _, r := range c.Runs {
		s.Heads = append(s.Heads, words(r.Name)...)
	}
	for _, d := range c.Differences {
		row := sheetRow{}
		row.add(string(d.Kind), clean(d.What))
		for _, v := range d.Values {
			row.add(clean(v))
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// points reports whether there are several.
func (c comparison) points() bool {
	return slices.ContainsFunc(c.Figures, func(f versus.Figure) bool { return f.Point != c.Figures[0].Point })
}

// Grid is the table of all figures, a line each.
func (c comparison) Grid() sheet { return c.grid(len(c.Figures)) }

func (c comparison) grid(most int) sheet {
	several := c.points()
	keys := words("metric")
	if several {
		keys = words("metric", "point")
	}
	s := sheet{Keys: len(keys), Heads: append(keys, heading{Title: "unit", Left: true})}
	for i, r := range c.Runs {
		s.Heads = append(s.Heads, heading{Title: r.Name, Divide: true}, heading{Title: "±"})
		if i > 0 {
			s.Heads = append(s.Heads, heading{Title: r.Name + " ÷ " + c.Runs[0].Name}, heading{Title: "interval", Left: true}, heading{Title: "verdict", Left: true})
		}
	}
	for _, f := range c.Figures[:most] {
		row := sheetRow{}
		row.add(f.Metric)
		if several {
			row.add(clean(f.Point))
		}
		row.add(figureUnit(f.Unit))
		for i, side := range f.Sides {
			row.add(figureText(f.Unit, side.Value), figureSpread(side))
			if i > 0 {
				row.add(ratioText(side), ratioInterval(side))
				row.Cells = append(row.Cells, verdictOf(side))
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// stacked is the same for narrow places, of the given runs: what belongs to a value stands
// below it.
func (c comparison) stacked(most int, runs ...int) sheet {
	s := sheet{Keys: 1, Heads: words("metric")}
	for _, i := range runs {
		s.Heads = append(s.Heads, heading{Title: c.Runs[i].Name})
		if i > 0 {
			s.Heads = append(s.Heads, heading{Title: c.Runs[i].Name + " ÷ " + c.Runs[0].Name}, heading{Title: "verdict", Left: true})
		}
	}
	several := c.points()
	for _, f := range c.Figures[:most] {
		key := cell{Text: f.Metric, Spread: figureUnit(f.Unit)}
		if several {
			key.Spread = strings.TrimSpace(clip(clean(f.Point), leastPoint) + "  " + key.Spread)
		}
		row := sheetRow{Cells: []cell{key}}
		for _, i := range runs {
			side := f.Sides[i]
			row.Cells = append(row.Cells, cell{Text: figureText(f.Unit, side.Value), Spread: figureSpread(side)})
			if i > 0 {
				v := verdictOf(side)
				switch side.Verdict {
				case versus.NoDifference:
					v.Text, v.Spread = "no difference", "shown"
				case versus.NotComparable:
					v.Text, v.Spread = "not", "comparable"
				}
				row.Cells = append(row.Cells, cell{Text: ratioText(side), Spread: ratioInterval(side)}, v)
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// leastPoint is the width to which a point's name is cut in narrow places.
const leastPoint = 24

// clip cuts the middle out of a text that is wider than width.
func clip(s string, width int) string {
	if terminal.Columns(s) <= width {
		return s
	}
	r := []rune(s)
	tail := len(r)
	for room := (width - 1) / 2; tail > 0 && room >= terminal.Columns(string(r[tail-1])); tail-- {
		room -= terminal.Columns(string(r[tail-1]))
	}
	return terminal.Cut(s, width-terminal.Columns(string(r[tail:]))) + string(r[tail:])
}

// all are the places of the runs.
func (c comparison) all() (runs []int) {
	for i := range c.Runs {
		runs = append(runs, i)
	}
	return runs
}

// Main and More are the tables of the page: what changed most, and everything.
func (c comparison) Main() sheet { return c.stacked(c.shown(false), c.all()...) }

// More is the table of all figures.
func (c comparison) More() sheet { return c.stacked(len(c.Figures), c.all()...) }

// verdictOf is the verdict in its tone.
func verdictOf(s versus.Side) cell {
	return cell{Text: string(s.Verdict), Detail: clean(s.Why), tone: map[versus.Verdict]tone{
		versus.BetterThan: good, versus.WorseThan: bad, versus.Differs: warn, versus.NoDifference: faint, versus.NotComparable: faint,
	}[s.Verdict]}
}

// figureUnit is a metric's unit as it is shown.
func figureUnit(unit string) string {
	if unit == "share" {
		return "%"
	}
	return unit
}

// figureText is a value in the unit that is shown.
func figureText(unit string, v *float64) string {
	switch {
	case v == nil:
		return unknown
	case unit == "share":
		return short(100 * *v)
	case unit == "":
		return Brief(*v)
	}
	return short(*v)
}

// figureSpread is how far a value's interval reaches.
func figureSpread(s versus.Side) string {
	if s.Value == nil || s.Low == nil {
		return ""
	}
	return spreadOf(stats.Interval{Low: *s.Low, High: *s.High}, *s.Value)
}

func ratioText(s versus.Side) string {
	if s.Ratio == nil {
		return unknown
	}
	return ratioNumber(*s.Ratio) + " ×"
}

func ratioInterval(s versus.Side) string {
	if s.RatioLow == nil || *s.RatioLow == *s.RatioHigh {
		return ""
	}
	return ratioNumber(*s.RatioLow) + "–" + ratioNumber(*s.RatioHigh)
}

// ratioNumber tells ratios near 1 apart from it, and from one another.
func ratioNumber(v float64) string {
	if v >= 0.1 && v < 2 {
		return fixed(&v, 3)
	}
	return short(v)
}

// LeftOut is what the comparison lacks, and why.
func (c comparison) LeftOut() (all []string) {
	for _, l := range c.Left {
		all = append(all, clean(l))
	}
	return all
}
