package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// sheet is a table as terminal, Markdown and page draw it. Its texts are clean; each
// format escapes them in its own way.
type sheet struct {
	Keys  int // columns at the left that name the line
	Heads []heading
	Rows  []sheetRow
}

type heading struct {
	Title, Unit string
	Meaning     string
	Def         string // the anchor of the definition on the page, where there is one
	Left        bool   // words, not figures
	Divide      bool   // a bar stands before the column
	marked      bool   // Markdown shows a cell's tone by a sign
}

// words are headings of columns of words.
func words(titles ...string) (heads []heading) {
	for _, t := range titles {
		heads = append(heads, heading{Title: t, Left: true})
	}
	return heads
}

type sheetRow struct {
	Cells []cell
	First bool   // begins another load: a gap or a line stands before it
	Void  string // why the cells have no figures; with what was found in spite of it
	State state  // of the row that it shows
	Color string // that row's in the charts
}

// add appends cells without a tone.
func (l *sheetRow) add(texts ...string) {
	for _, t := range texts {
		l.Cells = append(l.Cells, cell{Text: t})
	}
}

// cell is one value. Its tone never carries meaning alone.
type cell struct {
	Text   string
	Spread string // how far its interval reaches, and its own n where that is less than the row's
	tone   tone
	// Class, Word and Detail are a verdict as the page shows it.
	Class, Word, Detail string
}

type tone int

const (
	plain tone = iota
	good
	best // of its load, and apart from all others
	bad
	warn
	faint
	void // stands for a row of missing figures
)

// Tone is the tone as a class of the page; "" for the usual one.
func (c cell) Tone() string { return map[tone]string{good: "good", bad: "bad", warn: "warned"}[c.tone] }

// Best reports whether a figure is the best of its load.
func (c cell) Best() bool { return c.tone == best }

// Estimated reports whether a figure was not waited for, or is a bound.
func (c cell) Estimated() bool {
	return strings.HasPrefix(c.Text, "~") || strings.HasPrefix(c.Text, "≥")
}

// sheet has a line per row, which begins with the row's names.
func (t *table) sheet(keys []heading, names func(*row) []string) sheet {
	s := sheet{Keys: len(keys), Heads: keys}
	for i, r := range t.rows {
		l := sheetRow{First: i > 0 && r.load != t.rows[i-1].load, State: r.state(), Color: r.color()}
		l.add(names(r)...)
		s.Rows = append(s.Rows, l)
	}
	return s
}

// labelled has two columns of names.
func (t *table) labelled() sheet {
	return t.sheet(words(t.who(), "load"), func(r *row) []string { return []string{r.label(), clean(r.load)} })
}

// Grid is the whole throughput table.
func (t *table) Grid() sheet { return t.throughput(published, ours) }

// PageGrid is the same for the page, what matters most first.
func (t *table) PageGrid() sheet { return t.throughput(outcome, published, []*column{efficiency}) }

// Costs is the table of the further measures.
func (t *table) Costs() sheet { return t.throughput(titled(further)) }

// throughput is the table of the measures of the given groups.
func (t *table) throughput(groups ...[]*column) sheet {
	keys := words(t.who(), "load")
	for _, k := range t.extra {
		keys = append(keys, words(axis(k))...)
	}
	keys = append(keys, heading{Title: "n"})
	s := t.sheet(keys, func(r *row) []string {
		names := []string{clean(r.strategy), clean(r.load)}
		for _, v := range r.extra {
			names = append(names, clean(v))
		}
		return append(names, r.count())
	})
	for _, g := range groups {
		for i, c := range g {
			s.Heads = append(s.Heads, c.heading(i == 0))
		}
	}
	winners := t.winners()
	for i, r := range t.rows {
		l := &s.Rows[i]
		if r.void() {
			l.Void = clean(strings.Join(r.cells[0].InvalidReasons, "; "))
			if f := r.with(result.Fail); len(f) > 0 {
				l.Void += "; FAIL " + clean(strings.Join(f, " "))
			}
		}
		why := r.void() // not said yet
		for _, c := range slices.Concat(groups...) {
			reading := c.measure(r)
			v := cell{Text: c.text(reading), Spread: reading.below(len(r.valid))}
			switch {
			case c == verdict:
				v.tone = stateTone(l.State)
			case why:
				v, why = cell{Text: "invalid", tone: void}, false
			case r.void():
				v = cell{}
			case c == drain && winners[r]:
				v.tone = best
			}
			l.Cells = append(l.Cells, v)
		}
	}
	return s
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

// Verdicts is the table of the guarantees, one column each.
func (t *table) Verdicts() sheet {
	s := t.labelled()
	for _, g := range t.checks {
		s.Heads = append(s.Heads, heading{Title: clean(g), Unit: guarantees[g].name, Meaning: guarantees[g].meaning, Left: true})
		for i, r := range t.rows {
			v := cell{Text: unknown, Class: "none", Word: unknown}
			if c, ok := r.checks[g]; ok {
				v = verdictCell(c)
			}
			s.Rows[i].Cells = append(s.Rows[i].Cells, v)
		}
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
	case result.NoPower:
		v.Text, v.tone = noPower(c.Power, c.MinPower), warn
		v.Word, v.Detail = v.Text, fmt.Sprintf("%d judged", c.Judged)
	case result.NotJudged:
		v.Text, v.Word = "not judged", "not judged"
	}
	return v
}

// flowHeads are the columns of the conservation table (G6).
var flowHeads = []string{"received", "sent", "coalesced", "filtered", "parked", "queued", "dropped", "retried"}

// account is what the cell's watcher says of its events; nil for one that says nothing, whose
// record has its losses alone.
func account(c *result.Cell) *result.Events {
	if e := c.Events; e != nil && (c.Handler.Strategy != result.External || e.Received > 0) {
		return e
	}
	return nil
}

// Flows is the table of the events' whereabouts and of what limited each valid row.
func (t *table) Flows() sheet {
	s := t.labelled()
	for _, title := range flowHeads {
		s.Heads = append(s.Heads, heading{Title: title})
	}
	s.Heads = append(s.Heads, words("bottleneck", "because")...)
	all := s.Rows
	s.Rows = nil
	for i, r := range t.rows {
		if r.void() {
			continue
		}
		c, l := r.representative(), &all[i]
		if e := account(c); e != nil {
			for _, n := range []int64{e.Received, e.Sent, e.Coalesced, e.Filtered, e.Parked, e.Queued, e.Dropped, e.Retried} {
				l.add(fmt.Sprint(n))
			}
		} else {
			l.add(slices.Repeat([]string{unknown}, len(flowHeads))...)
		}
		l.add(clean(orUnknown(c.Bottleneck.Stage)), clean(c.Bottleneck.Why))
		s.Rows = append(s.Rows, *l)
	}
	return s
}

// spreads is the line below a row with how far the intervals reach.
func (l *sheetRow) spreads() sheetRow {
	var s sheetRow
	for _, c := range l.Cells {
		s.add(c.Spread)
	}
	return s
}
