package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/result"
)

// GateFormats lists the file formats of a verdict.
func GateFormats() []Format[*gate.Verdict] {
	return []Format[*gate.Verdict]{
		{"md", "gate.md", as(DocumentMarkdown, Gate)}, {"json", "gate.json", asJSON[*gate.Verdict]},
		{"junit", "gate.xml", GateJUnit}, {"github", "gate.annotations", GateAnnotations},
	}
}

// GateTerminal prints the verdict of a gate in the first line, which scripts read, then the figures.
func GateTerminal(w io.Writer, v *gate.Verdict, opts TerminalOptions) error {
	d := Gate(v)
	d.Title = ""
	return DocumentTerminal(w, d, opts)
}

// Gate reports the figures, the invariants that do not simply hold, and what the control found.
func Gate(v *gate.Verdict) *Document {
	d := &Document{Title: "gate", Verdicts: []Cell{{Text: string(v.Outcome) + ": " + v.Sentence(),
		Tone: gateTone(v.Outcome)}}}
	figures, control := v.Metrics, v.Control.Findings
	d.add(gateFigures("Figures", v, figures))
	odd := Section{Title: "Invariants to look at", Table: Table{Heads: Heads("invariant", "point", "verdict", "why")}}
	for _, f := range v.Invariants {
		if f.Outcome != gate.Pass || f.Why != "" {
			odd.Table.Rows = append(odd.Table.Rows, append(Cells(f.Name, f.Point), gateOutcome(f), Cell{Text: f.Why}))
		}
	}
	d.add(odd)
	if v.Control.Outcome != gate.Pass {
		d.add(gateFigures("Control", v, control))
	}
	d.add(Section{Title: "Method", Text: gateNotes(v)})
	return d
}

func gateOutcome(f gate.Finding) Cell {
	return Cell{Text: string(f.Outcome), Tone: gateTone(f.Outcome)}
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
	interval := Brief(100*(1-2*float64(v.Rules.Alpha))) + " % interval"
	s := Section{Title: title, Table: Table{Heads: append(Heads("figure", "point"), Head{Title: "base"},
		Head{Title: "new"}, Head{Title: "change"}, Head{Title: interval}, Head{Title: "allowed"}, Head{Title: "n"},
		Head{Title: "verdict", Words: true})}}
	for _, f := range all {
		change, low, high := f.Change()
		between := ""
		switch {
		case f.Kind == gate.KindExact:
			between = "exact"
		case change != "":
			between = low + " to " + high
		}
		cells := Cells(f.Name+leading(", ", f.Unit), f.Point, gateValue(f.Base), gateValue(f.New), change, between,
			f.Allowed(), strings.TrimPrefix(fmt.Sprint(f.N), "0"))
		s.Table.Rows = append(s.Table.Rows, append(cells, gateOutcome(f)))
		if f.Why != "" {
			s.Notes = append(s.Notes, f.Name+leading(" (", f.Point, ")")+": "+f.Why)
		}
	}
	return s
}

func gateValue(v *float64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprintf("%.5g", *v)
}

func gateNotes(v *gate.Verdict) (notes []string) {
	for _, r := range v.Reasons {
		if !strings.Contains(v.Sentence(), r) { // which names the first few
			notes = append(notes, "Not comparable: "+r+".")
		}
	}
	if c := v.Control; c.What != "" {
		came := string(c.Outcome)
		if c.Outcome == gate.NotJudged {
			came = "no figure was noisy enough to need one"
		}
		notes = append(notes, fmt.Sprintf("Control: %s: %s.", c.What, came))
	}
	for _, f := range v.Unjudged() {
		notes = append(notes, "Not judged: "+v.Says(f)+".")
	}
	if len(v.Metrics)+len(v.Control.Findings) == 0 {
		return append(notes, "No figure was judged.")
	}
	how := "two saved runs"
	if v.Blocked {
		how = "both sides in one run, in blocks A B B A"
	}
	return append(notes, fmt.Sprintf("BASE is %s, NEW is %s: %s. FAIL: the whole interval is beyond what is allowed, "+
		"Holm's correction included; PASS: the whole interval is within it; WARN: it overlaps.", v.Base, v.New, how))
}

// GateAnnotations writes workflow commands of GitHub Actions: an error for each finding that
// keeps the gate shut, a warning for each WARN, and the answer.
func GateAnnotations(w io.Writer, v *gate.Verdict) error {
	b := bufio.NewWriter(w)
	command := func(o gate.Outcome, title, text string) {
		kind := map[gate.Outcome]string{gate.Warn: "warning", gate.Pass: "notice"}[o]
		if kind == "" {
			kind = "error"
		}
		fmt.Fprintf(b, "::%s title=%s::%s\n", kind, annotationTitle.Replace(clean("watchbench gate: "+title)),
			annotationText.Replace(clean(text)))
	}
	command(v.Outcome, string(v.Outcome), v.Sentence())
	for i, f := range v.Problems() {
		if i == mostAnnotations {
			break
		}
		command(f.Outcome, string(f.Outcome)+" "+f.Name, v.Says(f))
	}
	return b.Flush()
}

// mostAnnotations beside the answer: GitHub shows 10 of each kind for a step.
const mostAnnotations = 9

// GitHub's escapes in the text and in the properties of a workflow command.
var (
	annotationText  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	annotationTitle = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// NothingToGate writes a verdict as JSON where both sides are one program.
func NothingToGate(w io.Writer, why string) error {
	return result.EncodeJSON(w, &gate.Verdict{Outcome: gate.NotJudged, Reasons: []string{why},
		Control: gate.Control{Outcome: gate.NotJudged}})
}
