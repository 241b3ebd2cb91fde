package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/archive"
	"github.com/watchbench/watchbench/reports/result"
)

// historyMark is by which a page of WriteHistory is known again.
const historyMark = "watchbench-history"

// ErrForeign is wrapped by the error for an index.html that WriteHistory did not write.
var ErrForeign = errors.New("it is there and was not written by watchbench report")

// HistoryHTML writes the page about a folder of runs as one file.
func HistoryHTML(w io.Writer, all []archive.Entry) error {
	d, err := history(all)
	if err != nil {
		return err
	}
	return DocumentHTML(w, d)
}

// WriteHistory writes that page as index.html into the folder, and returns its path. A file
// that is there and is another's is left alone: see ErrForeign.
func WriteHistory(dir string, all []archive.Entry) (path string, err error) {
	path = filepath.Join(dir, "index.html")
	switch have, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("read the former page: %w", err)
	case !bytes.Contains(have, []byte(`<body data-page="`+historyMark+`">`)):
		return "", fmt.Errorf("write %s: %w", path, ErrForeign)
	}
	return path, result.Replace(path, func(w io.Writer) error { return HistoryHTML(w, all) })
}

// HistoryTerminal prints the list.
func HistoryTerminal(w io.Writer, all []archive.Entry, o TerminalOptions) error {
	return DocumentTerminal(w, historyList(all), o)
}

// historyList is the list of all entries.
func historyList(all []archive.Entry) *Document {
	d := &Document{Title: "Saved runs", Findings: []string{historySummary(all)}, Mark: historyMark, Last: true}
	s := Section{ID: "runs", Title: "All, newest first", Table: Table{Keys: 1,
		Heads: Heads("folder", "outcome", "started (UTC)", "kind")}}
	for _, title := range []string{"scenario", "watcher", "took", "headline"} {
		s.Table.Heads = append(s.Table.Heads, Head{Title: title, Words: true, Wide: true})
	}
	for i := range all {
		e := &all[i]
		s.Table.Rows = append(s.Table.Rows, historyLine(e))
		if e.Reason != "" {
			s.Notes = append(s.Notes, e.Name+": "+e.Reason)
		}
	}
	d.add(s)
	return d
}

// history is the list with the figures over runs.
func history(all []archive.Entry) (*Document, error) {
	d := historyList(all)
	groups, alone, err := trends(all)
	for _, s := range groups {
		d.add(s)
	}
	d.add(Section{ID: "alone", Title: "Nothing to compare with", Notes: alone})
	return d, err
}

// historyLine is an entry in the list.
func historyLine(e *archive.Entry) []Cell {
	name, outcome := Cell{Text: e.Name}, Cell{Text: unknown, Tone: Faint}
	scenario, revision, took, headline := orUnknown(e.Scenario), unknown, unknown, unknown
	if e.Page != "" {
		name.Link = "./" + url.PathEscape(e.Name) + "/" + e.Page
	}
	if !e.Started.IsZero() && e.Finished.After(e.Started) {
		took = span(e.Finished.Sub(e.Started).Seconds())
	}
	switch {
	case e.Reason != "":
		outcome, headline = Cell{Text: "not readable", Tone: Warn}, e.Reason
	case e.Results != nil:
		t := arrange(e.Results)
		outcome, revision = outcomeCell(t.outcome()), revisionOf(e.Results)
		headline = t.summary().Text
		if all := (answer{t}).decided(); len(all) > 0 {
			headline = all[0]
		}
	case e.Matrix != nil:
		scenario, headline = "profile "+orUnknown(e.Matrix.Profile), matrixAnswer(e.Matrix)
		outcome = outcomeCell(sumUp(e.Matrix).state(e.Matrix))
	case e.Tuning != nil:
		outcome, headline = Cell{Text: "not met", Tone: Warn}, orUnknown(e.Tuning.Sentence)
		if e.Tuning.Met {
			outcome = Cell{Text: "met", Tone: Good}
		}
	}
	return append([]Cell{name, outcome}, Cells(minute(e.Started), string(e.Kind), scenario, revision, took, headline)...)
}

// outcomeCell is a state in words.
func outcomeCell(s state) Cell {
	word := map[state]string{stateAllowed: "failed as allowed", stateOpen: "nothing failed"}[s]
	return Cell{Text: cmp.Or(word, string(s)), Tone: s.tone()}
}

// revisionOf returns the watcher's reported version, or the commit of the build.
func revisionOf(res *result.Results) string {
	var all []string
	for i := range res.Cells {
		if v := res.Cells[i].Watcher.Version; v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	if len(all) > 0 {
		return strings.Join(all, ", ")
	}
	commit := []rune(res.Environment.Commit)
	text := string(commit[:min(len(commit), 10)])
	if text != "" && res.Environment.Dirty {
		text += " with changes"
	}
	return orUnknown(text)
}

// minute is a time in the list.
func minute(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// historySummary is "12 runs, 1 fault matrix and 1 tuning; 2 are not readable.".
func historySummary(all []archive.Entry) string {
	var parts []string
	for _, k := range []struct {
		kind      archive.Kind
		one, many string
	}{
		{archive.Run, "run", "runs"}, {archive.Matrix, "fault matrix", "fault matrices"}, {archive.Tuning, "tuning",
			"tunings"},
		{archive.Rates, "rate search", "rate searches"}, {archive.Comparison, "comparison", "comparisons"},
		{archive.Gate, "gate", "gates"}, {archive.Unknown, "other folder", "other folders"},
	} {
		n := 0
		for _, e := range all {
			if e.Kind == k.kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, number(n, k.one, k.many)))
		}
	}
	broken := 0
	for _, e := range all {
		if e.Reason != "" {
			broken++
		}
	}
	text := cmp.Or(join(parts), "Nothing")
	if broken > 0 {
		text += fmt.Sprintf("; %d %s not readable", broken, number(broken, "is", "are"))
	}
	return text + "."
}

// span is a time in words for running text.
func span(seconds float64) string {
	if seconds < 90 {
		return Brief(seconds) + " s"
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}
