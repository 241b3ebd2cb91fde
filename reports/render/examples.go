package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
)

// failures are the counterexamples of all rows.
func (t *table) failures() Section {
	s := Section{ID: "counterexamples", Title: "Counterexamples"}
	for _, r := range t.rows {
		for _, g := range r.failing() {
			s.Examples = append(s.Examples, counterexamples(r.name()+": "+r.failure(g), r.checks[g]))
		}
	}
	return s
}

// shownEvidence bounds the counterexamples with the requests around them.
const shownEvidence = 3

// counterexamples lists those of a check, with the recorded requests around each.
func counterexamples(title string, c result.Check) Example {
	e := Example{Title: title, Tone: Bad}
	if c.Verdict == result.Allowed {
		e.Tone = Warn
	}
	for i, text := range append([]string{c.Counterexample}, c.Further...) {
		if text == "" {
			continue
		}
		text = strings.TrimSpace(text)
		if i < min(len(c.Evidence), shownEvidence) && c.Evidence[i].Name != "" {
			text += evidence(&c.Evidence[i])
		}
		e.Items = append(e.Items, text)
	}
	if n := c.Violations - int64(len(e.Items)); n > 0 {
		e.Note = fmt.Sprintf("%d more violations, of which the record holds no counterexample.", n)
	}
	return e
}

// evidence are the requests, versions and fields of a counterexample, one a line, after a line break.
func evidence(e *result.Evidence) (s string) {
	for _, w := range e.Written {
		version := "deleted"
		if w.Version != 0 {
			version = fmt.Sprintf("version %d", w.Version)
		}
		s += fmt.Sprintf("\n  written at the API server %s  %s  uid %s", clockOf(&w.At), version, orUnknown(w.UID))
	}
	for i := range e.Requests {
		r := &e.Requests[i]
		s += fmt.Sprintf("\n  request %d  %s  version %s  received %s, applied %s, %s",
			r.Seq, r.Method, versionOf(r.Version), clockOf(&r.Received), clockOf(r.Applied), answerOf(r))
		if r.Violates {
			s += "  <- at fault"
		}
	}
	if e.RequestsOut > 0 {
		s += fmt.Sprintf("\n  %d further requests of this object are in its ledger", e.RequestsOut)
	}
	for _, d := range e.Fields {
		s += fmt.Sprintf("\n  field %s: expected %s, stored %s", d.Path, d.Expected, d.Stored)
	}
	return s
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

// answerOf describes the response, the effect of the request, and its fault.
func answerOf(r *result.KeyRequest) string {
	s := "no answer"
	if r.Status != 0 {
		s = fmt.Sprint(r.Status)
	}
	return s + leading(", ", r.Effect) + leading(", fault ", r.Fault)
}
