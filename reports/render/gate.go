package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/gate"
)

// GateTerminal prints the verdict of a gate in the first line, which scripts read, then the figures.
func GateTerminal(w io.Writer, v *gate.Verdict, opts TerminalOptions) error {
	d := gateDocument(v)
	d.Title = ""
	return DocumentTerminal(w, d, opts)
}

// GateMarkdown writes the same, for a pull request or a step's summary.
func GateMarkdown(w io.Writer, v *gate.Verdict) error { return DocumentMarkdown(w, gateDocument(v)) }

// gateDocument has the figures, the invariants that do not simply hold, and what the control found.
func gateDocument(v *gate.Verdict) *Document {
	d := &Document{Title: "gate", Verdicts: []Cell{{Text: string(v.Outcome) + ": " + v.Sentence(),
		Tone: gateTone(v.Outcome)}}}
	if len(v.Metrics) > 0 {
		d.add(gateFigures("Figures", v, v.Metrics))
	}
	odd := slices.DeleteFunc(slices.Clone(v.Invariants), func(f gate.Finding) bool {
		return f.Outcome == gate.Pass &&
			f.Why == ""
	})
	invariants := Section{Title: "Invariants to look at", Table: Table{Keys: 1, Heads: append(Heads("invariant", "point"),
		Head{Title: "verdict", Words: true, Signed: true})}}
	for i := range odd {
		f := &odd[i]
		invariants.Table.Rows = append(invariants.Table.Rows, append(Cells(f.Name, f.Point), gateOutcome(f)))
		invariants.Notes = append(invariants.Notes, gateReason(f)...)
	}
	d.add(invariants)
	if v.Control.Outcome != gate.Pass && len(v.Control.Findings) > 0 {
		d.add(gateFigures("Control", v, v.Control.Findings))
	}
	d.add(Section{Title: "Method", Text: gateNotes(v)})
	return d
}

func gateOutcome(f *gate.Finding) Cell {
	return Cell{Text: string(f.Outcome), Tone: gateTone(f.Outcome)}
}

// gateReason is why a finding came out as it did: a sentence, for which no column is wide enough.
func gateReason(f *gate.Finding) []string {
	if f.Why == "" {
		return nil
	}
	return []string{f.Name + leading(" (", f.Point, ")") + ": " + f.Why}
}

// gateTone colours an outcome; INVALID counts as failed.
func gateTone(o gate.Outcome) Tone {
	switch o {
	case gate.Pass:
		return Good
	case gate.Fail, gate.Invalid:
		return Bad
	case gate.NotJudged:
		return Faint
	}
	return Warn
}

func gateFigures(title string, v *gate.Verdict, all []gate.Finding) Section {
	interval := fmt.Sprintf("%s interval", Brief(100*(1-2*float64(v.Rules.Alpha)))+" %")
	s := Section{Title: title, Table: Table{Keys: 1, Heads: append(Heads("figure", "point"), Head{Title: "base"},
		Head{Title: "new"},
		Head{Title: "change"}, Head{Title: interval}, Head{Title: "allowed"}, Head{Title: "n"},
		Head{Title: "verdict", Words: true, Signed: true})}}
	for i := range all {
		f := &all[i]
		change, low, high := f.Change()
		between, n := "", ""
		switch {
		case f.Kind == gate.KindExact:
			between = "exact"
		case change != "":
			between = low + " to " + high
		}
		if f.N > 0 {
			n = fmt.Sprint(f.N)
		}
		cells := Cells(f.Name+leading(", ", f.Unit), f.Point, gateValue(f.Base), gateValue(f.New), change, between,
			f.Allowed(), n)
		s.Table.Rows = append(s.Table.Rows, append(cells, gateOutcome(f)))
		s.Notes = append(s.Notes, gateReason(f)...)
	}
	return s
}

func gateValue(v *float64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprintf("%.5g", *v)
}

// gateNotes say what was compared, how, and what was not.
func gateNotes(v *gate.Verdict) (notes []string) {
	for _, r := range v.Reasons {
		if !strings.Contains(v.Sentence(), r) { // which names the first few
			notes = append(notes, "Not comparable: "+r+".")
		}
	}
	var holding []string
	seen := map[string]bool{}
	for _, f := range v.Invariants {
		if seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		if !slices.ContainsFunc(v.Invariants, func(x gate.Finding) bool {
			return x.Name == f.Name &&
				x.Outcome != gate.Pass
		}) {
			holding = append(holding, f.Name)
		}
	}
	if len(holding) > 0 {
		notes = append(notes, "Invariants that hold in every cell of NEW: "+strings.Join(holding, ", ")+".")
	}
	if c := v.Control; c.What != "" {
		came := string(c.Outcome)
		if c.Outcome == gate.NotJudged {
			came = "no figure was noisy enough to need one"
		}
		notes = append(notes, fmt.Sprintf("Control: %s: %s.", c.What, came))
	}
	if all := v.Unjudged(); len(all) > 0 {
		var names []string
		for _, f := range all {
			names = append(names, v.Says(f))
		}
		notes = append(notes, "Not judged: "+strings.Join(names, "; ")+".")
	}
	return append(notes, gateMethod(v))
}

func gateMethod(v *gate.Verdict) string {
	if len(v.Metrics)+len(v.Control.Findings) == 0 {
		return "No figure was judged."
	}
	how := "two saved runs"
	if v.Blocked {
		how = "both sides in one run, in blocks A B B A"
	}
	return fmt.Sprintf("BASE is %s, NEW is %s: %s. FAIL: the whole interval is beyond what is allowed, Holm's "+
		"correction included; PASS: the whole interval is within it; WARN: it overlaps.",
		v.Base, v.New, how)
}
