package render

import (
	"bufio"
	"fmt"
	"io"
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
	p.throughput(t.grid())
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
func (p *printer) throughput(g grid) {
	all := p.layout(g, published, ours)
	if p.opts.Width <= 0 || all.width() <= p.opts.Width {
		p.block(all)
		return
	}
	p.block(p.layout(g, published))
	p.line("", "")
	p.block(p.layout(g, ours))
}

// block is a table ready to print.
type block struct {
	titles, units []string
	left          []bool // left-aligned
	divider       []bool // a bar stands before this column
	rows          []blockRow
	widths        []int
}

type blockRow struct {
	cells  []string
	styles []string
	note   string // printed instead of the cells from column span on
	span   int
	gap    bool // a new load begins
}

func (p *printer) layout(g grid, groups ...group) block {
	var b block
	addColumn := func(h heading, left, divider bool) {
		b.titles = append(b.titles, h.Title)
		b.units = append(b.units, h.Unit)
		b.left = append(b.left, left)
		b.divider = append(b.divider, divider)
	}
	for _, k := range g.keys {
		addColumn(k, true, false)
	}
	var chosen []int
	last := group("")
	for _, want := range groups {
		for i, h := range g.values {
			if h.group == want {
				addColumn(h, false, h.group != last)
				last = h.group
				chosen = append(chosen, i)
			}
		}
	}
	withChecks := groups[len(groups)-1] == ours
	if withChecks {
		addColumn(g.checks, true, false)
	}
	for i, l := range g.lines {
		r := blockRow{cells: append([]string{}, l.keys...), gap: i > 0 && l.row.load != g.lines[i-1].row.load}
		r.styles = make([]string, len(l.keys), len(b.titles))
		if l.invalid {
			r.note, r.span = l.verdict+": "+clean(strings.Join(l.row.cells[0].InvalidReasons, "; ")), len(l.keys)
		} else {
			for _, c := range chosen {
				r.cells = append(r.cells, l.values[c])
				style := ""
				if c == l.best {
					style = ansiGreen + ansiBold
				}
				r.styles = append(r.styles, style)
			}
			if withChecks {
				r.cells = append(r.cells, l.verdict)
				r.styles = append(r.styles, verdictStyle(l.row.state()))
			}
		}
		b.rows = append(b.rows, r)
	}
	b.measure()
	return b
}

func verdictStyle(s state) string {
	switch s {
	case statePassed:
		return ansiGreen
	case stateFailed, stateInvalid:
		return ansiRed + ansiBold
	}
	return ansiYellow
}

func (b *block) measure() {
	b.widths = make([]int, len(b.titles))
	for i := range b.titles {
		b.widths[i] = max(utf8.RuneCountInString(b.titles[i]), utf8.RuneCountInString(b.units[i]))
		// Two words stand above each other rather than side by side.
		if head, tail, two := strings.Cut(b.titles[i], " "); two && b.units[i] != "" {
			b.widths[i] = max(utf8.RuneCountInString(head), utf8.RuneCountInString(tail), utf8.RuneCountInString(b.units[i]))
		}
		for _, r := range b.rows {
			if i < len(r.cells) {
				b.widths[i] = max(b.widths[i], utf8.RuneCountInString(r.cells[i]))
			}
		}
	}
}

func (b *block) width() int {
	n := 0
	for i, w := range b.widths {
		n += w + 2
		if b.divider[i] {
			n += 2
		}
	}
	return n
}

func (p *printer) block(b block) {
	upper, lower := make([]string, len(b.titles)), make([]string, len(b.titles))
	split := false
	for i, title := range b.titles {
		lower[i] = title
		if utf8.RuneCountInString(title) > b.widths[i] {
			upper[i], lower[i], _ = strings.Cut(title, " ")
			split = true
		}
	}
	if split {
		p.cells(b, upper, nil, ansiBold)
	}
	p.cells(b, lower, nil, ansiBold)
	p.cells(b, b.units, nil, ansiDim)
	rule := make([]string, len(b.titles))
	for i := range rule {
		rule[i] = strings.Repeat("─", b.widths[i])
	}
	p.cells(b, rule, nil, ansiDim)
	for _, r := range b.rows {
		if r.gap {
			p.line("", "")
		}
		if r.note == "" {
			p.cells(b, r.cells, r.styles, "")
			continue
		}
		var s strings.Builder
		for i, c := range r.cells {
			s.WriteString(pad(c, b.widths[i], true) + "  ")
		}
		fmt.Fprintln(p.w, s.String()+p.paint(ansiRed, "│ "+r.note))
	}
}

func (p *printer) cells(b block, cells, styles []string, style string) {
	var s strings.Builder
	for i, c := range cells {
		if b.divider[i] {
			s.WriteString(p.paint(ansiDim, "│ "))
		}
		text := pad(c, b.widths[i], b.left[i])
		if i == len(cells)-1 {
			text = strings.TrimRight(text, " ")
		}
		st := style
		if styles != nil {
			st = styles[i]
		}
		s.WriteString(p.paint(st, text))
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
	first := true
	for _, r := range t.rows {
		for _, n := range r.notes() {
			if first {
				p.line("", "")
				first = false
			}
			p.line("", "  %s: %s", r.name(), clean(n))
		}
	}
}

// verdicts prints one line per cell and one column per guarantee.
func (p *printer) verdicts(t *table) {
	if len(t.checks) == 0 {
		return
	}
	b := block{titles: []string{"verdict per check", ""}, units: []string{"", ""}, left: []bool{true, true}, divider: []bool{false, false}}
	for _, g := range t.checks {
		b.titles = append(b.titles, clean(g))
		b.units = append(b.units, checkNames[g])
		b.left = append(b.left, true)
		b.divider = append(b.divider, false)
	}
	last := ""
	for _, r := range t.rows {
		row := blockRow{cells: []string{r.label(), clean(r.load)}, styles: []string{"", ""}, gap: last != "" && r.load != last}
		last = r.load
		for _, g := range t.checks {
			c, ok := r.checks[g]
			word, style := unknown, ""
			if ok && r.state() != stateInvalid {
				word, style = verdictWord(c), checkStyle(c.Verdict)
			}
			row.cells = append(row.cells, word)
			row.styles = append(row.styles, style)
		}
		b.rows = append(b.rows, row)
	}
	b.measure()
	p.line("", "")
	p.block(b)
	if note := t.unaskedNote(); note != "" {
		p.line(ansiDim, "  %s", note)
	}
}

// verdictWord is a check's outcome with how much it looked at.
func verdictWord(c result.Check) string {
	switch c.Verdict {
	case result.Pass:
		return fmt.Sprintf("pass %d", c.Judged)
	case result.Fail:
		return fmt.Sprintf("FAIL %d", max(c.Violations, 1))
	case result.Allowed:
		return fmt.Sprintf("fails %d (allowed)", max(c.Violations, 1))
	case result.NotJudged:
		return "not judged"
	}
	return "n/a"
}

func checkStyle(verdict string) string {
	switch verdict {
	case result.Pass:
		return ansiGreen
	case result.Fail:
		return ansiRed + ansiBold
	case result.Allowed:
		return ansiYellow
	}
	return ansiDim
}

// counterexamples prints the first of every failed check in full.
func (p *printer) counterexamples(t *table) {
	for _, e := range examples(t) {
		p.line("", "")
		p.line(ansiRed, "%s: %s", e.row.name(), clean(e.failure))
		for l := range strings.SplitSeq(e.text, "\n") {
			p.line("", "    %s", l)
		}
	}
}

// example is the first counterexample of one failed check.
type example struct {
	row     *row
	check   string
	verdict string
	failure string // in one line
	text    string // in full, cleaned
}

func examples(t *table) []example {
	var all []example
	for _, r := range t.rows {
		if r.state() == stateInvalid {
			continue
		}
		for _, g := range append(r.with(result.Fail), r.with(result.Allowed)...) {
			c := r.checks[g]
			text := strings.TrimSpace(cleanLines(c.Counterexample))
			if text == "" {
				text = "The record holds no counterexample."
			}
			all = append(all, example{row: r, check: g, verdict: c.Verdict, failure: r.failure(g), text: text})
		}
	}
	return all
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
