package render

import (
	"bufio"
	"encoding/xml"
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
		fmt.Fprintf(b, "::%s title=%s::%s\n", kind, annotationTitle.Replace(clean(title)), annotationText.Replace(clean(text)))
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
	all := junitSuites{Name: strings.TrimSpace("watchbench gate " + clean(v.Scenario))}
	add := func(name string, cases []junitCase) {
		s := junitSuite{Name: name}
		for _, tc := range cases {
			tc.Class = "watchbench.gate." + name
			s.count(tc)
			all.count(tc)
			s.Cases = append(s.Cases, tc)
		}
		if len(s.Cases) > 0 {
			all.Suites = append(all.Suites, s)
		}
	}
	comparable := junitCase{Name: "comparable", SystemOut: clean(v.Sentence())}
	if len(v.Reasons) > 0 {
		comparable.Error = &junitOutcome{Message: clean(strings.Join(v.Reasons, "; "))}
	}
	add("runs", []junitCase{comparable})
	for _, part := range []struct {
		name string
		list []gate.Finding
	}{{"invariants", v.Invariants}, {"figures", v.Metrics}, {"control", v.Control.Findings}} {
		var cases []junitCase
		for _, f := range part.list {
			cases = append(cases, gateCase(v, f))
		}
		add(part.name, cases)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

func gateCase(v *gate.Verdict, f gate.Finding) junitCase {
	tc := junitCase{Name: clean(strings.TrimSpace(f.Name + " " + f.Point))}
	says := clean(v.Says(f))
	switch f.Outcome {
	case gate.Fail:
		tc.Failure = &junitOutcome{Message: says}
	case gate.NotJudged:
		tc.Skipped = &junitOutcome{Message: says}
	case gate.Pass:
		tc.SystemOut = says
	case gate.Warn:
		tc.SystemOut = "WARN: " + says
	default:
		tc.Error = &junitOutcome{Message: string(f.Outcome) + ": " + says}
	}
	return tc
}
