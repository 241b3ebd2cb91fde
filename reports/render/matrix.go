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
const matrixLegend = "pass and FAIL are asserted, (…) is only measured, n/a was not asked, ? could not be judged, fail* was expected of this profile."

// MatrixTerminal prints the fault matrix: faults down, guarantees across, then what
// failed and what proves nothing.
func MatrixTerminal(w io.Writer, m *result.Matrix, opts TerminalOptions) error {
	p := &printer{w: bufio.NewWriter(w), opts: opts}
	p.block(layout(matrixSheet(m)))
	for _, r := range matrixRemarks(m) {
		p.line("", "%s", r)
	}
	p.line("", "")
	p.line(ansiDim, "%s", matrixLegend)
	return p.w.Flush()
}

// MatrixMarkdown writes the same.
func MatrixMarkdown(w io.Writer, m *result.Matrix) error {
	d := &markdown{w: bufio.NewWriter(w)}
	d.printf("# Fault matrix, profile %s\n\n", md(m.Profile))
	d.sheet(matrixSheet(m))
	d.printf("\n%s\n", md(matrixLegend))
	if remarks := matrixRemarks(m); len(remarks) > 0 {
		d.printf("\n")
		for _, r := range remarks {
			d.printf("- %s\n", md(r))
		}
	}
	return d.w.Flush()
}

func matrixSheet(m *result.Matrix) sheet {
	s := sheet{Keys: []heading{{}, {Title: "fault"}, {Title: "scenario"}}}
	for _, c := range result.MatrixColumns {
		s.Heads = append(s.Heads, heading{Title: c.ID, Unit: c.Title, left: true})
	}
	s.Heads = append(s.Heads, heading{Title: "took", Unit: "s"}, heading{left: true})
	last := ""
	for i := range m.Entries {
		e := &m.Entries[i]
		r := sheetRow{Keys: []string{"", "", clean(scenarioName(e))}}
		if e.Row != last {
			r.Keys[0], r.Keys[1] = clean(e.Row), rowTitle(e.Row)
		}
		last = e.Row
		for _, c := range result.MatrixColumns {
			r.Cells = append(r.Cells, matrixCell(e, c.ID))
		}
		took := ""
		if e.Seconds > 0 {
			took = fixed(&e.Seconds, 0)
		}
		r.Cells = append(r.Cells, cell{Text: took}, matrixState(e))
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
	if e.NotBuilt != "" || e.Error != "" {
		return cell{Text: unknown}
	}
	x := e.Columns[col]
	v := shortVerdict(x.Verdict)
	switch x.Verdict {
	case result.Pass:
		if (col == "A" || col == "T") && x.Value != "" {
			v.Text += " " + clean(x.Value)
		}
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
		return cell{Text: "not built: " + clean(e.NotBuilt), tone: faint}
	case e.Error != "":
		return cell{Text: "aborted", tone: bad}
	case invalid != "":
		return cell{Text: "INVALID", tone: bad}
	case len(failed) > 0:
		return cell{Text: "FAILED", tone: bad}
	case len(e.Expected) > 0:
		return cell{Text: "fails as expected", tone: good}
	}
	return cell{Text: "ok", tone: good}
}

// matrixRemarks are what failed, what was retried and what proves nothing.
func matrixRemarks(m *result.Matrix) (remarks []string) {
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
		}
		if e.First != "" {
			say(" was retried; the first try: %s", e.First)
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
