package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"

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
		{"html", "compare.html", func(w io.Writer, c *versus.Comparison) error {
			return DocumentHTML(w, comparison{c}.document())
		}},
		{"md", "compare.md", func(w io.Writer, c *versus.Comparison) error {
			return DocumentMarkdown(w, comparison{c}.document())
		}},
		{"json", "compare.json", CompareJSON},
	}
}

// CompareTerminal prints what came out, the figures, and what was left out. Unless
// opts.Explain, it leaves out figures without a difference beyond the first few, and says
// so.
func CompareTerminal(w io.Writer, c *versus.Comparison, opts TerminalOptions) error {
	return DocumentTerminal(w, comparison{c}.document(), opts)
}

// CompareJSON writes the comparison as it is.
func CompareJSON(w io.Writer, c *versus.Comparison) error { return result.EncodeJSON(w, c) }

// What is shown of a comparison, unless all is asked for.
const (
	shownFigures = 30
	shownReasons = 12
)

func (c comparison) document() *Document {
	d := &Document{}
	var names []string
	for _, r := range c.Runs {
		names = append(names, r.Label)
	}
	d.Title = "compare " + join(names)
	for i := range c.Verdicts {
		d.Findings = append(d.Findings, c.Verdicts[i], c.Origins[i])
	}
	d.add(Section{Title: "Runs", Table: c.legend()})
	shown := c.shown()
	figures := Section{ID: "figures", Title: "Figures, most changed first", Table: c.grid(shown)}
	if more := len(c.Figures) - shown; more > 0 {
		figures.Notes = []string{plural(more, "more figure") +
			" without a difference, or not comparable: --all, or the files."}
		d.add(figures)
		d.add(Section{Title: fmt.Sprintf("All %d figures", len(c.Figures)), Place: Aside,
			Table: c.grid(len(c.Figures))})
	} else {
		d.add(figures)
	}
	d.add(Section{ID: "left", Title: "Left out, and why", Notes: c.reasons()})
	d.add(Section{ID: "setup", Title: "What the runs do not share", Place: Aside, Table: c.setup()})
	d.add(Section{Title: "How to read it", Text: c.Notes})
	return d
}

func (c comparison) reasons() []string {
	if n := len(c.Left) - shownReasons; n > 0 {
		return append(c.Left[:shownReasons:shownReasons], fmt.Sprintf("… and %d more in compare.json", n))
	}
	return c.Left
}

// shown is how many figures are shown: all that changed, and as many more as there
// is room for.
func (c comparison) shown() int {
	changed := 0
	for _, f := range c.Figures {
		if slices.ContainsFunc(f.Sides[1:], func(s versus.Side) bool {
			return s.Verdict != versus.NoDifference && s.Verdict != versus.NotComparable
		}) {
			changed++
		}
	}
	return min(len(c.Figures), max(changed, shownFigures))
}

// legend is the table of the runs.
func (c comparison) legend() Table {
	s := Table{Heads: append(Heads("", "run", "scenario", "started"), Head{Title: "seed"},
		Head{Title: "valid cells"})}
	for _, r := range c.Runs {
		cells := Cells(r.Name, r.Label, orUnknown(r.Scenario), when(r.Started), strconv.FormatUint(r.Seed, 10),
			fmt.Sprintf("%d of %d", r.Valid, r.Cells))
		s.Rows = append(s.Rows, cells)
	}
	return s
}

// setup is the table of what the runs do not share.
func (c comparison) setup() Table {
	s := Table{Heads: Heads("differs", "in")}
	for _, r := range c.Runs {
		s.Heads = append(s.Heads, Heads(r.Name)...)
	}
	for _, d := range c.Differences {
		s.Rows = append(s.Rows, Cells(append([]string{string(d.Kind), d.What}, d.Values...)...))
	}
	return s
}

// grid is the table of the first figures, a line each.
func (c comparison) grid(most int) Table {
	several := slices.ContainsFunc(c.Figures, func(f versus.Figure) bool { return f.Point != c.Figures[0].Point })
	s := Table{Heads: Heads("metric")}
	if several {
		s = Table{Heads: Heads("metric", "point")}
	}
	s.Heads = append(s.Heads, Head{Title: "unit", Words: true})
	for i, r := range c.Runs {
		s.Heads = append(s.Heads, Head{Title: r.Name}, Head{Title: "±"})
		if i > 0 {
			s.Heads = append(s.Heads, Head{Title: r.Name + " ÷ " + c.Runs[0].Name}, Head{Title: "interval", Words: true},
				Head{Title: "verdict", Words: true})
		}
	}
	for _, f := range c.Figures[:most] {
		cells := Cells(f.Metric)
		if several {
			cells = append(cells, Cell{Text: f.Point})
		}
		cells = append(cells, Cell{Text: figureUnit(f.Unit)})
		for i, side := range f.Sides {
			cells = append(cells, Cells(figureText(f.Unit, side.Value), figureSpread(side))...)
			if i > 0 {
				cells = append(cells, Cell{Text: ratioText(side)}, Cell{Text: ratioInterval(side)}, verdictOf(side))
			}
		}
		s.Rows = append(s.Rows, cells)
	}
	return s
}

// verdictOf is the verdict in its tone.
func verdictOf(s versus.Side) Cell {
	return Cell{Text: string(s.Verdict), Tone: map[versus.Verdict]Tone{
		versus.BetterThan: Good, versus.WorseThan: Bad, versus.Differs: Warn, versus.NoDifference: Faint,
		versus.NotComparable: Faint,
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
	return spread(stats.Interval{Low: *s.Low, High: *s.High}, *s.Value)
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

// ratioNumber formats a ratio with enough digits near 1.
func ratioNumber(v float64) string {
	if v >= 0.1 && v < 2 {
		return fixed(&v, 3)
	}
	return short(v)
}
