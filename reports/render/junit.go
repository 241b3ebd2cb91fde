package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/gate"
	"github.com/watchbench/watchbench/reports/result"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

func (n *junitCounts) count(c junitCase) {
	n.Tests++
	switch {
	case c.Failure != nil:
		n.Failures++
	case c.Error != nil:
		n.Errors++
	case c.Skipped != nil:
		n.Skipped++
	}
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Class     string        `xml:"classname,attr"`
	Failure   *junitOutcome `xml:"failure"`
	Error     *junitOutcome `xml:"error"`
	Skipped   *junitOutcome `xml:"skipped"`
	SystemOut string        `xml:"system-out,omitempty"`
}

type junitOutcome struct {
	Message string `xml:"message,attr"`
}

func outcome(message string) *junitOutcome { return &junitOutcome{clean(message)} }

// writeJUnit writes suites; those without a case are left out.
func writeJUnit(w io.Writer, name string, suites []junitSuite) error {
	all := junitSuites{Name: clean(name)}
	for _, s := range suites {
		if len(s.Cases) == 0 {
			continue
		}
		s.Name = clean(s.Name)
		for i := range s.Cases {
			c := &s.Cases[i]
			c.Name, c.SystemOut = clean(c.Name), clean(c.SystemOut)
			s.count(*c)
			all.count(*c)
		}
		for i, p := range s.Properties {
			s.Properties[i] = junitProperty{clean(p.Name), clean(p.Value)}
		}
		all.Suites = append(all.Suites, s)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

// JUnit writes one test suite per cell and one test case per check, then a suite of the
// thresholds. A check that fails as the scenario allows, or that was not judged, is skipped with its
// reason; a cell that is invalid is an error, and of its checks only violations are believed.
func JUnit(w io.Writer, res *result.Results) error {
	t := arrange(res)
	class := "watchbench." + benchPart(res.Run.Scenario)
	var suites []junitSuite
	for _, r := range t.rows {
		for _, c := range r.Cells {
			suites = append(suites, cellSuite(t, class+"."+benchPart(r.load)+"."+benchPart(r.strategy), c))
		}
	}
	bounds := junitSuite{Name: "thresholds"}
	for i := range res.Thresholds {
		x := &res.Thresholds[i]
		tc := junitCase{Name: x.Point + " " + x.Metric + " " + x.Bound, Class: class}
		switch {
		case x.Failed():
			tc.Failure = outcome(x.String())
		case !x.Holds:
			tc.Skipped = outcome("not judged: " + x.Why)
		default:
			tc.SystemOut = x.String()
		}
		bounds.Cases = append(bounds.Cases, tc)
	}
	return writeJUnit(w, "watchbench "+res.Run.Scenario, append(suites, bounds))
}

func cellSuite(t *table, class string, c *result.Cell) junitSuite {
	s := junitSuite{Name: c.ID}
	for _, k := range slices.Sorted(maps.Keys(c.Params)) {
		s.Properties = append(s.Properties, junitProperty{k, c.Params[k]})
	}
	s.Properties = append(s.Properties, junitProperty{"repetition", strconv.Itoa(c.Repetition)})
	if c.Cut {
		s.Properties = append(s.Properties, junitProperty{"cut", "drain limit reached with " + percent(c.CutFraction) +
			" acknowledged"})
	}
	valid := junitCase{Name: c.ID + " valid", Class: class}
	if !c.Valid {
		valid.Error = outcome(strings.Join(c.InvalidReasons, "; "))
	}
	s.Cases = append(s.Cases, valid)
	for _, g := range t.checks {
		check, ok := c.Checks[g]
		if !ok {
			continue
		}
		tc := junitCase{Name: c.ID + " " + checkTitle(g), Class: class} // unique: some readers show nothing else
		switch {
		case !c.Counts(g):
			tc.Skipped = outcome("the cell is invalid")
		case check.Verdict == result.Fail:
			tc.Failure = outcome(failure(g, check))
		case check.Verdict == result.Allowed:
			tc.Skipped = outcome(failure(g, check))
		case check.Verdict == result.NoPower:
			tc.Skipped = outcome(noPower(check.Power, check.MinPower))
		case check.Verdict != result.Pass:
			words := strings.ReplaceAll(check.Verdict, "-", " ") // not judged, not applicable
			tc.Skipped = outcome(words + leading(": ", check.Note))
		default:
			tc.SystemOut = fmt.Sprintf("judged %d", check.Judged)
		}
		s.Cases = append(s.Cases, tc)
	}
	return s
}

// GateJUnit writes a suite each for what makes the runs comparable, the invariants, the
// figures and the control. FAIL is a failure; INVALID and INCONCLUSIVE are errors.
func GateJUnit(w io.Writer, v *gate.Verdict) error {
	comparable := junitCase{Name: "comparable", SystemOut: v.Sentence()}
	if len(v.Reasons) > 0 {
		comparable.Error = outcome(strings.Join(v.Reasons, "; "))
	}
	suites := []junitSuite{{Name: "runs", Cases: []junitCase{comparable}}}
	for _, part := range []struct {
		name string
		list []gate.Finding
	}{{"invariants", v.Invariants}, {"figures", v.Metrics}, {"control", v.Control.Findings}} {
		s := junitSuite{Name: part.name}
		for _, f := range part.list {
			tc := junitCase{Name: strings.TrimSpace(f.Name + " " + f.Point), Class: "watchbench.gate." + part.name}
			switch says := v.Says(f); f.Outcome {
			case gate.Fail:
				tc.Failure = outcome(says)
			case gate.NotJudged:
				tc.Skipped = outcome(says)
			case gate.Pass, gate.Warn:
				tc.SystemOut = string(f.Outcome) + ": " + says
			default:
				tc.Error = outcome(string(f.Outcome) + ": " + says)
			}
			s.Cases = append(s.Cases, tc)
		}
		suites = append(suites, s)
	}
	suites[0].Cases[0].Class = "watchbench.gate.runs"
	return writeJUnit(w, strings.TrimSpace("watchbench gate "+v.Scenario), suites)
}
