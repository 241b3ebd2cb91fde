package matrix

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// attempt is what a cell came to, with one column that failed, if any.
func attempt(cell, column, detail string, invalid ...string) result.MatrixEntry {
	e := result.MatrixEntry{Scenario: "f", Cell: cell, Invalid: invalid, Columns: map[string]result.Column{"C": {Verdict: result.Pass, Detail: detail}}}
	if column != "" {
		e.Columns[column] = result.Column{Verdict: result.Fail, Detail: detail}
	}
	return e
}

// TestAgain: invalid cells get a second try; a valid one never does, nor one that shows more than lateness.
func TestAgain(t *testing.T) {
	for _, tc := range []struct {
		name    string
		entries []result.MatrixEntry
		want    map[string]string
	}{
		{"holds", []result.MatrixEntry{attempt("a", "", "")}, map[string]string{}},
		{"late", []result.MatrixEntry{attempt("a", "T", "9 s")}, map[string]string{}},
		{"invalid", []result.MatrixEntry{attempt("a", "", "", "behind", "never fired")}, map[string]string{"a": "behind; never fired"}},
		{"late and invalid", []result.MatrixEntry{attempt("a", "I", "9 s", "behind")}, map[string]string{"a": "behind"}},
		{"wrong and invalid", []result.MatrixEntry{attempt("a", "O", "x", "behind")}, nil},
		{"an exit and invalid", []result.MatrixEntry{attempt("a", "X", "x", "behind")}, nil},
		{"invalid beside a good one", []result.MatrixEntry{attempt("a", "", ""), attempt("b", "", "", "behind")}, map[string]string{"b": "behind"}},
		{"invalid beside a wrong one", []result.MatrixEntry{attempt("a", "C", ""), attempt("b", "", "", "behind")}, nil},
		{"aborted", []result.MatrixEntry{{Error: "boom"}, attempt("b", "", "", "behind")}, nil},
	} {
		if d := cmp.Diff(tc.want, Again(tc.entries)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

func TestSettle(t *testing.T) {
	first := []result.MatrixEntry{attempt("good", "", "1"), attempt("late", "T", "1"), attempt("behind", "", "1", "the generator")}
	why := Again(first)
	if d := cmp.Diff(result.Retry{Scenario: "f", Why: "behind: the generator"}, retry(first, why)); d != "" {
		t.Error(d)
	}
	repeated := func(e result.MatrixEntry) result.MatrixEntry {
		e.First = "the generator"
		return e
	}
	for _, tc := range []struct {
		name         string
		second, want result.MatrixEntry
	}{
		{"good again", attempt("good", "", "2"), first[0]},
		{"good, then late", attempt("good", "I", "2"), first[0]},
		{"good, then invalid", attempt("good", "", "2", "the generator"), first[0]},
		{"good, then out of order", attempt("good", "O", "2"), attempt("good", "O", "2")},
		{"late, then good", attempt("late", "", "2"), first[1]},
		{"behind, then good", attempt("behind", "", "2"), repeated(attempt("behind", "", "2"))},
		{"behind again", attempt("behind", "", "2", "again"), repeated(attempt("behind", "", "2", "again"))},
		{"behind, then lost", attempt("behind", "C", "2"), repeated(attempt("behind", "C", "2"))},
		{"aborted", result.MatrixEntry{Error: "boom"}, result.MatrixEntry{Error: "boom"}},
	} {
		if d := cmp.Diff([]result.MatrixEntry{tc.want}, Settle(first, []result.MatrixEntry{tc.second}, why)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// TestStoodStill: a figure of time that fails on a machine that stood still is no evidence; on one that ran it is.
func TestStoodStill(t *testing.T) {
	const second = int64(1e9)
	at := func(from, until int64, steal float64) history.Sample {
		return history.Sample{Time: from, Until: until, CPU: &history.CPU{Steal: steal, Total: float64(from) / 1e9}}
	}
	steady := []history.Sample{at(1*second, 1*second, 0), at(2*second-1, 2*second, 0), at(3*second-1, 3*second, 0.04)}
	gap := []history.Sample{at(1*second, 1*second, 0), at(2*second, 2*second, 0)}
	for _, tc := range []struct {
		name    string
		samples []history.Sample
		column  string
		want    bool
	}{
		{"it ran", steady, "T", false},
		{"a gap", gap, "T", true},
		{"a gap, and isolation", gap, "I", true},
		{"a gap, and order", gap, "O", false},
		{"a long answer", []history.Sample{at(1*second, 3*second, 0), at(3*second, 3*second, 0)}, "T", false},
		{"a gap before the load", []history.Sample{at(-9*second, -9*second, 0), at(1*second, 1*second, 0)}, "T", false},
		{"stolen", []history.Sample{at(1*second, 2*second-1, 0), at(2*second, 3*second, 0.06)}, "T", true},
	} {
		c := ordinary()
		c.Cell.DrainEnd, c.Samples = 20*second, tc.samples
		c.Cell.Scenario.Storage.Faults = nil
		row := &result.Robustness{Columns: map[string]result.Column{tc.column: {Verdict: result.Fail}}}
		c.Cell.Scenario.Fault.Assert = []string{tc.column}
		if why := vacuous(c, row); (len(why) > 0) != tc.want {
			t.Errorf("%s: %q", tc.name, why)
		}
	}
}
