package render

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// Run is a run's report.
func Run(res *result.Results) *Document {
	t := arrange(res)
	d := &Document{
		Title: orUnknown(res.Run.Scenario), Last: true,
		More: "What n, ± and the columns mean, where the events went, and how this was measured: --explain, or the report.",
		Subtitle: strings.Join([]string{"run " + res.Run.ID, when(res.Run.Started), "took " + took(&res.Run),
			orUnknown(res.Environment.Provider) + " cluster"}, " · ") + leading(" · ", res.Gap()),
		Findings: slices.Concat(t.wrong(), t.doubts(), t.decided()), Verdicts: append(t.bounds(), t.summary()),
	}
	figures := t.measured("figures", "Figures", Everywhere, chosen(mainFigures...), true)
	figures.Notes = slices.Concat(t.limits(), t.ended())
	found := Section{ID: "found", Title: "What was found"}
	for _, r := range t.rows {
		for _, n := range r.notes() {
			found.Notes = append(found.Notes, r.title+": "+n)
		}
	}
	swept, loads := t.swept(), t.curves()
	figures.Plots = lead(&swept, loads)
	figures.Notes = append(figures.Notes, unseen(res)...)
	d.add(figures, found)
	d.add(published(res)...)
	d.add(t.paces(), t.thresholds(), swept, t.growth(), t.readers())
	d.add(checkTable(t.keys(), t.checks, len(t.rows), func(i int) ([]Cell, map[string]result.Check) {
		return t.cells(t.rows[i]), t.rows[i].checks
	}))
	d.add(loads...)
	isPublished := func(m result.Metric) bool { return m.Published }
	d.add(t.measured("published", "Columns of the published tables", Aside, having(isPublished), false),
		t.measured("costs", "Latency, CPU and memory", OnPage, having(func(m result.Metric) bool {
			return m.Title != "" && !m.Published && !m.Total && !slices.Contains(mainFigures, m.Name)
		}), false), t.flows(), t.about(), t.method())
	d.add(definitions(d))
	return d
}

// lead takes the one chart that shows the difference: over the swept values, else of the heaviest load.
func lead(swept *Section, loads []Section) (first []Plot) {
	s := swept
	if n := len(loads); len(s.Plots) == 0 && n > 0 {
		s = &loads[n-1]
	}
	first = s.Plots[:min(1, len(s.Plots))]
	s.Plots = s.Plots[len(first):]
	return first
}

var mainFigures = []string{result.FigureDrain, result.FigureFreshness, "storage.qps", "storage.efficiency",
	"watcher.cpuMicrosPerEvent", "watcher.rssPeakMiB"}

func chosen(names ...string) (all []result.Metric) {
	for _, n := range names {
		all = append(all, figureOf(n))
	}
	return all
}

func figureOf(name string) result.Metric {
	return having(func(m result.Metric) bool { return m.Name == name })[0]
}

func having(is func(result.Metric) bool) (all []result.Metric) {
	return slices.DeleteFunc(slices.Clone(result.Figures()), func(m result.Metric) bool { return !is(m) })
}

// measured is a table of metrics, each with its interval; all of it has what was lost or reordered and the verdicts.
func (t *table) measured(id, title string, place Place, metrics []result.Metric, all bool) Section {
	s := Section{ID: id, Title: title, Place: place, Table: t.keys()}
	for _, m := range metrics {
		s.Table.Heads = append(s.Table.Heads, headOf(m))
	}
	lost, reordered := figureOf("events.lost"), figureOf("events.reordered")
	if all {
		s.Table.Heads = append(s.Table.Heads, Head{Title: "lost /", Unit: "reordered", Meaning: lost.Meaning + " " +
			reordered.Meaning}, Head{Title: "verdict", Words: true, Meaning: "Guarantees judged over the recorded " +
			"history; n: valid repetitions. The speed of a point that fails one of G1–G6 is not compared."})
	}
	best := t.best()
	for _, r := range t.rows {
		cells := t.cells(r)
		for _, m := range metrics {
			c := cellOf(m, r.Cells)
			if best[r] == m.Name {
				c.Tone = Best
			}
			cells = append(cells, c)
		}
		if all {
			faults := cellOf(lost, r.Cells).Text + " / " + cellOf(reordered, r.Cells).Text
			cells = append(cells, Cell{Text: faults}, Cell{Text: r.verdict(), Tone: r.state().tone()})
		}
		s.Table.Rows = append(s.Table.Rows, cells)
	}
	return s
}

func headOf(m result.Metric) Head {
	return Head{Title: m.Title, Unit: unitOf(m.Unit), Meaning: m.Meaning}
}

func unitOf(unit string) string {
	switch unit {
	case "share":
		return "%"
	case "/s":
		return "qps"
	}
	return unit
}

func inUnit(unit string, v float64) float64 {
	if unit == "share" {
		return 100 * v
	}
	return v
}

// cellOf is a metric over the repetitions of a point: the value, and how far its interval reaches.
func cellOf(m result.Metric, cells []*result.Cell) Cell {
	s := m.Over(cells)
	if s.Value == nil {
		return Cell{Text: unknown}
	}
	v := inUnit(m.Unit, *s.Value)
	switch i, ok := s.Interval(); {
	case s.Projected:
		return Cell{Text: "~" + short(v), Tone: Warn}
	case s.AtLeast:
		return Cell{Text: "≥ " + fixed(&v, m.Decimals), Tone: Warn}
	case ok:
		return Cell{Text: strings.TrimSpace(fixed(&v, m.Decimals) + " " + spread(i, *s.Value))}
	}
	return Cell{Text: fixed(&v, m.Decimals)}
}

// spread is an interval in per cent of a figure or, beyond 100 %, as a factor; "" where nothing is uncertain.
func spread(i stats.Interval, figure float64) string {
	part, ok := i.Spread(figure)
	switch {
	case !ok || i.Low == i.High:
		return ""
	case part < 0.00995:
		return "±" + strconv.FormatFloat(100*part, 'f', 1, 64) + "%"
	case part < 1:
		return "±" + strconv.FormatFloat(100*part, 'f', 0, 64) + "%"
	}
	return "×÷" + short(1+part)
}

func ifSome(v float64, known bool) *float64 {
	if !known {
		return nil
	}
	return &v
}

func (t *table) flows() Section {
	s := Section{ID: "flow", Title: "Where the events went, and what limited each point", Table: t.keys(), Place: Aside,
		Notes: []string{"By the watcher's own counters, of the first valid repetition; of a watcher that was restarted, " +
			"those of its last process. What limited it is found by fixed rules over its figures."}}
	for _, title := range []string{"received", "sent", "coalesced", "filtered", "parked", "queued", "dropped", "retried"} {
		s.Table.Heads = append(s.Table.Heads, Head{Title: title})
	}
	s.Table.Heads = append(s.Table.Heads, Heads("bottleneck", "because")...)
	for _, r := range t.rows {
		if r.void() {
			continue
		}
		c, counts := r.valid[0], slices.Repeat([]string{unknown}, 8)
		if e := c.Events; e != nil && (c.Handler.Strategy != result.External || e.Received > 0) {
			for i, n := range []int64{e.Received, e.Sent, e.Coalesced, e.Filtered, e.Parked, e.Queued, e.Dropped, e.Retried} {
				counts[i] = fmt.Sprint(n)
			}
		}
		s.Table.Rows = append(s.Table.Rows,
			append(append(t.cells(r), Cells(counts...)...), Cells(orUnknown(c.Bottleneck.Stage), c.Bottleneck.Why)...))
	}
	return s
}

func sends(r *row) string {
	switch every, perEvent := r.SendsEvery(); {
	case perEvent == nil:
		return unknown
	case every:
		return "every event"
	default:
		return "latest state, " + percent(*perEvent)
	}
}

func (t *table) paces() Section {
	s := Section{ID: "pace", Title: "Who keeps up", Table: t.keys(), Notes: []string{
		"Of a row that falls behind, freshness depends on the length of the load: a longer one gives more."}}
	s.Table.Heads = append(s.Table.Heads,
		Head{Title: "open load", Words: true,
			Meaning: "Whether the backlog grew, over the second half of the load, by no more than 5 % of the rate of writing."},
		Head{Title: "backlog growth", Unit: "writes/s",
			Meaning: "Growth, in writes a second, of what the API server has taken and storage has not, nor anything newer."},
		Head{Title: "sends", Words: true,
			Meaning: "Whether each event became a request, or one request had the latest of several states."})
	for _, r := range t.rows {
		kept, of := r.Pace()
		if r.isFloor() || of == 0 {
			continue
		}
		pace := Cell{Text: fmt.Sprintf("falls behind %d of %d", of-kept, of), Tone: Bad}
		if r.KeepsUp() {
			pace = Cell{Text: fmt.Sprintf("keeps up %d of %d", kept, of), Tone: Good}
		}
		s.Table.Rows = append(s.Table.Rows, append(t.cells(r), pace, Cell{Text: fixed(r.BacklogGrowth(), 1)},
			Cell{Text: sends(r)}))
	}
	return s
}

func (t *table) thresholds() Section {
	s := Section{ID: "thresholds", Title: "Thresholds", Table: t.keys()}
	s.Table.Heads = append(append(s.Table.Heads, Heads("figure", "bound")...),
		Head{Title: "value", Meaning: "The median over the valid repetitions."}, Head{Title: "verdict", Words: true})
	for i := range t.res.Thresholds {
		x := &t.res.Thresholds[i]
		v := Cell{Text: "holds", Tone: Good}
		switch {
		case x.Failed():
			v = Cell{Text: "FAILS", Tone: Bad}
		case !x.Holds:
			v = Cell{Text: "not judged", Tone: Warn}
		}
		v.Text += leading(": ", x.Why)
		key := Cells(x.Point)
		if r := t.row(x.Point); r != nil {
			key = t.cells(r)
		}
		s.Table.Rows = append(s.Table.Rows, append(append(key, Cells(x.Metric, x.Bound, x.Figure())...), v))
	}
	return s
}

// bounds is the outcome of the thresholds in a sentence; what was not judged, or a point that the run does not have, is
// no pass.
func (t *table) bounds() []Cell {
	var missed []string
	held, all := 0, len(t.res.Thresholds)
	for i := range t.res.Thresholds {
		if x := &t.res.Thresholds[i]; x.Failed() {
			missed = append(missed, x.String())
		} else if x.Holds {
			held++
		}
	}
	if all == 0 {
		return nil
	}
	verb := "hold"
	if held == 1 {
		verb = "holds"
	}
	v := Cell{Text: fmt.Sprintf("Of %s, %d %s", plural(all, "threshold"), held, verb), Tone: Good}
	rest := all - held - len(missed)
	if rest > 0 || len(t.res.Missing()) > 0 {
		v.Tone = Warn
	}
	if rest > 0 {
		v.Text += fmt.Sprintf(", %d not judged", rest)
	}
	if len(missed) > 0 {
		v.Tone = Bad
		v.Text += fmt.Sprintf(", %d failed: %s", len(missed), strings.Join(missed, "; "))
	}
	v.Text += "."
	return []Cell{v}
}

func definitions(d *Document) Section {
	s := Section{ID: "definitions", Title: "Definitions", Place: Aside, Table: Table{Heads: Heads("column", "meaning")}}
	seen := map[string]bool{}
	for _, other := range d.Sections {
		for _, h := range other.Table.Heads {
			if h.Meaning != "" && !seen[h.Meaning] {
				seen[h.Meaning] = true
				s.Table.Rows = append(s.Table.Rows, Cells(h.Title+leading(", ", h.Unit), h.Meaning))
			}
		}
	}
	return s
}

// Checks prints one line per cell with the verdict on every guarantee, then what the failures are about.
func Checks(w io.Writer, cells []result.Cell, opts TerminalOptions) error {
	var asked, notes []string
	for i := range cells {
		for g, x := range cells[i].Checks {
			if !slices.Contains(asked, g) {
				asked = append(asked, g)
			}
			if x.Verdict == result.Fail || x.Verdict == result.Allowed {
				notes = append(notes, cells[i].ID+" "+failure(g, x))
			}
		}
	}
	slices.SortFunc(asked, result.ByNumber)
	slices.Sort(notes)
	s := checkTable(Table{Heads: Heads("cell")}, asked, len(cells), func(i int) ([]Cell, map[string]result.Check) {
		c := &cells[i]
		if c.Valid {
			return Cells(c.ID), c.Checks
		}
		counted := maps.Clone(c.Checks) // a pass proves nothing there
		maps.DeleteFunc(counted, func(g string, _ result.Check) bool { return !c.Counts(g) })
		return []Cell{{Text: c.ID + " (invalid)", Tone: Warn}}, counted
	})
	s.Notes = notes
	return DocumentTerminal(w, &Document{Title: units.Count(len(cells), "cell"), Sections: []Section{s}}, opts)
}

// Terminal prints the tables and, last, the answer and the outcome. How the figures came about is in the other
// formats, unless it is asked for.
func Terminal(w io.Writer, res *result.Results, o TerminalOptions) error {
	if err := res.Validate(); err != nil {
		return err
	}
	return DocumentTerminal(w, Run(res), o)
}

// Format is a way to render a record, a comparison or a verdict into a file.
type Format[T any] struct {
	Name  string // as the user types it
	File  string // in its folder
	Write func(io.Writer, T) error
}

// Formats lists the file formats of a run.
func Formats() []Format[*result.Results] {
	return []Format[*result.Results]{
		{"html", pageFile, as(DocumentHTML, Run)}, {"md", "report.md", as(DocumentMarkdown, Run)},
		{"csv", "throughput.csv", CSV}, {"bench", "bench.txt", Bench}, {"junit", "junit.xml", JUnit},
	}
}

func as[T any](write func(io.Writer, *Document) error, of func(T) *Document) func(io.Writer, T) error {
	return func(w io.Writer, v T) error { return write(w, of(v)) }
}

// Named finds a format; the error names those there are, and those that are only printed.
func Named[T any](formats []Format[T], name string, printed ...string) (f Format[T], err error) {
	for _, f := range formats {
		if f.Name == name {
			return f, nil
		}
		printed = append(printed, f.Name)
	}
	return f, fmt.Errorf("unknown format %q; known are %s", name, strings.Join(printed, ", "))
}

// All writes every format into a run's folder. One that fails does not keep the others from being written.
func All(dir string, res *result.Results) error {
	var errs []error
	for _, f := range Formats() {
		errs = append(errs, WriteFile(dir, f, res))
	}
	return errors.Join(errs...)
}

// WriteFile renders one format into dir. The file is replaced only by a whole one.
func WriteFile(dir string, f Format[*result.Results], res *result.Results) error {
	err := res.Validate()
	if err == nil {
		err = result.Replace(filepath.Join(dir, f.File), func(w io.Writer) error { return f.Write(w, res) })
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
