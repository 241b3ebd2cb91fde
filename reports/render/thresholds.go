package render

import (
	"fmt"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Thresholds is the table of the scenario's bounds; without rows if it has none.
func (t *table) Thresholds() (s sheet) {
	s.Keys, s.Heads = 2, append(words("point", "figure", "bound"), heading{Title: "value"}, heading{Title: "verdict", Left: true})
	for i := range t.res.Thresholds {
		x := &t.res.Thresholds[i]
		var l sheetRow
		l.add(clean(x.Point), clean(x.Metric), clean(x.Bound), clean(x.Figure()))
		v := cell{Text: "holds", tone: good}
		switch {
		case x.Failed():
			v = cell{Text: "FAILS", tone: bad}
		case !x.Holds:
			v = cell{Text: "not judged", tone: warn}
		}
		if x.Why != "" {
			v.Text += ": " + clean(x.Why)
		}
		l.Cells = append(l.Cells, v)
		s.Rows = append(s.Rows, l)
	}
	return s
}

// missed are the bounds that were judged and do not hold.
func (t *table) missed() (all []string) {
	for i := range t.res.Thresholds {
		if x := &t.res.Thresholds[i]; x.Failed() {
			all = append(all, clean(x.String()))
		}
	}
	return all
}

// Bounds is the outcome of the thresholds in a sentence; "" where there are none.
func (t *table) Bounds() string {
	all, held, missed := len(t.res.Thresholds), t.held(), t.missed()
	s := "Of " + plural(all, "threshold")
	rest := all - held - len(missed)
	switch {
	case all == 0:
		return ""
	case rest == all:
		return s + ", none was judged."
	case len(missed) > 0:
		s = fmt.Sprintf("%s, %d failed: %s.", s, len(missed), strings.Join(missed, "; "))
	default:
		s += ", none failed."
	}
	if rest > 0 {
		s += fmt.Sprintf(" Not judged: %d.", rest)
	}
	return s
}

// held counts the bounds that were judged and hold.
func (t *table) held() (n int) {
	for i := range t.res.Thresholds {
		if t.res.Thresholds[i].Holds {
			n++
		}
	}
	return n
}

// BoundsState is how the thresholds came out: what was not judged, or a point that the run
// does not have, is no pass.
func (t *table) BoundsState() state {
	switch {
	case len(t.missed()) > 0:
		return stateFailed
	case t.held() < len(t.res.Thresholds) || len(t.res.Missing()) > 0:
		return stateOpen
	}
	return statePassed
}

// thresholdSuite has a case for each bound at each point.
func thresholdSuite(class string, all []result.Threshold) junitSuite {
	s := junitSuite{Name: "thresholds"}
	for i := range all {
		x := &all[i]
		tc := junitCase{Name: clean(x.Point + " " + x.Metric + " " + x.Bound), Class: class}
		switch {
		case x.Failed():
			tc.Failure = &junitOutcome{Message: clean(x.String())}
		case !x.Holds:
			tc.Skipped = &junitOutcome{Message: "not judged: " + clean(x.Why)}
		default:
			tc.SystemOut = clean(x.String())
		}
		s.Cases = append(s.Cases, tc)
	}
	return s
}
