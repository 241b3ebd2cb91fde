package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// JUnit writes one test suite per cell and one test case per check, then a suite of the
// thresholds. A check that fails as the scenario allows, or that was not judged, is skipped with its
// reason; a cell that is invalid is an error, and of its checks only violations are believed.
func JUnit(w io.Writer, res *result.Results) error {
	t := arrange(res)
	class := "watchbench." + benchPart(res.Run.Scenario)
	var suites []junitSuite
	for _, r := range t.rows {
		for _, c := range r.cells {
			suites = append(suites, cellSuite(t, class+"."+benchPart(r.load)+"."+benchPart(r.strategy), c))
		}
	}
	suites = append(suites, thresholdSuite(class, res.Thresholds))
	return writeJUnit(w, "watchbench "+res.Run.Scenario, suites)
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
	add := func(name string, tc junitCase) {
		// Some readers show nothing but the name, so it is unique by itself.
		tc.Name, tc.Class = s.Name+" "+name, class
		s.Cases = append(s.Cases, tc)
	}
	var valid junitCase
	if !c.Valid {
		valid.Error = outcome(strings.Join(c.InvalidReasons, "; "), "")
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
	e := counterexamples("", check)
	text := e.text(shownExamples)
	switch {
	case !c.Counts(g):
		tc.Skipped = outcome("the cell is invalid", "")
	case check.Verdict == result.Fail:
		tc.Failure = outcome(violations(check), text)
	case check.Verdict == result.Allowed:
		tc.Skipped, tc.SystemOut = outcome("fails, as the scenario allows: "+violations(check), ""), text
	case check.Verdict == result.NoPower:
		tc.Skipped = outcome(noPower(check.Power, check.MinPower), "")
	case check.Verdict != result.Pass:
		words := strings.ReplaceAll(check.Verdict, "-", " ") // not judged, not applicable
		tc.Skipped = outcome(words+leading(": ", check.Note), "")
	default:
		tc.SystemOut = fmt.Sprintf("judged %d", check.Judged)
	}
	return tc
}

// thresholdSuite has a case for each bound at each point.
func thresholdSuite(class string, all []result.Threshold) junitSuite {
	s := junitSuite{Name: "thresholds"}
	for i := range all {
		x := &all[i]
		tc := junitCase{Name: x.Point + " " + x.Metric + " " + x.Bound, Class: class}
		switch {
		case x.Failed():
			tc.Failure = outcome(x.String(), "")
		case !x.Holds:
			tc.Skipped = outcome("not judged: "+x.Why, "")
		default:
			tc.SystemOut = x.String()
		}
		s.Cases = append(s.Cases, tc)
	}
	return s
}
