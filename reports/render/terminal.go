package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/terminal"
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

// styles show the tones on a terminal.
var styles = map[Tone]string{
	Good: ansiGreen, Best: ansiGreen + ansiBold, Bad: ansiRed + ansiBold, Warn: ansiYellow, Faint: ansiDim,
}

// DocumentTerminal prints a document.
func DocumentTerminal(w io.Writer, d *Document, o TerminalOptions) error {
	d = d.cleaned()
	p := &printer{w: bufio.NewWriter(w), opts: o}
	if d.Title != "" {
		p.line(ansiBold, "%s", d.Title)
	}
	if d.Subtitle != "" {
		p.line(ansiDim, "%s", d.Subtitle)
	}
	if !d.Last {
		p.findings(d)
	}
	for i := range d.Sections {
		if s := &d.Sections[i]; s.Place == Everywhere || s.Place == Aside && o.Explain {
			p.section(s)
		}
	}
	if d.More != "" && !o.Explain {
		p.line("", "")
		p.line(ansiDim, "%s", d.More)
	}
	if d.Last {
		p.line("", "")
		p.findings(d)
	}
	return p.w.Flush()
}

// TableTerminal prints a table alone.
func TableTerminal(w io.Writer, t Table, o TerminalOptions) error {
	p := &printer{w: bufio.NewWriter(w), opts: o}
	p.table(t.cleaned())
	return p.w.Flush()
}

type printer struct {
	w    *bufio.Writer
	opts TerminalOptions
}

func (p *printer) findings(d *Document) {
	for _, f := range d.Findings {
		p.line("", "%s", f)
	}
	for _, v := range d.Verdicts {
		p.line(cmp.Or(styles[v.Tone], ansiBold), "%s", v.Text)
	}
}

// Counterexamples of one check that a terminal and the other formats show.
const (
	terminalExamples = 3
	shownExamples    = 10
)

func (p *printer) section(s *Section) {
	p.line("", "")
	p.line(ansiBold, "%s", s.Title)
	for _, t := range s.Text {
		p.line("", "%s", t)
	}
	if len(s.Table.Rows) > 0 {
		p.table(s.Table)
	}
	for i, n := range s.Notes {
		if i == 0 && len(s.Table.Rows) > 0 {
			p.line("", "")
		}
		p.line("", "  %s", n)
	}
	for _, e := range s.Examples {
		p.line("", "")
		p.line(styles[e.Tone], "%s", e.Title)
		for l := range strings.SplitSeq(e.text(terminalExamples), "\n") {
			p.line("", "    %s", l)
		}
	}
	for i := range s.Parts {
		p.section(&s.Parts[i])
	}
}

// text is the first items, and how many there are besides.
func (e *Example) text(most int) string {
	items := slices.Clone(e.Items)
	if n := len(items) - most; n > 0 {
		items = append(items[:most], fmt.Sprintf("… and %d more", n))
	}
	if e.Note != "" {
		items = append(items, e.Note)
	}
	return strings.Join(items, "\n")
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

// table prints a table, in parts where the terminal is narrower.
func (p *printer) table(t Table) {
	for i, part := range t.narrow().fit(p.opts.Width) {
		if i > 0 {
			p.line("", "")
		}
		p.part(part)
	}
}

// part prints a table under its titles, in two lines where one is wider than its column,
// and units.
func (p *printer) part(t Table) {
	widths := t.widths()
	var above, titles, units, rule []Cell
	for i, h := range t.Heads {
		upper, title := "", h.Title
		if terminal.Columns(title) > widths[i] {
			upper, title, _ = strings.Cut(title, " ")
		}
		above, titles = append(above, Cell{Text: upper}), append(titles, Cell{Text: title})
		units, rule = append(units, Cell{Text: h.Unit}), append(rule, Cell{Text: strings.Repeat("─", widths[i])})
	}
	if slices.ContainsFunc(titles, func(c Cell) bool { return c.Text != "" }) {
		p.unlessEmpty(t, widths, above, ansiBold)
		p.unlessEmpty(t, widths, titles, ansiBold)
		p.unlessEmpty(t, widths, units, ansiDim)
		p.unlessEmpty(t, widths, rule, ansiDim)
	}
	for i, r := range t.Rows {
		if len(r) > 0 && r[0].Gap && i > 0 {
			p.line("", "")
		}
		p.cells(t, widths, p.shortened(t, r), "")
		var under []Cell
		for _, c := range r {
			under = append(under, Cell{Text: c.Under})
		}
		p.unlessEmpty(t, widths, under, ansiDim)
	}
}

// shortened is a row whose last cell, where it spans the rest, fits the terminal.
func (p *printer) shortened(t Table, row []Cell) []Cell {
	last := len(row) - 1
	if last < 0 || !row[last].Rest || p.opts.Width <= 0 {
		return row
	}
	room := p.opts.Width - t.columns(0, t.Keys).width() - 4
	if terminal.Columns(row[last].Text) <= room {
		return row
	}
	row = slices.Clone(row)
	row[last].Text, _, _ = strings.Cut(row[last].Text, ":")
	row[last].Text += ", see below"
	return row
}

func (p *printer) unlessEmpty(t Table, widths []int, cells []Cell, style string) {
	if slices.ContainsFunc(cells, func(c Cell) bool { return c.Text != "" }) {
		p.cells(t, widths, cells, style)
	}
}

// cells prints a row of a table, in several lines where a cell has them; style applies to
// cells without a tone.
func (p *printer) cells(t Table, widths []int, cells []Cell, style string) {
	for n, more := 0, true; more; n++ {
		more = false
		var b strings.Builder
		for i, c := range cells {
			lines := strings.Split(c.Text, "\n")
			more = more || len(lines) > n+1
			text := strings.Join(lines[min(n, len(lines)):min(n+1, len(lines))], "")
			if !c.Rest {
				text = pad(text, widths[i], t.Heads[i].Words)
			}
			if t.Heads[i].Divide {
				b.WriteString(p.paint(ansiDim, "│ "))
			}
			if i == len(cells)-1 {
				text = strings.TrimRight(text, " ")
			}
			b.WriteString(p.paint(cmp.Or(styles[c.Tone], style), text))
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
