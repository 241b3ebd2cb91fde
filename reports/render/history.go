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
	"time"

	"github.com/watchbench/watchbench/reports/archive"
	"github.com/watchbench/watchbench/reports/result"
)

// historyMark is by which a page of WriteHistory is known again.
const historyMark = "watchbench-history"

// ErrForeign is wrapped by the error for an index.html that WriteHistory did not write.
var ErrForeign = errors.New("it is there and was not written by watchbench report")

// WriteHistory writes the list of saved runs as index.html into their folder, and returns its path. A file
// that is there and is another's is left alone: see ErrForeign.
func WriteHistory(dir string, all []archive.Entry) (path string, err error) {
	path = filepath.Join(dir, pageFile)
	switch have, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("read the former page: %w", err)
	case !bytes.Contains(have, []byte(`<body data-page="`+historyMark+`">`)):
		return "", fmt.Errorf("write %s: %w", path, ErrForeign)
	}
	return path, result.Replace(path, func(w io.Writer) error { return DocumentHTML(w, history(all)) })
}

// HistoryTerminal prints the list.
func HistoryTerminal(w io.Writer, all []archive.Entry, o TerminalOptions) error {
	return DocumentTerminal(w, history(all), o)
}

// history is the list of all entries.
func history(all []archive.Entry) *Document {
	d := &Document{Title: "Saved runs", Mark: historyMark, Last: true}
	s := Section{ID: "runs", Title: "All, newest first", Table: Table{
		Heads: Heads("folder", "outcome", "started (UTC)", "kind", "scenario", "headline")}}
	for i := range all {
		e := &all[i]
		s.Table.Rows = append(s.Table.Rows, historyLine(e))
		if e.Reason != "" {
			s.Notes = append(s.Notes, e.Name+": "+e.Reason)
		}
	}
	d.Findings = []string{fmt.Sprintf("Folders: %d; not readable: %d.", len(all), len(s.Notes))}
	d.add(s)
	return d
}

// historyLine is an entry in the list.
func historyLine(e *archive.Entry) []Cell {
	name, outcome := Cell{Text: e.Name}, Cell{Text: unknown, Tone: Faint}
	scenario, headline := orUnknown(e.Scenario), unknown
	if e.Page != "" {
		name.Link = "./" + url.PathEscape(e.Name) + "/" + e.Page
	}
	switch {
	case e.Reason != "":
		outcome, headline = Cell{Text: "not readable", Tone: Warn}, e.Reason
	case e.Results != nil:
		t := arrange(e.Results)
		outcome = Cell{Text: string(t.outcome()), Tone: t.outcome().tone()}
		if headline = t.summary().Text; len(t.decided()) > 0 {
			headline = t.decided()[0]
		}
	case e.Matrix != nil:
		s := sumUp(e.Matrix).state(e.Matrix)
		scenario, headline = "profile "+orUnknown(e.Matrix.Profile), matrixAnswer(e.Matrix)
		outcome = Cell{Text: string(s), Tone: s.tone()}
	case e.Tuning != nil:
		outcome, headline = Cell{Text: "not met", Tone: Warn}, orUnknown(e.Tuning.Sentence)
		if e.Tuning.Met {
			outcome = Cell{Text: "met", Tone: Good}
		}
	}
	return append([]Cell{name, outcome}, Cells(minute(e.Started), string(e.Kind), scenario, headline)...)
}

// minute is a time in the list.
func minute(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// span is a time in words for running text.
func span(seconds float64) string {
	if seconds < 90 {
		return Brief(seconds) + " s"
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}
