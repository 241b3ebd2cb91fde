package render

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/gate"
)

// GateTerminal prints the answer of a gate, then what it rests on.
func GateTerminal(w io.Writer, v *gate.Verdict, opts TerminalOptions) error {
	p := &printer{w: bufio.NewWriter(w), opts: opts}
	p.line(styles[gateTone(v.Outcome)], "%s", gateAnswer(v))
	for _, part := range gateSheets(v) {
		p.line("", "")
		p.line(ansiBold, "%s", part.Title)
		// The reasons are sentences, for which no column is wide enough.
		s, why := part.Sheet, len(part.Sheet.Heads)-1
		p.sheet(s.columns(0, why))
		for _, r := range s.Rows {
			name, _, _ := strings.Cut(r.Cells[0].Text, ", ")
			if at := r.Cells[1].Text; at != "" {
				name += " (" + at + ")"
			}
			if text := r.Cells[why].Text; text != "" {
				p.line("", "  %s: %s", name, text)
			}
		}
	}
	p.line("", "")
	for _, n := range gateNotes(v) {
		p.line("", "%s", n)
	}
	return p.w.Flush()
}

// GateMarkdown writes the same, for a pull request or a step's summary.
func GateMarkdown(w io.Writer, v *gate.Verdict) error {
	return fill(w, markdownTemplates.Lookup("gate.md"), map[string]any{
		"Answer": gateSign(v.Outcome) + " " + gateAnswer(v), "Sheets": gateSheets(v), "Notes": gateNotes(v),
	})
}

func gateAnswer(v *gate.Verdict) string { return string(v.Outcome) + ": " + clean(v.Sentence()) }

func gateSign(o gate.Outcome) string {
	return map[tone]string{good: "✅", bad: "❌"}[gateTone(o)] + map[bool]string{true: "⚠️"}[gateTone(o) == warn]
}

// gateTone of an outcome; what could not be judged is no better than what failed.
func gateTone(o gate.Outcome) tone {
	switch o {
	case gate.Pass:
		return good
	case gate.Fail, gate.Invalid:
		return bad
	case gate.NotJudged:
		return faint
	}
	return warn
}

type gatePart struct {
	Title string
	Sheet sheet
}

// gateSheets are the tables: figures, the invariants that do not simply hold, and what the
// control found.
func gateSheets(v *gate.Verdict) (parts []gatePart) {
	if len(v.Metrics) > 0 {
		parts = append(parts, gatePart{"Figures", gateFigures(v, v.Metrics)})
	}
	odd := slices.DeleteFunc(slices.Clone(v.Invariants), func(f gate.Finding) bool { return f.Outcome == gate.Pass && f.Why == "" })
	if len(odd) > 0 {
		s := sheet{Keys: 1, Heads: append(words("invariant", "point"), heading{Title: "verdict", Left: true, marked: true}, heading{Title: "why", Left: true})}
		for _, f := range odd {
			var r sheetRow
			r.add(clean(f.Name), clean(f.Point))
			r.Cells = append(r.Cells, cell{Text: string(f.Outcome), tone: gateTone(f.Outcome)})
			r.add(clean(f.Why))
			s.Rows = append(s.Rows, r)
		}
		parts = append(parts, gatePart{"Invariants to look at", s})
	}
	if v.Control.Outcome != gate.Pass && len(v.Control.Findings) > 0 {
		parts = append(parts, gatePart{"Control", gateFigures(v, v.Control.Findings)})
	}
	return parts
}

func gateFigures(v *gate.Verdict, all []gate.Finding) sheet {
	interval := fmt.Sprintf("%s interval", Brief(100*(1-2*float64(v.Rules.Alpha)))+" %")
	s := sheet{Keys: 1, Heads: append(words("figure", "point"), heading{Title: "base"}, heading{Title: "new"}, heading{Title: "change"},
		heading{Title: interval}, heading{Title: "allowed"}, heading{Title: "n"}, heading{Title: "verdict", Left: true, marked: true}, heading{Title: "why", Left: true})}
	for i := range all {
		f := &all[i]
		var r sheetRow
		name := clean(f.Name)
		if f.Unit != "" {
			name += ", " + f.Unit
		}
		change, low, high := f.Change()
		between := ""
		switch {
		case f.Kind == gate.KindExact:
			between = "exact"
		case change != "":
			between = low + " to " + high
		}
		n := ""
		if f.N > 0 {
			n = fmt.Sprint(f.N)
		}
		r.add(name, clean(f.Point), gateValue(f.Base), gateValue(f.New), change, between, f.Allowed(), n)
		r.Cells = append(r.Cells, cell{Text: string(f.Outcome), tone: gateTone(f.Outcome)})
		r.add(clean(f.Why))
		s.Rows = append(s.Rows, r)
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
			notes = append(notes, "Not comparable: "+clean(r)+".")
		}
	}
	var holding []string
	seen := map[string]bool{}
	for _, f := range v.Invariants {
		if seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		if !slices.ContainsFunc(v.Invariants, func(x gate.Finding) bool { return x.Name == f.Name && x.Outcome != gate.Pass }) {
			holding = append(holding, clean(f.Name))
		}
	}
	if len(holding) > 0 {
		notes = append(notes, "Invariants that hold in every cell of NEW: "+strings.Join(holding, ", ")+".")
	}
	if c := v.Control; c.What != "" {
		notes = append(notes, fmt.Sprintf("Control: %s: %s.", clean(c.What), map[bool]string{true: "no figure was noisy enough to need one", false: string(c.Outcome)}[c.Outcome == gate.NotJudged]))
	}
	if all := v.Unjudged(); len(all) > 0 {
		var names []string
		for _, f := range all {
			names = append(names, clean(v.Says(f)))
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
	return fmt.Sprintf("BASE is %s, NEW is %s: %s. FAIL: the whole interval is beyond what is allowed, Holm's correction included; PASS: the whole interval is within it; WARN: it overlaps.",
		clean(v.Base), clean(v.New), how)
}
