package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// matrixLegend explains the cells of the fault matrix.
const matrixLegend = "pass and FAIL are asserted, (…) is only measured, n/a was not asked, ? could not be judged, fail* was expected of this profile; O: how many pairs of writes could have been swapped, no power if too few."

// MatrixTerminal prints the fault matrix: faults down, guarantees across, then what
// failed and what proves nothing.
func MatrixTerminal(w io.Writer, m *result.Matrix, opts TerminalOptions) error {
	p := &printer{w: bufio.NewWriter(w), opts: opts}
	p.sheet(matrixSheet(m))
	for _, r := range matrixRemarks(m) {
		p.line("", "%s", r)
	}
	p.line("", "")
	p.line(ansiDim, "%s", matrixLegend)
	return p.w.Flush()
}

// MatrixMarkdown writes the same.
func MatrixMarkdown(w io.Writer, m *result.Matrix) error {
	return fill(w, markdownTemplates.Lookup("matrix.md"), map[string]any{
		"Profile": m.Profile, "Sheet": matrixSheet(m), "Legend": matrixLegend, "Remarks": matrixRemarks(m),
	})
}

func matrixSheet(m *result.Matrix) sheet {
	s := sheet{Keys: 3, Heads: words("", "fault", "scenario")}
	for _, c := range result.MatrixColumns {
		s.Heads = append(s.Heads, heading{Title: c.ID, Unit: c.Title, Left: true})
	}
	s.Heads = append(s.Heads, heading{Title: "took", Unit: "s"}, heading{Left: true})
	last := ""
	for i := range m.Entries {
		e := &m.Entries[i]
		var r sheetRow
		if e.Row != last {
			r.add(clean(e.Row), rowTitle(e.Row))
		} else {
			r.add("", "")
		}
		last = e.Row
		r.add(clean(scenarioName(e)))
		for _, c := range result.MatrixColumns {
			r.Cells = append(r.Cells, matrixCell(e, c.ID))
		}
		took := ""
		if e.Seconds > 0 {
			took = fixed(&e.Seconds, 0)
		}
		r.add(took)
		r.Cells = append(r.Cells, matrixState(e))
		s.Rows = append(s.Rows, r)
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

func matrixCell(e *result.MatrixEntry, col string) cell {
	x, known := e.Columns[col]
	if e.NotBuilt != "" || e.NotRun || e.Error != "" && !known {
		return cell{Text: unknown}
	}
	v := shortVerdict(x.Verdict)
	switch x.Verdict {
	case result.Pass:
		if (col == "A" || col == "T") && x.Value != "" {
			v.Text += " " + clean(x.Value)
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
		v = cell{Text: "(" + clean(cmp.Or(x.Value, "ok")) + ")"}
	}
	return v
}

// matrixState is the last column.
func matrixState(e *result.MatrixEntry) cell {
	failed, invalid := e.Verdict()
	switch {
	case e.NotBuilt != "":
		return cell{Text: clean(e.NotBuilt), tone: faint}
	case e.NotRun:
		return cell{Text: "not run", tone: faint}
	case e.Error != "" && len(failed) > 0:
		return cell{Text: "FAILED, aborted", tone: bad}
	case e.Error != "":
		return cell{Text: "aborted", tone: bad}
	case invalid != "" && len(failed) > 0:
		return cell{Text: "FAILED, INVALID", tone: bad}
	case invalid != "":
		return cell{Text: "INVALID", tone: bad}
	case len(failed) > 0:
		return cell{Text: "FAILED", tone: bad}
	case len(e.Expected) > 0:
		return cell{Text: "fails as expected", tone: good}
	}
	return cell{Text: "ok", tone: good}
}

// matrixRemarks are how many scenarios were retried, what failed and what proves nothing.
func matrixRemarks(m *result.Matrix) (remarks []string) {
	if n := len(m.Retries); n > 0 {
		remarks = append(remarks, fmt.Sprintf("%d scenarios needed a second try; at most %d may", n, result.MostRetries))
	}
	for _, r := range m.Retries {
		remarks = append(remarks, clean(fmt.Sprintf("%s was run again; the first try: %s", r.Scenario, r.Why)))
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		say := func(format string, args ...any) {
			name := strings.TrimSpace(e.Row + " " + e.Scenario + " " + e.Cell)
			remarks = append(remarks, clean(name+fmt.Sprintf(format, args...)))
		}
		for _, c := range result.MatrixColumns {
			if x, ok := e.Columns[c.ID]; ok && x.Verdict == result.Fail {
				say(" %s: %s", c.ID, x.Detail)
			}
			if x := e.Columns[c.ID]; x.Verdict == result.NoPower && e.NoPower != "" {
				say(" %s has %s: %s", c.ID, noPower(x.Power, x.MinPower), e.NoPower)
			}
		}
		var counts []string
		for _, f := range e.Facts {
			if f.Least == nil {
				continue
			}
			text := fmt.Sprintf("%s: %.0f (at least %.0f)", f.Name, f.Value, *f.Least)
			if f.Detail != "" {
				text += ", " + f.Detail
			}
			counts = append(counts, text)
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
