package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

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

// count adds the outcome of one case.
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
	Text    string `xml:",chardata"`
}

// JUnit writes one test suite per cell and one test case per check, then a suite of the
// thresholds. A check that
// fails as the scenario allows, or that was not judged, is skipped with its
// reason; a cell that is invalid is an error, and of its checks only violations are believed.
func JUnit(w io.Writer, res *result.Results) error {
	t := arrange(res)
	all := junitSuites{Name: "watchbench " + clean(res.Run.Scenario)}
	class := "watchbench." + benchPart(res.Run.Scenario)
	add := func(s junitSuite) {
		for _, tc := range s.Cases {
			s.count(tc)
			all.count(tc)
		}
		all.Suites = append(all.Suites, s)
	}
	for _, r := range t.rows {
		for _, c := range r.cells {
			add(cellSuite(t, class+"."+benchPart(r.load)+"."+benchPart(r.strategy), c))
		}
	}
	if len(res.Thresholds) > 0 {
		add(thresholdSuite(class, res.Thresholds))
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

func cellSuite(t *table, class string, c *result.Cell) junitSuite {
	s := junitSuite{Name: clean(c.ID)}
	for _, k := range slices.Sorted(maps.Keys(c.Params)) {
		s.Properties = append(s.Properties, junitProperty{clean(k), clean(c.Params[k])})
	}
	s.Properties = append(s.Properties, junitProperty{"repetition", strconv.Itoa(c.Repetition)})
	if c.Cut {
		s.Properties = append(s.Properties, junitProperty{"cut", "drain limit reached with " + percent(c.CutFraction) + " acknowledged"})
	}
	add := func(name string, tc junitCase) {
		// Some readers show nothing but the name, so it is unique by itself.
		tc.Name, tc.Class = s.Name+" "+name, class
		s.Cases = append(s.Cases, tc)
	}
	var valid junitCase
	if !c.Valid {
		valid.Error = &junitOutcome{Message: clean(strings.Join(c.InvalidReasons, "; "))}
	}
	add("valid", valid)
	for _, g := range t.checks {
		if check, ok := c.Checks[g]; ok {
			add(checkTitle(g), checkCase(c, g, check))
		}
	}
	return s
}

func checkCase(c *result.Cell, g string, check result.Check) (tc junitCase) {
	text := counterexamples(check, shownExamples)
	switch {
	case !c.Counts(g):
		tc.Skipped = &junitOutcome{Message: "the cell is invalid"}
	case check.Verdict == result.Fail:
		tc.Failure = &junitOutcome{Message: clean(violations(check)), Text: text}
	case check.Verdict == result.Allowed:
		tc.Skipped = &junitOutcome{Message: "fails, as the scenario allows: " + clean(violations(check))}
		tc.SystemOut = text
	case check.Verdict == result.NoPower:
		tc.Skipped = &junitOutcome{Message: noPower(check.Power, check.MinPower)}
	case check.Verdict != result.Pass:
		words := strings.ReplaceAll(check.Verdict, "-", " ") // not judged, not applicable
		tc.Skipped = &junitOutcome{Message: strings.TrimSuffix(words+": "+clean(check.Note), ": ")}
	default:
		tc.SystemOut = fmt.Sprintf("judged %d", check.Judged)
	}
	return tc
}
