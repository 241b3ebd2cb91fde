package render

import (
	"bufio"
	"fmt"
	"io"

	"github.com/watchbench/watchbench/reports/versus"
)

// Bounds on what a terminal shows of a comparison, unless all is asked for.
const (
	terminalFigures = 30
	terminalReasons = 12
)

// CompareTerminal prints what came out, the figures, and what was left out. Unless
// opts.Explain, it leaves out figures without a difference beyond the first few, and says
// so.
func CompareTerminal(w io.Writer, cmp *versus.Comparison, opts TerminalOptions) error {
	c := comparison{cmp}
	p := &printer{w: bufio.NewWriter(w), opts: opts}
	for i, r := range c.Runs {
		label := clean(r.Label)
		if opts.Width > 0 {
			label = clip(label, opts.Width/2)
		}
		p.line("", "%s: %s (%s, %s, seed %d, %d of %s valid)", c.Runs[i].Name, label,
			clean(orUnknown(r.Scenario)), when(r.Started), r.Seed, r.Valid, plural(r.Cells, "cell"))
	}
	p.line("", "")
	for i, s := range c.Sentences() {
		p.line(map[bool]string{true: ansiBold}[i%2 == 0], "%s", s)
	}
	if len(c.Differences) > 0 && opts.Explain {
		p.line("", "")
		p.sheet(c.Setup())
	}
	if shown := c.shown(opts.Explain); shown > 0 {
		p.line("", "")
		p.figures(c, shown)
		if more := len(c.Figures) - shown; more > 0 {
			p.line(ansiDim, "%s without a difference, or not comparable: --all", plural(more, "more figure"))
		}
	}
	left := c.LeftOut()
	for i, l := range left {
		if i == 0 {
			p.line("", "")
			p.line(ansiBold, "left out, and why")
		}
		if i == terminalReasons && !opts.Explain {
			p.line(ansiDim, "  … and %d more: --all", len(left)-i)
			break
		}
		p.line("", "  %s", l)
	}
	p.line("", "")
	for _, n := range c.Notes {
		p.line(ansiDim, "%s", clean(n))
	}
	return p.w.Flush()
}

// figures prints the table of the figures: a line each where there is room; else with what
// belongs to a value below it; else a run at a time.
func (p *printer) figures(c comparison, most int) {
	wide, narrow := c.grid(most), c.stacked(most, c.all()...)
	switch {
	case p.opts.Width <= 0 || wide.width() <= p.opts.Width:
		p.sheet(wide)
	case narrow.width() <= p.opts.Width || len(c.Runs) == 2:
		p.sheet(narrow)
	default:
		for i := range c.Runs[1:] {
			if i > 0 {
				p.line("", "")
			}
			p.sheet(c.stacked(most, 0, i+1))
		}
	}
}

// shown is how many figures a terminal shows: all that changed, and as many more as there
// is room for.
func (c comparison) shown(all bool) int {
	if all {
		return len(c.Figures)
	}
	changed := 0
	for _, f := range c.Figures {
		for _, s := range f.Sides[1:] {
			if s.Verdict != versus.NoDifference && s.Verdict != versus.NotComparable {
				changed++
				break
			}
		}
	}
	return min(len(c.Figures), max(changed, terminalFigures))
}

// CompareMarkdown writes the comparison for a pull request comment, in GitHub's dialect.
func CompareMarkdown(w io.Writer, c *versus.Comparison) error {
	return fill(w, markdownTemplates.Lookup("compare.md"), comparison{c})
}

// Changed are the figures that a terminal shows too.
func (c comparison) Changed() sheet { return c.grid(c.shown(false)) }

// Hidden is how many figures Changed leaves out.
func (c comparison) Hidden() string {
	if n := len(c.Figures) - c.shown(false); n > 0 {
		return fmt.Sprintf("All %d figures", len(c.Figures))
	}
	return ""
}
