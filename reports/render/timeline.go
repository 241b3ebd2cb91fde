package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// A matrix has some 60 timelines in one file, so they hold less than a run's charts do.
const (
	timelinePoints  = 180 // of a line
	timelineMarks   = 30  // in a chart
	timelineMoments = 40  // in the table
)

// timeline is one cell of the fault matrix over time.
func timeline(id string, e *result.MatrixEntry, saved SavedCell) Section {
	failed, invalid := e.Verdict()
	s := Section{ID: id, Title: strings.TrimSpace(e.Row + " " + scenarioName(e)), Place: OnPage, Target: true}
	what := strings.TrimSuffix(cmp.Or(e.Title, rowTitle(e.Row)), ".") + ": " + matrixState(e).Text
	s.Text = []string{what + leading(" (", strings.Join(failed, ", "), ")") + "."}
	links := Table{Keys: 1, Heads: Heads(""), Rows: [][]Cell{{{Text: "Back to the matrix", Link: "#matrix"}}}}
	if saved.Report != "" {
		links.Rows = append(links.Rows, []Cell{{Text: "Report of the run", Link: saved.Report}})
	}
	for _, f := range slices.Sorted(maps.Keys(e.Fired)) {
		n := e.Fired[f]
		text := fmt.Sprintf("The fault %s happened %d %s", f, n, number(int(n), "time", "times"))
		if k := e.Keys[f]; k > 0 {
			text += " and hit " + plural(int(k), "object")
		}
		s.Notes = append(s.Notes, text+".")
	}
	if e.First != "" {
		s.Notes = append(s.Notes, "This is the second try. The first: "+e.First+".")
	}
	c := saved.Cell
	if c == nil {
		s.Text = append(s.Text, cmp.Or(saved.Why, "The cell was not saved."))
		s.Parts = parts(Section{Title: "Facts", Table: factTableOf(e.Facts)}, Section{Title: "Elsewhere", Table: links})
		return s
	}
	if invalid != "" {
		s.Text = append(s.Text, "This cell proves nothing, and its curves are not measurements: "+invalid)
	}
	var moments []result.Moment
	if c.Robustness != nil {
		moments = c.Robustness.Moments
	}
	if len(moments) == 0 {
		s.Notes = append(s.Notes, "The record does not say when faults began and ended.")
	}
	s.Plots = timelinePlots(c, invalid != "", moments)
	s.Parts = parts(
		Section{Title: "What was done, and when", Table: momentTable(moments)},
		timelineVerdicts(c),
		Section{Title: "Facts", Table: factTableOf(e.Facts)},
		Section{Title: "Elsewhere", Table: links},
	)
	return s
}

// parts are those that have anything to show.
func parts(all ...Section) []Section {
	return slices.DeleteFunc(all, func(s Section) bool { return s.empty() })
}

// momentNames spell out the runner's marks; faults keep the scenario's names.
var momentNames = map[string]string{
	"started": "watcher started", "ready": "watcher ready", "exited": "watcher exited", "resized": "queues resized",
	"sigterm": "SIGTERM to the watcher", "sigkill": "SIGKILL to the watcher",
	"sigstop": "SIGSTOP to the watcher", "sigcont": "SIGCONT to the watcher",
	"converged": "storage caught up", "diverged": "storage did not catch up",
	"tamper-remove": "rows removed from storage", "tamper-edit": "rows edited in storage", "tamper-add": "rows added to storage",
	"storage-killed": "storage killed", "storage-back": "storage back",
	"token-replaced": "token replaced", "token-refused": "former token refused",
	"unserved": "kind no longer served", "served": "kind served again",
}

func momentTable(all []result.Moment) Table {
	s := Table{Keys: 1, Heads: []Head{{Title: "no.", Words: true}, {Title: "from", Unit: "s"}, {Title: "until",
		Unit: "s"}, {Title: "what", Words: true}}}
	for i, m := range all {
		if i == timelineMoments {
			s.Rows = append(s.Rows, Cells("…", "", "", fmt.Sprintf("%d more in %s", len(all)-i, result.FileName)))
			break
		}
		what, until := cmp.Or(momentNames[m.What], m.What), ""
		if m.Count > 1 {
			what += fmt.Sprintf(" (%d)", m.Count)
		}
		if m.Until != nil {
			until = fixed(m.Until, 2)
		}
		s.Rows = append(s.Rows, Cells(fmt.Sprint(i+1), fixed(&m.T, 2), until, what+leading(": ", m.Note)))
	}
	return s
}

// timelineVerdicts lists the checks of a cell that were judged, and the counterexamples.
func timelineVerdicts(c *result.Cell) Section {
	s := Section{Title: "Guarantees", Table: Table{Keys: 1, Heads: Heads("guarantee", "verdict", "asks")}}
	for _, g := range slices.SortedFunc(maps.Keys(c.Checks), compareNatural) {
		x := c.Checks[g]
		if x.Verdict == result.NotApply || x.Verdict == result.NotJudged && !core(g) {
			continue
		}
		v := verdictCell(x)
		if x.Verdict == result.Pass && !c.Valid {
			v = Cell{Text: "proves nothing: the cell is invalid", Tone: Warn}
		}
		s.Table.Rows = append(s.Table.Rows, []Cell{{Text: checkTitle(g)}, v, {Text: guarantees[g].meaning}})
		if x.Verdict == result.Fail || x.Verdict == result.Allowed {
			s.Examples = append(s.Examples, counterexamples(checkTitle(g)+": "+violations(x), x))
		}
	}
	return s
}

// factTableOf lists what the columns are judged by, with the most or the least that is allowed.
func factTableOf(all []result.Fact) Table {
	s := Table{Keys: 1, Heads: append(Heads("fact"), Head{Title: "value"}, Head{Title: "at least"}, Head{Title: "at most"},
		Head{Title: "column", Words: true}, Head{Title: "holds", Words: true}, Head{Title: "detail", Words: true})}
	bound := func(v *float64) string {
		if v == nil {
			return ""
		}
		return Brief(*v)
	}
	for _, f := range all {
		value, holds := Brief(f.Value)+leading(" ", f.Unit), Cell{Text: "yes", Tone: Good}
		switch {
		case f.Missing:
			value, holds = unknown, Cell{Text: "not known", Tone: Warn}
		case !f.OK:
			holds = Cell{Text: "NO", Tone: Bad}
		case f.Limit == nil && f.Least == nil:
			holds = Cell{Text: "only measured", Tone: Faint}
		}
		s.Rows = append(s.Rows, append(Cells(f.Name, value, bound(f.Least), bound(f.Limit), f.Column), holds,
			Cell{Text: f.Detail}))
	}
	return s
}

// timelinePlots draw the curves of a cell with what was done meanwhile: a band for what takes time, a line for the
// rest.
func timelinePlots(c *result.Cell, invalid bool, moments []result.Moment) (all []Plot) {
	type curveOf struct{ series, name, color string }
	for _, k := range []struct {
		title, caption string
		lines          []curveOf
	}{
		{"Load and storage rate", "Writes that the apiserver acknowledged, and requests that storage acknowledged, per " +
			"second.",
			[]curveOf{{result.SeriesLoadQPS, "load", "#2563eb"}, {result.SeriesStorageQPS, "storage", "#0f8a5f"}}},
		{"Queue depth", "Pod events accepted by the watcher and not yet acknowledged by storage.",
			[]curveOf{{result.SeriesQueueDepth, "queued", "#7c3aed"}}},
		{"Watcher memory", "Resident memory of the watcher process.", []curveOf{{result.SeriesWatcherRSS, "RSS", "#b7791f"}}},
	} {
		p := Plot{Title: k.title, Caption: k.caption, X: "seconds from the start of the load"}
		if invalid {
			p.Title += " (invalid)"
		}
		if len(moments) > 0 {
			p.Caption += " Numbers refer to the table below."
		}
		for _, l := range k.lines {
			p.Unit = cmp.Or(c.Series[l.series].Unit, p.Unit)
			points := curve(c.Series[l.series], timelinePoints)
			p.Lines = append(p.Lines, PlotLine{Name: l.name, Color: l.color, Points: points, Smooth: true, Model: invalid})
		}
		for i, m := range moments[:min(len(moments), timelineMarks)] {
			b := Band{Name: fmt.Sprint(i + 1), Color: "#b7791f", From: m.T, To: m.T}
			if m.Until != nil && *m.Until > m.T {
				b.To = *m.Until
			}
			if m.T >= -beforeLoad {
				p.Bands = append(p.Bands, b)
			}
		}
		all = append(all, p)
	}
	return all
}
