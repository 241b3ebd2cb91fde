package render

import (
	"fmt"
	"io"
	"strconv"

	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// ComparisonFormats lists the file formats of a comparison.
func ComparisonFormats() []Format[*gate.Comparison] {
	return []Format[*gate.Comparison]{
		{"html", "compare.html", as(DocumentHTML, Comparison)}, {"md", "compare.md", as(DocumentMarkdown, Comparison)},
		{"json", "compare.json", asJSON[*gate.Comparison]},
	}
}

func asJSON[T any](w io.Writer, v T) error { return result.EncodeJSON(w, v) }

// What is shown of a comparison, unless all is asked for.
const (
	shownFigures = 30
	shownReasons = 12
)

// Comparison reports what came out, the figures, and what was left out. A terminal leaves out figures without a
// difference beyond the first few unless it is to explain, and says so.
func Comparison(c *gate.Comparison) *Document {
	d := &Document{Title: fmt.Sprintf("compare %s and %s", c.Runs[0].Label, c.Runs[1].Label),
		Findings: []string{c.Verdict, c.Origin}}
	runs := Table{Heads: append(Heads("", "run", "scenario", "started"), Head{Title: "seed"}, Head{Title: "valid cells"})}
	for i, r := range c.Runs {
		runs.Rows = append(runs.Rows, Cells(gate.Names[i], r.Label, orUnknown(r.Scenario), when(r.Started),
			strconv.FormatUint(r.Seed, 10), fmt.Sprintf("%d of %d", r.Valid, r.Cells)))
	}
	shown := 0
	for _, f := range c.Figures {
		if f.Verdict != gate.NoDifference && f.Verdict != gate.NotComparable {
			shown++
		}
	}
	shown = min(len(c.Figures), max(shown, shownFigures))
	figures := Section{ID: "figures", Title: "Figures, most changed first", Table: comparisonGrid(c.Figures[:shown])}
	if more := len(c.Figures) - shown; more > 0 {
		figures.Notes = []string{plural(more, "more figure") +
			" without a difference, or not comparable: --all, or the files."}
	}
	setup := Section{ID: "setup", Title: "What the runs do not share", Place: Aside, Table: Table{
		Heads: Heads("differs", "in", gate.Names[0], gate.Names[1])}}
	for _, x := range c.Differences {
		setup.Table.Rows = append(setup.Table.Rows, Cells(x.Kind, x.What, x.Values[0], x.Values[1]))
	}
	d.add(figures, Section{Title: "Runs", Table: runs},
		Section{ID: "more", Title: "The other figures", Place: Aside, Table: comparisonGrid(c.Figures[shown:])},
		Section{ID: "left", Title: "Left out, and why", Notes: others(c.Left, shownReasons)}, setup,
		Section{Title: "How to read it", Text: []string{fmt.Sprintf("Figures are medians of repetitions (percentiles: of "+
			"all operations together; lost and reordered: totals); better or worse means that the %g %% interval of the ratio "+
			"leaves out 1. With fewer than %d repetitions on a side no difference is shown: repeat both runs (--repeat 5).",
			100*(1-stats.Alpha), stats.Least)}})
	return d
}

func comparisonGrid(figures []gate.Figure) Table {
	s := Table{Heads: append(Heads("metric", "point"), Head{Title: "unit", Words: true}, Head{Title: "A"},
		Head{Title: "B"}, Head{Title: "B ÷ A"}, Head{Title: "interval", Words: true}, Head{Title: "verdict", Words: true})}
	for _, f := range figures {
		cells := Cells(f.Metric, f.Point, unitOf(f.Unit))
		for _, side := range f.Sides {
			text := unknown
			if side.Value != nil {
				text = Brief(inUnit(f.Unit, *side.Value))
			}
			if side.Low != nil {
				text += leading(" ", spread(stats.Interval{Low: *side.Low, High: *side.High}, *side.Value))
			}
			cells = append(cells, Cell{Text: text})
		}
		ratio, interval := unknown, ""
		if f.Ratio != nil {
			ratio = ratioNumber(*f.Ratio) + " ×"
		}
		if f.RatioLow != nil && *f.RatioLow != *f.RatioHigh {
			interval = ratioNumber(*f.RatioLow) + "–" + ratioNumber(*f.RatioHigh)
		}
		verdict := Cell{Text: string(f.Verdict) + leading(": ", f.Why), Tone: map[gate.Change]Tone{
			gate.BetterThan: Good, gate.WorseThan: Bad, gate.Differs: Warn, gate.NoDifference: Faint,
			gate.NotComparable: Faint,
		}[f.Verdict]}
		s.Rows = append(s.Rows, append(cells, Cell{Text: ratio}, Cell{Text: interval}, verdict))
	}
	return s
}

func ratioNumber(v float64) string {
	if v >= 0.1 && v < 2 {
		return fixed(&v, 3)
	}
	return short(v)
}
