package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// sheet is a table as terminal, Markdown and page draw it: key columns, then cells.
// Its texts are clean; each format escapes them in its own way.
type sheet struct {
	Keys  []heading
	Heads []heading
	Rows  []sheetRow
}

type heading struct {
	Title, Unit string
	group       group
	Divide      bool // a bar stands before the column
	left        bool // words, not figures
	Meaning     string
	marked      bool // Markdown shows a cell's tone by a sign
}

type sheetRow struct {
	row   *row // that it shows; nil in the fault matrix
	Keys  []string
	Cells []cell
	First bool   // begins another load: a gap or a line stands before it
	Void  string // why the cells have no figures
}

// cell is one value. Its tone never carries meaning alone.
type cell struct {
	Text string
	tone tone
	// Class, Word and Detail are a verdict as the page shows it.
	Class, Word, Detail string
}

type tone int

const (
	plain tone = iota
	good
	best // of its load
	bad
	warn
	faint
	void // stands for a row of missing figures
)

// Best and Estimated are asked by the page.
func (c cell) Best() bool { return c.tone == best }

// Estimated reports whether a figure was not waited for, or is a bound.
func (c cell) Estimated() bool {
	return strings.HasPrefix(c.Text, "~") || strings.HasPrefix(c.Text, "≥")
}

// Published and Own count the columns of each group; Figures are the headings but for
// that of the verdict.
func (s sheet) Published() int     { return len(ofGroup(published)) }
func (s sheet) Own() int           { return len(ofGroup(ours)) }
func (s sheet) Figures() []heading { return s.Heads[:len(s.Heads)-1] }

// throughput is the table of all measures of the given groups. The last column, the
// verdict, comes with our own.
func (t *table) throughput(groups ...group) sheet {
	s := sheet{Keys: []heading{{Title: "strategy"}, {Title: "load"}}}
	for _, k := range t.extra {
		s.Keys = append(s.Keys, heading{Title: clean(k)})
	}
	var shown []*column
	for _, g := range groups {
		for i, c := range ofGroup(g) {
			shown = append(shown, c)
			h := c.heading()
			h.Divide = i == 0
			s.Heads = append(s.Heads, h)
		}
	}
	withVerdict := slices.Contains(groups, ours)
	if withVerdict {
		s.Heads = append(s.Heads, checksHeading)
	}
	fastest := map[*row]bool{}
	for _, h := range headlines(t) {
		fastest[h.best] = true
	}
	for i, r := range t.rows {
		l := sheetRow{row: r, Keys: []string{clean(r.strategy), clean(r.load)}, First: i > 0 && r.load != t.rows[i-1].load}
		for _, v := range r.extra {
			l.Keys = append(l.Keys, clean(v))
		}
		for _, c := range shown {
			v := cell{Text: c.text(c.value(r))}
			if c == drain && fastest[r] {
				v.tone = best
			}
			l.Cells = append(l.Cells, v)
		}
		if r.state() == stateInvalid {
			l.Void = clean(strings.Join(r.cells[0].InvalidReasons, "; "))
			l.Cells = make([]cell, len(shown))
			l.Cells[0] = cell{Text: "invalid", tone: void}
		}
		if withVerdict {
			l.Cells = append(l.Cells, cell{Text: r.verdict(), tone: stateTone(r.state())})
		}
		s.Rows = append(s.Rows, l)
	}
	return s
}

func ofGroup(g group) []*column {
	return slices.DeleteFunc(slices.Clone(columns), func(c *column) bool { return c.group != g })
}

func stateTone(s state) tone {
	switch s {
	case statePassed:
		return good
	case stateFailed, stateInvalid:
		return bad
	}
	return warn
}

// verdicts is the table of the guarantees, one column each.
func (t *table) verdicts() sheet {
	s := sheet{Keys: []heading{{Title: "strategy"}, {Title: "load"}}}
	for _, g := range t.checks {
		s.Heads = append(s.Heads, heading{Title: clean(g), Unit: checkNames[g], Meaning: checkMeanings[g], left: true})
	}
	for i, r := range t.rows {
		l := sheetRow{row: r, Keys: []string{r.label(), clean(r.load)}, First: i > 0 && r.load != t.rows[i-1].load}
		for _, g := range t.checks {
			v := cell{Text: unknown, Class: "none", Word: unknown}
			if c, ok := r.checks[g]; ok && r.state() != stateInvalid {
				v = verdictCell(c)
			}
			l.Cells = append(l.Cells, v)
		}
		s.Rows = append(s.Rows, l)
	}
	return s
}

// verdictCell is a check's outcome with how much it looked at, and the same for the page.
func verdictCell(c result.Check) cell {
	violations := max(c.Violations, 1)
	many := plural(int(violations), "violation")
	v := cell{Text: "n/a", tone: faint, Class: c.Verdict, Word: "n/a", Detail: clean(c.Note)}
	switch c.Verdict {
	case result.Pass:
		v.Text, v.tone = fmt.Sprintf("pass %d", c.Judged), good
		v.Word, v.Detail = "✓ pass", fmt.Sprintf("%d judged", c.Judged)
	case result.Fail:
		v.Text, v.tone = fmt.Sprintf("FAIL %d", violations), bad
		v.Word, v.Detail = "✗ FAIL", many
	case result.Allowed:
		v.Text, v.tone = fmt.Sprintf("fails %d (allowed)", violations), warn
		v.Word, v.Detail = "✗ fails", many+", allowed"
	case result.NotJudged:
		v.Text, v.Word = "not judged", "not judged"
	}
	return v
}

// name is how notes refer to a row.
func (r *row) name() string { return r.label() + " / " + clean(r.load) }
