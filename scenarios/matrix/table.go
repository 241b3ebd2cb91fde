package matrix

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/watchbench/watchbench/reports/result"
)

// Entry is what one cell of one scenario came to.
type Entry struct {
	Row      string                   `json:"row"`
	Title    string                   `json:"title"`
	Scenario string                   `json:"scenario,omitempty"`
	Cell     string                   `json:"cell,omitempty"`
	Columns  map[string]result.Column `json:"columns,omitempty"`
	Facts    []result.Fact            `json:"facts,omitempty"`
	Fired    map[string]int64         `json:"fired,omitempty"`
	Keys     map[string]int64         `json:"keys,omitempty"`
	Expected []string                 `json:"expectedToFail,omitempty"`
	Invalid  []string                 `json:"invalid,omitempty"`
	Error    string                   `json:"error,omitempty"` // the run broke off
	NotBuilt string                   `json:"notBuilt,omitempty"`
	Seconds  float64                  `json:"seconds,omitempty"`
	// First is what a first try came to that was repeated; see Repeat.
	First string `json:"firstTry,omitempty"`
	Dir   string `json:"dir,omitempty"`
}

// Matrix is the whole.
type Matrix struct {
	Schema  string  `json:"schema"`
	Profile string  `json:"profile"`
	Seconds float64 `json:"seconds"`
	Entries []Entry `json:"entries"`
}

// Schema names the format of matrix.json.
const Schema = "watchbench/matrix/v1"

// FromCell is the entry of a finished cell.
func FromCell(scenario string, c result.Cell) Entry {
	e := Entry{Scenario: scenario, Cell: c.ID, Invalid: c.InvalidReasons}
	if r := c.Robustness; r != nil {
		e.Row, e.Title, e.Columns, e.Facts, e.Fired, e.Keys, e.Expected = r.Row, r.Title, r.Columns, r.Facts, r.Fired, r.Keys, r.Expected
	}
	return e
}

// Complete sorts the entries by row and adds the rows that have none; asked are the
// rows that were to be run, empty for all.
func (m *Matrix) Complete(asked []string) {
	have := map[string]bool{}
	for _, e := range m.Entries {
		have[e.Row] = true
	}
	for _, r := range Rows {
		if have[r.ID] || len(asked) > 0 && !slices.Contains(asked, r.ID) {
			continue
		}
		why := r.NotBuilt
		if why == "" {
			why = "no scenario ran"
		}
		m.Entries = append(m.Entries, Entry{Row: r.ID, Title: r.Title, NotBuilt: why})
	}
	slices.SortStableFunc(m.Entries, func(a, b Entry) int { return number(a.Row) - number(b.Row) })
}

// Verdict sums up an entry: failed are asserted columns that failed (with an expected
// failure, those that did not), invalid is why it proves nothing.
func (e *Entry) Verdict() (failed []string, invalid string) {
	switch {
	case e.NotBuilt != "":
		return nil, ""
	case e.Error != "":
		return nil, e.Error
	}
	for _, c := range Columns {
		x, ok := e.Columns[c.ID]
		expected := slices.Contains(e.Expected, c.ID)
		switch {
		case !ok:
		case x.Verdict == result.Fail && !expected && len(e.Expected) == 0:
			failed = append(failed, c.ID)
		case x.Verdict != result.Fail && expected:
			failed = append(failed, c.ID+" was to fail")
		}
	}
	return failed, strings.Join(e.Invalid, "; ")
}

// text is one cell of the table.
func (e *Entry) text(col string) string {
	x, ok := e.Columns[col]
	if !ok {
		return "n/a"
	}
	switch x.Verdict {
	case result.Pass:
		if (col == "A" || col == "T") && x.Value != "" {
			return "pass " + x.Value
		}
		return "pass"
	case result.Fail, result.Allowed:
		if slices.Contains(e.Expected, col) {
			return "fail*"
		}
		return "FAIL"
	case result.Measured:
		if x.Value != "" {
			return "(" + x.Value + ")"
		}
		return "(ok)"
	case result.NotJudged:
		return "?"
	}
	return "n/a"
}

// state is the last column.
func (e *Entry) state() string {
	failed, invalid := e.Verdict()
	switch {
	case e.NotBuilt != "":
		return "not built: " + e.NotBuilt
	case e.Error != "":
		return "broke off"
	case invalid != "":
		return "INVALID"
	case len(failed) > 0:
		return "FAILED"
	case len(e.Expected) > 0:
		return "fails as expected"
	}
	return "ok"
}

func (m *Matrix) lines() (head []string, rows [][]string) {
	head = []string{"", "fault", "scenario"}
	for _, c := range Columns {
		head = append(head, c.ID+" "+c.Title)
	}
	head = append(head, "s", "")
	last := ""
	for i := range m.Entries {
		e := &m.Entries[i]
		r, _ := rowOf(e.Row)
		id, title := e.Row, r.Title
		if id == last {
			id, title = "", ""
		}
		last = e.Row
		name := e.Scenario
		if e.Cell != "" && e.Cell != "only" {
			name += " " + e.Cell
		}
		row := []string{id, title, name}
		for _, c := range Columns {
			if e.NotBuilt != "" || e.Error != "" {
				row = append(row, "–")
				continue
			}
			row = append(row, e.text(c.ID))
		}
		took := ""
		if e.Seconds > 0 {
			took = fmt.Sprintf("%.0f", e.Seconds)
		}
		rows = append(rows, append(row, took, e.state()))
	}
	return head, rows
}

// Text is the table for a terminal.
func (m *Matrix) Text() string {
	head, rows := m.lines()
	width := make([]int, len(head))
	for _, r := range append([][]string{head}, rows...) {
		for i, x := range r {
			width[i] = max(width[i], utf8.RuneCountInString(x))
		}
	}
	var b strings.Builder
	line := func(r []string) {
		for i, x := range r {
			b.WriteString(x)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(x)+2))
			}
		}
		b.WriteByte('\n')
	}
	line(head)
	for _, r := range rows {
		line(r)
	}
	for _, r := range m.Remarks() {
		b.WriteString(r + "\n")
	}
	return b.String()
}

// Markdown is the same table.
func (m *Matrix) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Fault matrix, profile %s\n\n", m.Profile)
	head, rows := m.lines()
	cell := func(s string) string { return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s) }
	row := func(r []string) {
		for _, x := range r {
			b.WriteString("| " + cell(x) + " ")
		}
		b.WriteString("|\n")
	}
	row(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		row(r)
	}
	fmt.Fprintf(&b, "\n%s\n", Legend)
	if remarks := m.Remarks(); len(remarks) > 0 {
		b.WriteString("\n")
		for _, r := range remarks {
			b.WriteString("- " + cell(r) + "\n")
		}
	}
	return b.String()
}

// Legend explains the cells.
const Legend = "pass and FAIL are asserted, (…) is only measured, n/a was not asked, ? could not be judged, fail* was expected of this profile."

// Remarks tell what failed and what is invalid.
func (m *Matrix) Remarks() []string {
	var out []string
	for i := range m.Entries {
		e := &m.Entries[i]
		name := strings.TrimSpace(e.Row + " " + e.Scenario + " " + e.Cell)
		for _, c := range Columns {
			if x, ok := e.Columns[c.ID]; ok && x.Verdict == result.Fail {
				out = append(out, fmt.Sprintf("%s %s: %s", name, c.ID, x.Detail))
			}
		}
		if e.First != "" {
			out = append(out, name+" was repeated; the first try: "+e.First)
		}
		for _, why := range e.Invalid {
			out = append(out, name+" is invalid: "+why)
		}
		if e.Error != "" {
			out = append(out, name+" broke off: "+e.Error)
		}
	}
	return out
}
