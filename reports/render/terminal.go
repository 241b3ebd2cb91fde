package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/watchbench/watchbench/reports/result"
)

// TerminalOptions fit the output to where it goes.
type TerminalOptions struct {
	Color bool // use ANSI colours
	Width int  // columns of the terminal; 0: do not split the table
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

// Terminal prints the throughput table, the verdicts with their counterexamples,
// and what one must know to believe them.
func Terminal(w io.Writer, res *result.Results, opts TerminalOptions) error {
	if err := res.Validate(); err != nil {
		return err
	}
	p := &printer{w: bufio.NewWriter(w), opts: opts}
	t := arrange(res)
	p.line(ansiBold, "%s", strings.TrimSpace(clean(res.Run.Scenario)+"  run "+clean(res.Run.ID)))
	if res.Run.Interrupted {
		p.line(ansiYellow, "interrupted: these are the cells it finished")
	}
	p.line("", "")
	p.throughput(t)
	p.notes(t)
	p.verdicts(t)
	p.counterexamples(t)
	p.line("", "")
	for _, h := range headlines(t) {
		p.line("", "%s", h.text())
	}
	p.line(ansiBold, "%s", summary(t))
	p.line("", "")
	p.context(t)
	return p.w.Flush()
}

type printer struct {
	w    *bufio.Writer
	opts TerminalOptions
}

// line prints one line; bufio keeps the first error for Flush.
func (p *printer) line(style, format string, args ...any) {
	fmt.Fprintln(p.w, p.paint(style, strings.TrimRight(fmt.Sprintf(format, args...), " ")))
}

func (p *printer) paint(style, s string) string {
	if !p.opts.Color || style == "" || s == "" {
		return s
	}
	return style + s + ansiReset
}

// throughput prints the table, in two parts when the terminal is narrower.
func (p *printer) throughput(t *table) {
	all := layout(t.throughput(published, ours))
	if p.opts.Width <= 0 || all.width() <= p.opts.Width {
		p.block(all)
		return
	}
	p.block(layout(t.throughput(published)))
	p.line("", "")
	p.block(layout(t.throughput(ours)))
}

// block is a sheet with the widths of its columns, keys first.
type block struct {
	heads  []heading
	rows   []sheetRow
	widths []int
}

func layout(s sheet) block {
	b := block{rows: s.Rows}
	for _, k := range s.Keys {
		k.left = true
		b.heads = append(b.heads, k)
	}
	b.heads = append(b.heads, s.Heads...)
	b.measure()
	return b
}

// styles show the tones on a terminal.
var styles = map[tone]string{good: ansiGreen, best: ansiGreen + ansiBold, bad: ansiRed + ansiBold, warn: ansiYellow, faint: ansiDim}

// cells are a row's texts, keys first.
func (r *sheetRow) cells() []cell {
	var all []cell
	for _, k := range r.Keys {
		all = append(all, cell{Text: k})
	}
	if r.Void != "" {
		return all
	}
	return append(all, r.Cells...)
}

func (b *block) measure() {
	b.widths = make([]int, len(b.heads))
	for i, h := range b.heads {
		width := max(utf8.RuneCountInString(h.Title), utf8.RuneCountInString(h.Unit))
		// Two words stand above each other rather than side by side.
		if head, tail, two := strings.Cut(h.Title, " "); two && h.Unit != "" {
			width = max(utf8.RuneCountInString(head), utf8.RuneCountInString(tail), utf8.RuneCountInString(h.Unit))
		}
		b.widths[i] = width
	}
	for _, r := range b.rows {
		for i, c := range r.cells() {
			b.widths[i] = max(b.widths[i], utf8.RuneCountInString(c.Text))
		}
	}
}

func (b *block) width() int {
	n := 0
	for i, w := range b.widths {
		n += w + 2
		if b.heads[i].Divide {
			n += 2
		}
	}
	return n
}

func (p *printer) block(b block) {
	upper, titles, units, rule := p.headLines(b)
	if upper != nil {
		p.cells(b, upper, ansiBold)
	}
	p.cells(b, titles, ansiBold)
	if slices.ContainsFunc(b.heads, func(h heading) bool { return h.Unit != "" }) {
		p.cells(b, units, ansiDim)
	}
	p.cells(b, rule, ansiDim)
	for _, r := range b.rows {
		if r.First {
			p.line("", "")
		}
		if r.Void == "" {
			p.cells(b, r.cells(), "")
			continue
		}
		var s strings.Builder
		for i, c := range r.cells() {
			s.WriteString(pad(c.Text, b.widths[i], true) + "  ")
		}
		fmt.Fprintln(p.w, s.String()+p.paint(ansiRed, "│ INVALID: "+r.Void))
	}
}

// headLines are the titles, in two lines where one is wider than its column, the units
// and the rule below.
func (p *printer) headLines(b block) (upper, titles, units, rule []cell) {
	upper = make([]cell, len(b.heads))
	split := false
	for i, h := range b.heads {
		title := h.Title
		if utf8.RuneCountInString(title) > b.widths[i] {
			upper[i].Text, title, _ = strings.Cut(title, " ")
			split = true
		}
		titles = append(titles, cell{Text: title})
		units = append(units, cell{Text: h.Unit})
		rule = append(rule, cell{Text: strings.Repeat("─", b.widths[i])})
	}
	if !split {
		upper = nil
	}
	return upper, titles, units, rule
}

// cells prints one line of a table; style is that of cells without a tone.
func (p *printer) cells(b block, cells []cell, style string) {
	var s strings.Builder
	for i, c := range cells {
		if b.heads[i].Divide {
			s.WriteString(p.paint(ansiDim, "│ "))
		}
		text := pad(c.Text, b.widths[i], b.heads[i].left)
		if i == len(cells)-1 {
			text = strings.TrimRight(text, " ")
		}
		s.WriteString(p.paint(cmp.Or(styles[c.tone], style), text))
		if i < len(cells)-1 {
			s.WriteString("  ")
		}
	}
	fmt.Fprintln(p.w, strings.TrimRight(s.String(), " "))
}

func pad(s string, width int, left bool) string {
	fill := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if left {
		return s + fill
	}
	return fill + s
}

func (p *printer) notes(t *table) {
	for i, n := range t.notes() {
		if i == 0 {
			p.line("", "")
		}
		p.line("", "  %s: %s", n.Name, n.Text)
	}
}

// verdicts prints one line per cell and one column per guarantee.
func (p *printer) verdicts(t *table) {
	if len(t.checks) == 0 {
		return
	}
	s := t.verdicts()
	s.Keys = []heading{{Title: "verdict per check"}, {}}
	p.line("", "")
	p.block(layout(s))
	if note := t.unaskedNote(); note != "" {
		p.line(ansiDim, "  %s", note)
	}
}

// counterexamples prints the first of every failed check in full.
func (p *printer) counterexamples(t *table) {
	for _, e := range examples(t) {
		p.line("", "")
		p.line(ansiRed, "%s: %s", e.Name, e.Failure)
		for l := range strings.SplitSeq(e.Text, "\n") {
			p.line("", "    %s", l)
		}
	}
}

func (p *printer) context(t *table) {
	for _, f := range append(provenance(t.res), environment(t.res)...) {
		if f.Value == unknown || f.Name == "Modules" || f.Name == "kube-apiserver flags" {
			continue // in the other formats, where there is room
		}
		p.line(ansiDim, "%-20s %s", f.Name, f.Value)
	}
	p.line("", "")
	for _, n := range method(t) {
		p.line(ansiDim, "• %s", n)
	}
}
