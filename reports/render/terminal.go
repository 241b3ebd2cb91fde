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
	Width   int  // columns of the terminal; 0: do not wrap lines
	Explain bool // also print how and where the figures were measured
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

var styles = map[Tone]string{
	Good: ansiGreen, Best: ansiGreen + ansiBold, Bad: ansiRed + ansiBold, Warn: ansiYellow, Faint: ansiDim,
}

// DocumentTerminal prints a document.
func DocumentTerminal(w io.Writer, d *Document, o TerminalOptions) error {
	d = d.cleaned()
	p := &printer{w: bufio.NewWriter(w), opts: o}
	if d.Title != "" {
		p.line(ansiBold, d.Title)
	}
	if d.Subtitle != "" {
		p.line(ansiDim, d.Subtitle)
	}
	sections := d.Sections
	if d.Last && len(sections) > 0 {
		sections = sections[1:]
	} else {
		p.answer(d.Findings, d.Verdicts)
	}
	for i := range sections {
		if s := &sections[i]; s.Place == Everywhere || s.Place == Aside && o.Explain {
			p.section(s)
		}
	}
	if d.More != "" && !o.Explain {
		p.line("", "")
		p.line(ansiDim, d.More)
	}
	if len(sections) < len(d.Sections) {
		p.line("", "")
		p.answer(d.Findings, nil)
		p.section(&d.Sections[0])
		if len(d.Verdicts) > 0 {
			p.line("", "")
		}
		p.answer(nil, d.Verdicts)
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

func (p *printer) answer(findings []string, verdicts []Cell) {
	for _, f := range findings {
		p.line("", f)
	}
	for _, v := range verdicts {
		p.line(cmp.Or(styles[v.Tone], ansiBold), v.Text)
	}
}

func (p *printer) section(s *Section) {
	p.line("", "")
	p.line(ansiBold, s.Title)
	for _, t := range s.Text {
		p.line("", t)
	}
	for _, c := range s.Code {
		p.line("", c.Caption+":")
		fmt.Fprintln(p.w, c.Text)
	}
	p.table(s.Table)
	for i, n := range s.Notes {
		if i == 0 && len(s.Table.Rows) > 0 {
			p.line("", "")
		}
		p.line("", "  "+n)
	}
}

// line prints a line, wrapped to the terminal; bufio keeps the first error for Flush.
func (p *printer) line(style, text string) {
	for _, l := range wrap(strings.TrimRight(text, " "), p.opts.Width) {
		fmt.Fprintln(p.w, p.paint(style, l))
	}
}

func (p *printer) paint(style, s string) string {
	if !p.opts.Color || style == "" || s == "" {
		return s
	}
	return style + s + ansiReset
}

const leastWords = 12

// table prints a table under its titles and units. Where it is too wide, columns of words are wrapped, the widest
// first; what is still too wide the terminal breaks.
func (p *printer) table(t Table) {
	if len(t.Rows) == 0 {
		return
	}
	var titles, units, rule []Cell
	widths, total, named := make([]int, len(t.Heads)), 0, false
	for i, h := range t.Heads {
		for _, text := range slices.Concat(column(t.Rows, i), strings.Fields(h.Title), []string{h.Unit}) {
			widths[i] = max(widths[i], terminal.Columns(text))
		}
		for widths[i] < terminal.Columns(h.Title) && (h.Words || len(wrap(h.Title, widths[i])) > 2) {
			widths[i]++
		}
		total += widths[i] + 2
		titles, units, named = append(titles, Cell{Text: h.Title}), append(units, Cell{Text: h.Unit}), named || h.Title != ""
	}
	for ; p.opts.Width > 0 && total > p.opts.Width+2; total-- {
		widest := -1
		for i, h := range slices.Backward(t.Heads) { // the first names the row
			if h.Words && widths[i] > leastWords && (widest < 0 || i > 0 && widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	for _, w := range widths {
		rule = append(rule, Cell{Text: strings.Repeat("─", w)})
	}
	if named {
		p.row(t, widths, titles, ansiBold)
		if slices.ContainsFunc(units, func(c Cell) bool { return c.Text != "" }) {
			p.row(t, widths, units, ansiDim)
		}
		p.row(t, widths, rule, ansiDim)
	}
	for i, r := range t.Rows {
		if len(r) > 0 && r[0].Gap && i > 0 {
			p.line("", "")
		}
		p.row(t, widths, r, "")
	}
}

func column(rows [][]Cell, i int) (texts []string) {
	for _, r := range rows {
		texts = append(texts, r[i].Text)
	}
	return texts
}

// row prints the cells of a row, in several lines where one is wrapped; style applies to cells without a tone.
func (p *printer) row(t Table, widths []int, cells []Cell, style string) {
	lines, height := make([][]string, len(cells)), 1
	for i, c := range cells {
		if lines[i] = []string{c.Text}; t.Heads[i].Words || style == ansiBold {
			lines[i] = wrap(c.Text, widths[i])
		}
		height = max(height, len(lines[i]))
	}
	for n := range height {
		var b strings.Builder
		for i, c := range cells {
			text := ""
			if n < len(lines[i]) {
				text = strings.TrimLeft(lines[i][n], " ")
			}
			fill := strings.Repeat(" ", max(0, widths[i]-terminal.Columns(text)))
			text = p.paint(cmp.Or(styles[c.Tone], style), text)
			if t.Heads[i].Words {
				b.WriteString(text + fill + "  ")
			} else {
				b.WriteString(fill + text + "  ")
			}
		}
		fmt.Fprintln(p.w, strings.TrimRight(b.String(), " "))
	}
}

// wrap breaks a line between words so that it fits the width; further lines are indented as the first, and by two more.
// A word that is wider stays whole. 0 is any width.
func wrap(s string, width int) (lines []string) {
	if width <= 0 || terminal.Columns(s) <= width {
		return []string{s}
	}
	indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
	line, used := indent, 0
	for _, word := range strings.Fields(s) {
		if used > 0 && terminal.Columns(line)+1+terminal.Columns(word) > width {
			lines, line, used = append(lines, line), indent+"  ", 0
		}
		if used > 0 {
			line += " "
		}
		line, used = line+word, used+1
	}
	return append(lines, line)
}
