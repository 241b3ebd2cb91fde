package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/terminal"
	"github.com/watchbench/watchbench/reports/result"
)

// TerminalOptions fit the output to where it goes.
type TerminalOptions struct {
	Color   bool // use ANSI colours
	Width   int  // columns of the terminal; 0: do not divide tables or wrap lines
	Explain bool // also print how the figures came about, and where
}

// ANSI sequences; colour never carries meaning alone.
const (
	ansiReset  = "\x1b[0m"
	ansiBold   = "\x1b[1m"
	ansiDim    = "\x1b[2m"
	ansiRed    = "\x1b[31m"
	ansiGreen  = "\x1b[32m"
	ansiYellow = "\x1b[33m"
)

// Terminal prints the tables, the failures with their counterexamples and, last, the answer
// and the outcome. How the figures came about is in the other formats, unless it is asked
// for.
func Terminal(w io.Writer, res *result.Results, opts TerminalOptions) error {
	if err := res.Validate(); err != nil {
		return err
	}
	p := &printer{w: bufio.NewWriter(w), opts: opts}
	t := arrange(res)
	p.line(ansiBold, "%s", strings.TrimSpace(clean(res.Run.Scenario)+"  run "+clean(res.Run.ID)))
	if gap := res.Gap(); gap != "" {
		p.line(ansiYellow, "%s", clean(gap))
	}
	p.line("", "")
	p.sheet(t.Grid())
	p.further(t)
	p.published(t)
	p.verdicts(t)
	for i, n := range t.Notes() {
		if i == 0 {
			p.line("", "")
		}
		p.line("", "  %s: %s", n.Name, n.Value)
	}
	for _, e := range t.examples(terminalExamples) {
		p.line("", "")
		p.line(ansiRed, "%s: %s", e.Name, e.Failure)
		for l := range strings.SplitSeq(e.Text, "\n") {
			p.line("", "    %s", l)
		}
	}
	p.line("", "")
	p.context(t)
	p.line("", "")
	for _, h := range t.Untold() {
		p.line("", "%s", h.Sentence)
	}
	for _, l := range t.Floors() {
		p.line("", "%s", l)
	}
	if s := t.Bounds(); s != "" {
		p.line(map[bool]string{true: ansiRed}[len(t.missed()) > 0], "%s", s)
	}
	p.line("", "%s", t.Answer())
	p.line(ansiBold, "%s", t.Summary())
	return p.w.Flush()
}

type printer struct {
	w    *bufio.Writer
	opts TerminalOptions
}

// line prints a line, wrapped to the terminal; bufio keeps the first error for Flush.
func (p *printer) line(style, format string, args ...any) {
	for _, l := range wrap(strings.TrimRight(fmt.Sprintf(format, args...), " "), p.opts.Width) {
		fmt.Fprintln(p.w, p.paint(style, l))
	}
}

func (p *printer) paint(style, s string) string {
	if !p.opts.Color || style == "" || s == "" {
		return s
	}
	return style + s + ansiReset
}

// styles show the tones on a terminal.
var styles = map[tone]string{good: ansiGreen, best: ansiGreen + ansiBold, bad: ansiRed + ansiBold, warn: ansiYellow, faint: ansiDim}

// widths are those of the columns, in runes.
func (s sheet) widths() []int {
	widths := make([]int, len(s.Heads))
	for i, h := range s.Heads {
		lines := []string{h.Title, h.Unit}
		// Two words stand above each other rather than side by side.
		if above, below, two := strings.Cut(h.Title, " "); two && h.Unit != "" {
			lines = []string{above, below, h.Unit}
		}
		for _, l := range lines {
			widths[i] = max(widths[i], terminal.Columns(l))
		}
		for _, r := range s.Rows {
			for l := range strings.SplitSeq(r.Cells[i].Text, "\n") {
				widths[i] = max(widths[i], terminal.Columns(l))
			}
			widths[i] = max(widths[i], terminal.Columns(r.Cells[i].Spread))
		}
	}
	return widths
}

func (s sheet) width() int {
	n := 0
	for i, w := range s.widths() {
		n += w + s.gap(i)
	}
	return n
}

// sheet prints a table, in parts where the terminal is narrower.
func (p *printer) sheet(s sheet) {
	for i, part := range s.fit(p.opts.Width) {
		if i > 0 {
			p.line("", "")
		}
		p.part(part)
	}
}

// part prints a table under its titles, in two lines where one is wider than its column,
// and units.
func (p *printer) part(s sheet) {
	widths := s.widths()
	var above, titles, units, rule sheetRow
	for i, h := range s.Heads {
		upper, title := "", h.Title
		if terminal.Columns(title) > widths[i] {
			upper, title, _ = strings.Cut(title, " ")
		}
		above.add(upper)
		titles.add(title)
		units.add(h.Unit)
		rule.add(strings.Repeat("─", widths[i]))
	}
	p.heads(s, widths, above, ansiBold)
	p.heads(s, widths, titles, ansiBold)
	p.heads(s, widths, units, ansiDim)
	p.heads(s, widths, rule, ansiDim)
	for _, r := range s.Rows {
		if r.First {
			p.line("", "")
		}
		if r.Void == "" {
			p.cells(s, widths, r.Cells, "")
			p.heads(s, widths, r.spreads(), ansiDim)
			continue
		}
		why := "INVALID: " + r.Void
		keys := s.columns(0, s.Keys)
		if most := p.opts.Width; most > 0 && keys.width()+2+terminal.Columns(why) > most {
			why = "INVALID, see below"
		}
		keys.Heads = append(keys.Heads, heading{Left: true, Divide: true})
		p.cells(keys, append(widths[:s.Keys:s.Keys], 0), append(slices.Clone(r.Cells[:s.Keys]), cell{Text: why, tone: bad}), "")
	}
}

// heads prints a line above a table unless it is empty.
func (p *printer) heads(s sheet, widths []int, l sheetRow, style string) {
	if slices.ContainsFunc(l.Cells, func(c cell) bool { return c.Text != "" }) {
		p.cells(s, widths, l.Cells, style)
	}
}

// cells prints a row of a table, in several lines where a cell has them; style is that of
// cells without a tone.
func (p *printer) cells(s sheet, widths []int, cells []cell, style string) {
	for n, more := 0, true; more; n++ {
		more = false
		var b strings.Builder
		for i, c := range cells {
			lines := strings.Split(c.Text, "\n")
			more = more || len(lines) > n+1
			text := pad(strings.Join(lines[min(n, len(lines)):min(n+1, len(lines))], ""), widths[i], s.Heads[i].Left)
			if s.Heads[i].Divide {
				b.WriteString(p.paint(ansiDim, "│ "))
			}
			if i == len(cells)-1 {
				text = strings.TrimRight(text, " ")
			}
			b.WriteString(p.paint(cmp.Or(styles[c.tone], style), text))
			if i < len(cells)-1 {
				b.WriteString("  ")
			}
		}
		fmt.Fprintln(p.w, strings.TrimRight(b.String(), " "))
	}
}

func pad(s string, width int, left bool) string {
	fill := strings.Repeat(" ", max(0, width-terminal.Columns(s)))
	if left {
		return s + fill
	}
	return fill + s
}

// further prints how costs grow, who keeps up, the figures over swept values, which bounds
// hold, and what profiles wrote.
func (p *printer) further(t *table) {
	for _, part := range []struct {
		title string
		sheet sheet
		note  string
	}{
		{"growth", t.Growth(), t.GrowthNote()}, {"who keeps up", t.Paces(), ""},
		{"over the swept values", t.Sweeps(), t.SweptNote()}, {"thresholds", t.Thresholds(), ""}, {"readers", t.Readers(), t.ReadersNote()},
		{"what reading costs", t.ReaderCosts(), t.ReaderCostsNote()}, {"events per kind", t.Traffic(), ""},
	} {
		if len(part.sheet.Rows) > 0 {
			p.line("", "")
			p.line(ansiBold, "%s", part.title)
			p.sheet(part.sheet)
			if part.note != "" {
				p.line("", "%s", part.note)
			}
		}
	}
}

// published prints a run of the scenario reference beside the published tables.
func (p *printer) published(t *table) {
	for _, part := range []struct {
		title string
		sheet sheet
	}{{"beside the published tables", t.Beside()}, {"storage rate, after ÷ before", t.Factors()}, {"shape", t.Shape()}} {
		if len(part.sheet.Rows) > 0 {
			p.line("", "")
			p.line(ansiBold, "%s", part.title)
			p.sheet(part.sheet)
		}
	}
	if s := t.BesideNote(); s != "" {
		p.line("", "%s", s)
	}
}

// verdicts prints one line per cell and one column per guarantee.
func (p *printer) verdicts(t *table) {
	if len(t.checks) == 0 {
		return
	}
	s := t.Verdicts()
	s.Heads[0].Title, s.Heads[1].Title = "verdict per check", ""
	p.line("", "")
	p.sheet(s)
	if note := t.Unasked(); note != "" {
		p.line(ansiDim, "  %s", note)
	}
}

// context prints how the figures came about, or where that stands.
func (p *printer) context(t *table) {
	if !p.opts.Explain {
		p.line(ansiDim, "What n, ± and the columns mean, where and how this was measured: --explain, or the report.")
		return
	}
	p.line(ansiDim, "%s", t.Precision())
	p.line("", "")
	for _, f := range append(t.Provenance(), t.Environment()...) {
		if f.Value == unknown || f.Name == "Modules" || strings.HasSuffix(f.Name, " flags") {
			continue // in the other formats, where there is room
		}
		p.line(ansiDim, "%-20s %s", f.Name, f.Value)
	}
	p.line("", "")
	for _, n := range t.Method() {
		p.line(ansiDim, "• %s", n)
	}
}
