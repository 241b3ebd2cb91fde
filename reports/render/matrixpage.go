package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/assets"
	"github.com/watchbench/watchbench/reports/result"
)

// matrixPageFile is the name of the page in the matrix's folder.
const matrixPageFile = "index.html"

// SavedCell is what the folder of an entry's run still holds.
type SavedCell struct {
	Cell   *result.Cell // nil if it cannot be shown
	Why    string       // there is no cell
	Report string       // address of the run's page from the matrix's; empty if there is none
}

// MatrixHTML writes the fault matrix as one file, with a timeline of each cell that saved
// finds. Nothing outside the file is needed to read it.
func MatrixHTML(w io.Writer, m *result.Matrix, saved func(*result.MatrixEntry) SavedCell) error {
	script, _ := assets.ECharts()
	return writeMatrixPage(w, m, saved, script)
}

// WriteMatrixPage writes index.html into a matrix's folder, with the timelines of the runs
// that are saved there.
func WriteMatrixPage(dir string, m *result.Matrix) error {
	runs := map[string]savedRun{}
	saved := func(e *result.MatrixEntry) SavedCell {
		if _, known := runs[e.Dir]; !known {
			runs[e.Dir] = loadSaved(dir, e.Dir)
		}
		return runs[e.Dir].cell(e.Cell)
	}
	return result.Replace(filepath.Join(dir, matrixPageFile), func(w io.Writer) error { return MatrixHTML(w, m, saved) })
}

type savedRun struct {
	cells  []result.Cell
	why    string
	report string
}

// loadSaved reads the run in a folder of the matrix's. A name that leads elsewhere is not
// followed.
func loadSaved(dir, name string) (r savedRun) {
	if name == "" {
		return savedRun{why: "The run left no folder."}
	}
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return savedRun{why: fmt.Sprintf("%s is not the name of a folder of this matrix.", name)}
	}
	if _, err := os.Stat(filepath.Join(dir, name, matrixPageFile)); err == nil {
		r.report = "./" + url.PathEscape(name) + "/" + matrixPageFile
	}
	res, err := result.LoadFile(filepath.Join(dir, name, result.FileName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.why = fmt.Sprintf("The folder %s is gone, or has no %s: there is no timeline.", name, result.FileName)
	case err != nil:
		r.why = fmt.Sprintf("%s of the folder %s cannot be read: %s", result.FileName, name, strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	default:
		r.cells = res.Cells
	}
	return r
}

func (r savedRun) cell(id string) SavedCell {
	s := SavedCell{Report: r.report, Why: r.why}
	if i := slices.IndexFunc(r.cells, func(c result.Cell) bool { return c.ID == id }); i >= 0 {
		s.Cell = &r.cells[i]
	} else if s.Why == "" {
		s.Why = fmt.Sprintf("%s has no cell %q: the run was aborted before it ended.", result.FileName, id)
	}
	return s
}

type matrixPage struct {
	shell
	m         *result.Matrix
	Lines     []matrixLine
	Timelines []*timeline
}

// matrixLine is an entry as the page's table shows it.
type matrixLine struct {
	ID         string // of its timeline; empty if it was not run
	First      bool   // of its row
	Row, Fault string
	Scenario   string
	Cells      []cell
	Took       string
	State      cell
}

func writeMatrixPage(w io.Writer, m *result.Matrix, saved func(*result.MatrixEntry) SavedCell, echarts []byte) error {
	p := matrixPage{shell: newShell(echarts), m: m}
	for i := range m.Entries {
		e := &m.Entries[i]
		l := matrixLine{
			First: i == 0 || m.Entries[i-1].Row != e.Row, Row: clean(e.Row), Scenario: clean(scenarioName(e)), Fault: rowTitle(e.Row), State: matrixState(e), Took: unknown,
		}
		if e.Title != "" && e.Title != l.Fault {
			l.Fault = clean(e.Title)
		}
		if e.Seconds > 0 {
			l.Took = fixed(&e.Seconds, 0)
		}
		if e.NotBuilt == "" && !e.NotRun {
			l.ID = fmt.Sprintf("cell%d", i+1)
			p.Timelines = append(p.Timelines, newTimeline(l.ID, e, saved(e)))
		}
		for _, c := range result.MatrixColumns {
			v := matrixCell(e, c.ID)
			v.Detail = clean(e.Columns[c.ID].Detail)
			l.Cells = append(l.Cells, v)
		}
		p.Lines = append(p.Lines, l)
	}
	return p.fit(w)
}

// fit fills the page with the charts for which there is room, the first of each timeline first.
func (p *matrixPage) fit(w io.Writer) error {
	all := make([][]*chart, len(p.Timelines))
	for i, t := range p.Timelines {
		all[i], t.Charts = t.Charts, nil
	}
	var around bytes.Buffer
	if err := fill(&around, pageTemplates.Lookup("matrix.html"), p); err != nil {
		return err
	}
	r := &room{left: mostPage - around.Len()}
	for n, more := 0, true; more; n++ {
		more = false
		for i, t := range p.Timelines {
			if n < len(all[i]) {
				more, t.Charts = true, append(t.Charts, r.take(all[i][n:n+1])...)
			}
		}
	}
	for i, t := range p.Timelines {
		t.Notes = append(t.Notes, undrawnNote(len(all[i])-len(t.Charts))...)
	}
	if r.err != nil {
		return fmt.Errorf("draw the charts: %w", r.err)
	}
	return fill(w, pageTemplates.Lookup("matrix.html"), p)
}

func (p matrixPage) Title() string                     { return "Fault matrix" }
func (p matrixPage) Legend() string                    { return matrixLegend }
func (p matrixPage) Remarks() []string                 { return matrixRemarks(p.m) }
func (p matrixPage) Guarantees() []result.MatrixColumn { return result.MatrixColumns }

// Outcome is the answer's class on the page.
func (p matrixPage) Outcome() state {
	switch s := sumUp(p.m); {
	case len(s.failed) > 0:
		return stateFailed
	case len(s.invalid) > 0 || s.run == 0 || len(p.m.Retries) > result.MostRetries:
		return stateInvalid
	case s.notRun > 0:
		return stateOpen
	}
	return statePassed
}

// Answer is what the matrix came to, in a paragraph.
func (p matrixPage) Answer() string { return matrixAnswer(p.m) }

// matrixSums counts entries.
type matrixSums struct {
	rows                            map[string]bool // rows other than F0 of which something was run
	run, expected, notBuilt, notRun int
	failed, invalid                 []string
}

func sumUp(m *result.Matrix) (s matrixSums) {
	s.rows = map[string]bool{}
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

// namedInAnswer bounds the names in the answer; all are in the table.
const namedInAnswer = 6

func matrixAnswer(m *result.Matrix) string {
	s := sumUp(m)
	if s.run == 0 {
		return "Nothing was run, so nothing is known."
	}
	few := func(names []string) string {
		if n := len(names); n > namedInAnswer {
			names = append(slices.Clone(names[:namedInAnswer]), fmt.Sprintf("%d more", n-namedInAnswer))
		}
		return join(names)
	}
	text := fmt.Sprintf("%s in %s, watcher profile %s", plural(len(s.rows), "fault"), plural(s.run, "cell"), orUnknown(m.Profile))
	if m.Seconds > 0 {
		text += ", in " + span(m.Seconds)
	}
	switch {
	case len(s.failed) > 0:
		text += fmt.Sprintf(": asserted guarantees failed in %d: %s.", len(s.failed), few(s.failed))
	case s.expected > 0 && s.expected == s.run:
		text += ": every cell fails as expected of this profile."
	case len(s.invalid) == s.run:
		text += ": no cell proves anything."
	default:
		text += ": every asserted guarantee held"
		if len(s.invalid) > 0 {
			text += " in the cells that prove something"
		}
		text += "."
	}
	if s.expected > 0 && s.expected < s.run {
		text += fmt.Sprintf(" %d failed as expected of this profile.", s.expected)
	}
	if n := len(s.invalid); n > 0 {
		text += fmt.Sprintf(" %d of %d prove nothing: %s.", n, s.run, few(s.invalid))
	}
	if n := len(m.Retries); n > 0 {
		text += fmt.Sprintf(" %s run again because cells proved nothing (at most %d may be).", map[bool]string{true: "1 scenario was", false: fmt.Sprintf("%d scenarios were", n)}[n == 1], result.MostRetries)
	}
	if s.notRun > 0 {
		text += fmt.Sprintf(" %s not run.", rowsWere(s.notRun))
	}
	if s.notBuilt > 0 {
		text += fmt.Sprintf(" %s not in this table: make robustness has them.", rowsWere(s.notBuilt))
	}
	return clean(text)
}

func rowsWere(n int) string {
	if n == 1 {
		return "1 row is"
	}
	return fmt.Sprintf("%d rows are", n)
}

// span is a time in words for running text.
func span(seconds float64) string {
	if seconds < 90 {
		return Brief(seconds) + " s"
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}
