package render

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

const matrixLegend = "pass and FAIL are asserted, (…) is only measured, n/a was not asked, ? could not be judged, " +
	"fail* was expected " +
	"of this profile; O: how many pairs of writes could have been swapped, no power if too few."

// WriteMatrix writes the fault matrix into its folder, as matrix.json and matrix.md.
func WriteMatrix(dir string, m *result.Matrix) error {
	return errors.Join(
		result.Replace(filepath.Join(dir, result.MatrixFile), func(w io.Writer) error { return result.EncodeJSON(w, m) }),
		result.Replace(filepath.Join(dir, "matrix.md"), func(w io.Writer) error {
			return DocumentMarkdown(w, Matrix(m, ""))
		}),
	)
}

const pageFile = "index.html"

// WriteMatrixPage writes index.html into a matrix's folder, with links to the pages of the runs that have one.
func WriteMatrixPage(dir string, m *result.Matrix) error {
	return result.Replace(filepath.Join(dir, pageFile), func(w io.Writer) error {
		return DocumentHTML(w, Matrix(m, dir))
	})
}

// runPage is the address of a run's page from the matrix's; empty if there is none. A name that leads
// elsewhere is not followed.
func runPage(dir string, e *result.MatrixEntry) string {
	if dir == "" || !filepath.IsLocal(e.Dir) || filepath.Base(e.Dir) != e.Dir {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, e.Dir, pageFile)); err != nil {
		return ""
	}
	return "./" + url.PathEscape(e.Dir) + "/" + pageFile
}

// Matrix reports the fault matrix: faults down, guarantees across, then what failed and what proves nothing. The pages
// of runs that are in its folder, dir, are linked.
func Matrix(m *result.Matrix, dir string) *Document {
	d := &Document{Title: "Fault matrix, profile " + orUnknown(m.Profile), Last: true}
	d.Verdicts = []Cell{{Text: matrixAnswer(m), Tone: sumUp(m).state(m).tone()}}
	d.add(Section{ID: "matrix", Title: "Faults down, guarantees across", Table: matrixTable(m, dir),
		Notes: []string{matrixLegend}})
	d.add(Section{ID: "remarks", Title: "What failed, what proves nothing", Notes: matrixRemarks(m)})
	guarantees := Table{Heads: Heads("column", "guarantee", "what it asks")}
	for _, c := range result.MatrixColumns {
		guarantees.Rows = append(guarantees.Rows, Cells(c.ID, c.Title, c.Meaning))
	}
	d.add(Section{ID: "guarantees", Title: "Guarantees", Place: OnPage, Table: guarantees})
	return d
}

func matrixTable(m *result.Matrix, dir string) Table {
	s := Table{Heads: Heads("", "fault", "scenario")}
	for _, c := range result.MatrixColumns {
		s.Heads = append(s.Heads, Head{Title: c.ID, Unit: c.Title, Meaning: c.Meaning, Words: true})
	}
	s.Heads = append(s.Heads, Head{Title: "took", Unit: "s"}, Head{Words: true})
	for i := range m.Entries {
		e := &m.Entries[i]
		cells := []Cell{{}, {}, {Text: scenarioName(e), Link: runPage(dir, e)}}
		if i == 0 || m.Entries[i-1].Row != e.Row {
			cells[0], cells[1] = Cell{Text: e.Row}, Cell{Text: rowTitle(e.Row)}
		}
		for _, c := range result.MatrixColumns {
			cells = append(cells, matrixCell(e, c.ID))
		}
		took := Cell{}
		if e.Seconds > 0 {
			took.Text = fixed(&e.Seconds, 0)
		}
		s.Rows = append(s.Rows, append(cells, took, matrixState(e)))
	}
	return s
}

func scenarioName(e *result.MatrixEntry) string {
	if e.Cell == "" || e.Cell == "only" {
		return e.Scenario
	}
	return e.Scenario + " " + e.Cell
}

func rowTitle(id string) string {
	for _, r := range result.MatrixRows {
		if r.ID == id {
			return r.Title
		}
	}
	return ""
}

func matrixCell(e *result.MatrixEntry, col string) Cell {
	x, known := e.Columns[col]
	if e.NotBuilt != "" || e.NotRun || e.Error != "" && !known {
		return Cell{Text: unknown}
	}
	v := shortVerdict(x.Verdict)
	switch x.Verdict {
	case result.Pass:
		if (col == "A" || col == "T") && x.Value != "" {
			v.Text += " " + x.Value
		}
		if x.Power != nil {
			v.Text += fmt.Sprintf(" (%d)", *x.Power)
		}
	case result.NoPower:
		v.Text = noPower(x.Power, x.MinPower)
	case result.Fail, result.Allowed:
		v = shortVerdict(result.Fail)
		if slices.Contains(e.Expected, col) {
			v = shortVerdict(result.Allowed)
		}
	case result.Measured:
		v = Cell{Text: "(" + cmp.Or(x.Value, "ok") + ")"}
	}
	return v
}

func matrixState(e *result.MatrixEntry) Cell {
	failed, invalid := e.Verdict()
	var bad []string
	if len(failed) > 0 {
		bad = append(bad, "FAILED")
	}
	if e.Error != "" {
		bad = append(bad, "aborted")
	} else if invalid != "" {
		bad = append(bad, "INVALID")
	}
	switch {
	case e.NotBuilt != "":
		return Cell{Text: e.NotBuilt, Tone: Faint}
	case e.NotRun:
		return Cell{Text: "not run", Tone: Faint}
	case len(bad) > 0:
		return Cell{Text: strings.Join(bad, ", "), Tone: Bad}
	case len(e.Expected) > 0:
		return Cell{Text: "fails as expected", Tone: Good}
	}
	return Cell{Text: "ok", Tone: Good}
}

func matrixRemarks(m *result.Matrix) (remarks []string) {
	if n := len(m.Retries); n > 0 {
		remarks = append(remarks, fmt.Sprintf("%d scenarios needed a second try; at most %d may", n, result.MostRetries))
	}
	for _, r := range m.Retries {
		remarks = append(remarks, fmt.Sprintf("%s was run again; the first try: %s", r.Scenario, r.Why))
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		say := func(format string, args ...any) {
			name := strings.TrimSpace(e.Row + " " + e.Scenario + " " + e.Cell)
			remarks = append(remarks, name+fmt.Sprintf(format, args...))
		}
		for _, c := range result.MatrixColumns {
			x := e.Columns[c.ID]
			if x.Verdict == result.Fail {
				say(" %s: %s", c.ID, x.Detail)
			}
		}
		var counts []string
		for _, f := range e.Facts {
			if f.Least != nil {
				counts = append(counts, fmt.Sprintf("%s: %.0f (at least %.0f)%s", f.Name, f.Value, *f.Least, leading(", ",
					f.Detail)))
			}
		}
		if len(counts) > 0 {
			say(": %s", strings.Join(counts, "; "))
		}
		for _, why := range e.Invalid {
			say(" is invalid: %s", why)
		}
		if e.Error != "" {
			say(" was aborted: %s", e.Error)
		}
	}
	return remarks
}

type matrixSums struct {
	rows                            map[string]bool // rows other than F0 of which something was run
	run, expected, notBuilt, notRun int
	failed, invalid                 []string
}

func sumUp(m *result.Matrix) *matrixSums {
	s := &matrixSums{rows: map[string]bool{}}
	for i := range m.Entries {
		e := &m.Entries[i]
		switch {
		case e.NotBuilt != "":
			s.notBuilt++
			continue
		case e.NotRun:
			s.notRun++
			continue
		}
		s.run++
		if e.Row != "F0" {
			s.rows[e.Row] = true
		}
		name := strings.TrimSpace(e.Row + " " + scenarioName(e))
		failed, invalid := e.Verdict()
		switch {
		case len(failed) > 0:
			s.failed = append(s.failed, name+" ("+strings.Join(failed, ", ")+")")
		case invalid != "":
			s.invalid = append(s.invalid, name)
		case len(e.Expected) > 0:
			s.expected++
		}
	}
	return s
}

func (s *matrixSums) state(m *result.Matrix) state {
	switch {
	case len(s.failed) > 0:
		return stateFailed
	case len(s.invalid) > 0 || s.run == 0 || len(m.Retries) > result.MostRetries:
		return stateInvalid
	case s.notRun > 0:
		return stateOpen
	}
	return statePassed
}

// namedInAnswer bounds the names in the answer; all are in the table.
const namedInAnswer = 6

func matrixAnswer(m *result.Matrix) string {
	s := sumUp(m)
	if s.run == 0 {
		return "Nothing was run, so nothing is known."
	}
	few := func(names []string) string { return join(others(names, namedInAnswer)) }
	text := fmt.Sprintf("%s in %s, watcher profile %s", plural(len(s.rows), "fault"), plural(s.run, "cell"),
		orUnknown(m.Profile))
	if m.Seconds > 0 {
		text += ", in " + span(m.Seconds)
	}
	switch {
	case len(s.failed) > 0:
		text += fmt.Sprintf(": asserted guarantees failed in %d: %s.", len(s.failed), few(s.failed))
	case s.expected == s.run:
		text += ": every cell fails as expected of this profile."
	case len(s.invalid) == s.run:
		text += ": no cell proves anything."
	case len(s.invalid) > 0:
		text += ": every asserted guarantee held in the cells that prove something."
	default:
		text += ": every asserted guarantee held."
	}
	if n := len(s.invalid); n > 0 {
		text += fmt.Sprintf(" %d of %d prove nothing: %s.", n, s.run, few(s.invalid))
	}
	for _, c := range []struct {
		n    int
		what string
	}{{s.expected % s.run, "failed as expected of this profile"}, {len(m.Retries), "run again, as they proved nothing"},
		{s.notRun, "not run"}, {s.notBuilt, "not in this table: make robustness has them"}} {
		if c.n > 0 {
			text += fmt.Sprintf(" %d %s.", c.n, c.what)
		}
	}
	return text
}
