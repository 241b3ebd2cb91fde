package render

import (
	"bufio"
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

	"github.com/watchbench/watchbench/internal/assets"
	"github.com/watchbench/watchbench/reports/archive"
	"github.com/watchbench/watchbench/reports/result"
)

// historyMark is how a page of WriteHistory is known again.
const historyMark = `<body data-page="watchbench-history">`

// ErrForeign is wrapped by the error for an index.html that WriteHistory did not write.
var ErrForeign = errors.New("it is there and was not written by watchbench report")

// HistoryHTML writes the page about a folder of runs as one file.
func HistoryHTML(w io.Writer, all []archive.Entry) error {
	script, _ := assets.ECharts()
	return writeHistory(w, all, script)
}

// WriteHistory writes that page as index.html into the folder, and returns its path. A file
// that is there and is another's is left alone: see ErrForeign.
func WriteHistory(dir string, all []archive.Entry) (path string, err error) {
	path = filepath.Join(dir, "index.html")
	switch have, err := os.ReadFile(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", fmt.Errorf("read the former page: %w", err)
	case !bytes.Contains(have, []byte(historyMark)):
		return "", fmt.Errorf("write %s: %w", path, ErrForeign)
	}
	return path, result.Replace(path, func(w io.Writer) error { return HistoryHTML(w, all) })
}

// HistoryTerminal prints the list.
func HistoryTerminal(w io.Writer, all []archive.Entry, o TerminalOptions) error {
	p := &printer{w: bufio.NewWriter(w), opts: o}
	s := sheet{Keys: 1, Heads: words("started (UTC)", "kind", "outcome", "folder")}
	var broken []string
	for _, e := range all {
		l := historyLineOf(&e)
		s.Rows = append(s.Rows, sheetRow{Cells: []cell{{Text: l.When}, {Text: l.Kind}, l.Outcome, {Text: l.Name}}})
		if e.Reason != "" {
			broken = append(broken, l.Name+": "+clean(e.Reason))
		}
	}
	p.sheet(s)
	p.line("", "")
	for _, b := range broken {
		p.line(ansiYellow, "%s", b)
	}
	p.line(ansiBold, "%s", historySummary(all))
	return p.w.Flush()
}

// historyLine is an entry in the list.
type historyLine struct {
	Name, Href, When, Kind, Scenario, Revision, Took, Headline string
	Outcome                                                    cell
}

func historyLineOf(e *archive.Entry) (l historyLine) {
	l = historyLine{Name: clean(e.Name), When: minute(e.Started), Kind: string(e.Kind), Scenario: clean(orUnknown(e.Scenario)), Revision: unknown, Took: unknown, Headline: unknown, Outcome: cell{Text: unknown, tone: faint}}
	if e.Page != "" {
		l.Href = "./" + url.PathEscape(e.Name) + "/" + e.Page
	}
	if !e.Started.IsZero() && e.Finished.After(e.Started) {
		l.Took = span(e.Finished.Sub(e.Started).Seconds())
	}
	switch {
	case e.Reason != "":
		l.Outcome, l.Headline = cell{Text: "not readable", tone: warn}, clean(e.Reason)
	case e.Results != nil:
		l.ofRun(e.Results)
	case e.Matrix != nil:
		l.Scenario, l.Outcome, l.Headline = clean("profile "+orUnknown(e.Matrix.Profile)), outcomeCell((matrixPage{m: e.Matrix}).Outcome()), matrixAnswer(e.Matrix)
	case e.Tuning != nil:
		l.Outcome, l.Headline = cell{Text: "not met", tone: warn}, clean(orUnknown(e.Tuning.Sentence))
		if e.Tuning.Met {
			l.Outcome = cell{Text: "met", tone: good}
		}
	}
	return l
}

func (l *historyLine) ofRun(res *result.Results) {
	t := arrange(res)
	l.Outcome = outcomeCell(t.Outcome())
	l.Revision = revision(res)
	l.Headline = cmp.Or(t.Shaped(), t.Summary())
	if all := t.Headlines(); len(all) > 0 {
		l.Headline = all[0].Sentence
	}
}

// outcomeCell is a state in words.
func outcomeCell(s state) cell {
	word := map[state]string{stateAllowed: "failed as allowed", stateOpen: "nothing failed"}[s]
	return cell{Text: cmp.Or(word, string(s)), tone: stateTone(s)}
}

// revision is that of the watcher: as it says itself, or the build's.
func revision(res *result.Results) string {
	var all []string
	for i := range res.Cells {
		if v := res.Cells[i].Watcher.Version; v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	if len(all) > 0 {
		return clean(strings.Join(all, ", "))
	}
	commit := []rune(res.Environment.Commit)
	text := string(commit[:min(len(commit), 10)])
	if text != "" && res.Environment.Dirty {
		text += " with changes"
	}
	return clean(orUnknown(text))
}

// minute is a time in the list.
func minute(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// historySummary is "12 runs, 1 matrix and 1 tuning; 2 are not readable.".
func historySummary(all []archive.Entry) string {
	var parts []string
	for _, k := range []struct {
		kind      archive.Kind
		one, many string
	}{
		{archive.Run, "run", "runs"}, {archive.Matrix, "fault matrix", "fault matrices"}, {archive.Tuning, "tuning", "tunings"}, {archive.Rates, "rate search", "rate searches"},
		{archive.Comparison, "comparison", "comparisons"}, {archive.Gate, "gate", "gates"}, {archive.Unknown, "other folder", "other folders"},
	} {
		n := 0
		for _, e := range all {
			if e.Kind == k.kind {
				n++
			}
		}
		switch {
		case n == 1:
			parts = append(parts, "1 "+k.one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, k.many))
		}
	}
	broken := 0
	for _, e := range all {
		if e.Reason != "" {
			broken++
		}
	}
	text := cmp.Or(join(parts), "Nothing")
	switch broken {
	case 0:
	case 1:
		text += "; 1 is not readable"
	default:
		text += fmt.Sprintf("; %d are not readable", broken)
	}
	return text + "."
}

type historyPage struct {
	shell
	entries []archive.Entry
	Groups  []trendGroup
	Alone   []string
	Lines   []historyLine
}

func (p historyPage) Title() string   { return "Saved runs" }
func (p historyPage) Summary() string { return historySummary(p.entries) }
func (p historyPage) Heads() []string {
	return []string{"folder", "outcome", "started (UTC)", "kind", "scenario", "watcher", "took", "headline"}
}

func writeHistory(w io.Writer, all []archive.Entry, echarts []byte) error {
	p := historyPage{shell: newShell(echarts), entries: all}
	for i := range all {
		p.Lines = append(p.Lines, historyLineOf(&all[i]))
	}
	var err error
	if p.Groups, p.Alone, err = trends(all); err != nil {
		return err
	}
	groups := p.Groups
	p.Groups = slices.Clone(groups)
	for i := range p.Groups {
		p.Groups[i].Charts = nil
	}
	var around bytes.Buffer
	if err := fill(&around, pageTemplates.Lookup("history.html"), p); err != nil {
		return err
	}
	r := &room{left: mostPage - around.Len()}
	for i := range groups {
		g := &groups[i]
		n := len(g.Charts)
		g.Charts = r.take(g.Charts)
		g.Notes = undrawnNote(n - len(g.Charts))
	}
	if p.Groups = groups; r.err != nil {
		return fmt.Errorf("draw the charts: %w", r.err)
	}
	return fill(w, pageTemplates.Lookup("history.html"), p)
}
