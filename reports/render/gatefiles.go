package render

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/watchbench/watchbench/reports/gate"
)

// GateFormats are the ways to render a verdict into a file, by name.
func GateFormats() []GateFormat {
	return []GateFormat{
		{"md", "gate.md", GateMarkdown},
		{"json", "gate.json", GateJSON},
		{"junit", "gate.xml", GateJUnit},
		{"github", "gate.annotations", GateAnnotations},
	}
}

// GateFormat is one of them.
type GateFormat struct {
	Name  string // as the user types it
	File  string
	Write func(io.Writer, *gate.Verdict) error
}

// GateAnnotations writes workflow commands of GitHub Actions: an error for each finding that
// keeps the gate shut, a warning for each WARN, and the answer.
func GateAnnotations(w io.Writer, v *gate.Verdict) error {
	b := bufio.NewWriter(w)
	command := func(kind, title, text string) {
		fmt.Fprintf(b, "::%s title=%s::%s\n", kind, annotationTitle.Replace(clean(title)),
			annotationText.Replace(clean(text)))
	}
	kind := func(o gate.Outcome) string {
		switch o {
		case gate.Warn:
			return "warning"
		case gate.Pass:
			return "notice"
		}
		return "error"
	}
	command(kind(v.Outcome), "watchbench gate: "+string(v.Outcome), v.Sentence())
	for i, f := range v.Problems() {
		if i == mostAnnotations {
			break
		}
		command(kind(f.Outcome), "watchbench gate: "+string(f.Outcome)+" "+f.Name, v.Says(f))
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

// GateJUnit writes a suite each for what makes the runs comparable, the invariants, the
// figures and the control. FAIL is a failure; INVALID and INCONCLUSIVE are errors.
func GateJUnit(w io.Writer, v *gate.Verdict) error {
	comparable := junitCase{Name: "comparable", SystemOut: v.Sentence()}
	if len(v.Reasons) > 0 {
		comparable.Error = outcome(strings.Join(v.Reasons, "; "), "")
	}
	suites := []junitSuite{{Name: "runs", Cases: []junitCase{comparable}}}
	for _, part := range []struct {
		name string
		list []gate.Finding
	}{{"invariants", v.Invariants}, {"figures", v.Metrics}, {"control", v.Control.Findings}} {
		s := junitSuite{Name: part.name}
		for _, f := range part.list {
			s.Cases = append(s.Cases, gateCase(v, f))
		}
		suites = append(suites, s)
	}
	for i := range suites {
		for j := range suites[i].Cases {
			suites[i].Cases[j].Class = "watchbench.gate." + suites[i].Name
		}
	}
	return writeJUnit(w, strings.TrimSpace("watchbench gate "+v.Scenario), suites)
}

func gateCase(v *gate.Verdict, f gate.Finding) junitCase {
	tc := junitCase{Name: strings.TrimSpace(f.Name + " " + f.Point)}
	says := v.Says(f)
	switch f.Outcome {
	case gate.Fail:
		tc.Failure = outcome(says, "")
	case gate.NotJudged:
		tc.Skipped = outcome(says, "")
	case gate.Pass:
		tc.SystemOut = says
	case gate.Warn:
		tc.SystemOut = "WARN: " + says
	default:
		tc.Error = outcome(string(f.Outcome)+": "+says, "")
	}
	return tc
}
