package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

// example are the first counterexamples of a failed check.
type example struct {
	Name    string // of the row
	Failure string // in one line
	Text    string // one a line
	Allowed bool
}

// Counterexamples of a check in a report, and on a terminal.
const (
	shownExamples    = 10
	terminalExamples = 3
)

// Examples are those of all rows.
func (t *table) Examples() []example { return t.examples(shownExamples) }

func (t *table) examples(most int) (all []example) {
	for _, r := range t.rows {
		for _, g := range r.failing() {
			c := r.checks[g]
			text := cmp.Or(counterexamples(c, most), "The record holds no counterexample.")
			all = append(all, example{r.name(), clean(r.failure(g)), text, c.Verdict == result.Allowed})
		}
	}
	return all
}

// counterexamples are the first of a check, one a line, and where the others are.
func counterexamples(c result.Check, most int) string {
	lines := []string{strings.TrimSpace(cleanLines(c.Counterexample))}
	if len(c.Evidence) > 0 {
		lines[0] += evidenceLines(&c.Evidence[0])
	}
	for _, text := range c.Further {
		lines = append(lines, strings.TrimSpace(cleanLines(text)))
	}
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("… and %d more in %s", n, result.FileName))
	}
	return strings.Join(lines, "\n")
}

// evidenceLines are the requests of evidence, one a line, after a line break.
func evidenceLines(e *result.Evidence) (s string) {
	for i := range e.Requests {
		r := &e.Requests[i]
		mark := ""
		if r.Violates {
			mark = "  <- at fault"
		}
		s += fmt.Sprintf("\n  request %d  %s  version %s  received %s, applied %s, %s%s", r.Seq, clean(r.Method), versionOf(r.Version), clockOf(&r.Received), clockOf(r.Applied), answerOf(r), mark)
	}
	return s
}

// What the page shows of counterexamples in all, so that a run of many failures stays a page.
const (
	pageExamples = 500
	pageEvidence = 100
)

// found are the counterexamples of a check in one cell, as the page shows them.
type found struct {
	Name, Failure string
	Allowed       bool
	Items         []foundItem
	Note          string // what is not shown
}

type foundItem struct {
	Text, Object              string
	Requests, Written, Fields sheet
	Out                       int64 // requests that are not shown
}

// Found are those of all cells whose verdicts count.
func (t *table) Found() (all []found) {
	texts, evidence := pageExamples, pageEvidence
	for _, r := range t.rows {
		for _, c := range r.cells {
			one := r.alone(c)
			for _, g := range one.failing() {
				if !c.Counts(g) {
					continue
				}
				check := c.Checks[g]
				f := found{Name: r.name() + clean(r.repetition(c)), Failure: clean(one.failure(g)), Allowed: check.Verdict == result.Allowed}
				for i, text := range append([]string{check.Counterexample}, check.Further...) {
					if text == "" || texts == 0 {
						continue
					}
					texts--
					item := foundItem{Text: strings.TrimSpace(cleanLines(text))}
					if i < len(check.Evidence) && evidence > 0 && check.Evidence[i].Name != "" {
						evidence--
						item.add(&check.Evidence[i])
					}
					f.Items = append(f.Items, item)
				}
				f.Note = left(&check, len(f.Items))
				all = append(all, f)
			}
		}
	}
	return all
}

// left says which of a check's violations are not among so many that are shown.
func left(c *result.Check, shown int) string {
	kept := len(c.Further)
	if c.Counterexample != "" {
		kept++
	}
	if kept == 0 {
		return "The record holds no counterexample."
	}
	var parts []string
	if n := kept - shown; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more in %s", n, result.FileName))
	}
	if n := c.Violations - int64(kept); n > 0 {
		parts = append(parts, fmt.Sprintf("%d counted without a counterexample", n))
	}
	return leading("Further violations: ", join(parts))
}

// FoundNote says what of the counterexamples is not on the page.
func (t *table) FoundNote() string {
	return fmt.Sprintf("The record keeps up to 50 counterexamples of a check and cell, the first 5 with requests, versions and fields; this page shows at most %d, %d of them with these. Times are UTC.", pageExamples, pageEvidence)
}

func (f *foundItem) add(e *result.Evidence) {
	f.Object, f.Out = clean(e.Kind+" "+strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")), e.RequestsOut
	f.Requests = sheet{Keys: 1, Heads: []heading{{Title: "request"}, {Title: "method", Left: true}, {Title: "uid", Left: true}, {Title: "version"}, {Title: "received", Left: true}, {Title: "applied", Left: true}, {Title: "answer and effect", Left: true}, {Left: true}}}
	for i := range e.Requests {
		r := &e.Requests[i]
		var l sheetRow
		l.add(fmt.Sprint(r.Seq), clean(r.Method), clean(orUnknown(r.UID)), versionOf(r.Version), clockOf(&r.Received), clockOf(r.Applied), answerOf(r))
		fault := cell{}
		if r.Violates {
			fault = cell{Text: "at fault", tone: bad}
		}
		l.Cells = append(l.Cells, fault)
		f.Requests.Rows = append(f.Requests.Rows, l)
	}
	f.Written = sheet{Keys: 1, Heads: []heading{{Title: "written at the API server", Left: true}, {Title: "version"}, {Title: "uid", Left: true}}}
	for _, w := range e.Written {
		version := versionOf(w.Version)
		if w.Version == 0 {
			version = "deleted"
		}
		var l sheetRow
		l.add(clockOf(&w.At), version, clean(orUnknown(w.UID)))
		f.Written.Rows = append(f.Written.Rows, l)
	}
	f.Fields = sheet{Keys: 1, Heads: words("field", "expected", "stored")}
	for _, d := range e.Fields {
		var l sheetRow
		l.add(clean(d.Path), clean(d.Expected), clean(d.Stored))
		f.Fields.Rows = append(f.Fields.Rows, l)
	}
}

func versionOf(v uint64) string {
	if v == 0 {
		return unknown
	}
	return fmt.Sprint(v)
}

// clockOf is the time of day of what happened.
func clockOf(at *time.Time) string {
	if at == nil || at.IsZero() {
		return "never"
	}
	return at.UTC().Format("15:04:05.000000")
}

// answerOf is what the client was told, what the request changed, and the fault that hit it.
func answerOf(r *result.KeyRequest) string {
	s := "no answer"
	if r.Status != 0 {
		s = fmt.Sprint(r.Status)
	}
	if r.Effect != "" {
		s += ", " + clean(r.Effect)
	}
	if r.Fault != "" {
		s += ", fault " + clean(r.Fault)
	}
	return s
}
