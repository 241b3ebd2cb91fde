package matrix

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func col(verdict, value string) result.Column { return result.Column{Verdict: verdict, Value: value} }

func sample() *result.Matrix {
	limit := 2.0
	m := &result.Matrix{Schema: result.MatrixSchema, Profile: "default", Seconds: 61.4}
	m.Entries = []result.MatrixEntry{
		FromCell("f02-refuse", result.Cell{ID: "only", Valid: true, Robustness: &result.Robustness{Row: "F2", Title: "refused", Columns: map[string]result.Column{
			"C": col(result.Pass, ""), "A": col(result.Pass, "1.01"), "T": {Verdict: result.Fail, Value: "9 s", Detail: "recovery: 9 s, at most 2"},
		}, Facts: []result.Fact{{Column: "T", Name: "recovery", Unit: "s", Value: 9, Limit: &limit}}}}),
		FromCell("f00-none", result.Cell{ID: "only", Valid: true, Robustness: &result.Robustness{Row: "F0", Title: "none", Columns: map[string]result.Column{
			"C": col(result.Pass, ""), "T": col(result.Measured, "0.1 s"), "O": col(result.Measured, ""),
		}}}),
		FromCell("f07-poison", result.Cell{ID: "422", InvalidReasons: []string{"the fault 422 never fired"}, Robustness: &result.Robustness{Row: "F7", Columns: map[string]result.Column{
			"C": col(result.NotJudged, ""),
		}}}),
		{Row: "F9", Scenario: "f09-silent", Error: "the watcher ended"},
	}
	return m
}

func TestComplete(t *testing.T) {
	m := sample()
	Complete(m, nil)
	for i, r := range result.MatrixRows {
		if i >= len(m.Entries) || m.Entries[i].Row != r.ID {
			t.Fatalf("%d entries, want one for each of %d rows in order: %+v", len(m.Entries), len(result.MatrixRows), m.Entries)
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again result.Matrix
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, &again); d != "" {
		t.Errorf("the JSON loses something:\n%s", d)
	}
}

func TestAskedRowsOnly(t *testing.T) {
	m := sample()
	Complete(m, []string{"F2", "F25"})
	var have []string
	for _, e := range m.Entries {
		have = append(have, e.Row)
	}
	if d := cmp.Diff([]string{"F0", "F2", "F7", "F9", "F25"}, have); d != "" {
		t.Error(d)
	}
}

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name    string
		e       result.MatrixEntry
		failed  []string
		invalid string
	}{
		{"holds", result.MatrixEntry{Columns: map[string]result.Column{"C": col(result.Pass, "")}}, nil, ""},
		{"fails", result.MatrixEntry{Columns: map[string]result.Column{"C": col(result.Fail, ""), "T": col(result.Fail, "")}}, []string{"C", "T"}, ""},
		{"measured only", result.MatrixEntry{Columns: map[string]result.Column{"C": col(result.Measured, "violated")}}, nil, ""},
		{"fails as expected", result.MatrixEntry{Expected: []string{"L"}, Columns: map[string]result.Column{"L": col(result.Fail, ""), "C": col(result.Fail, "")}}, nil, ""},
		{"was to fail", result.MatrixEntry{Expected: []string{"L"}, Columns: map[string]result.Column{"L": col(result.Pass, "")}}, []string{"L was to fail"}, ""},
		{"invalid", result.MatrixEntry{Invalid: []string{"a", "b"}}, nil, "a; b"},
		{"not built", result.MatrixEntry{NotBuilt: "later"}, nil, ""},
		{"aborted", result.MatrixEntry{Error: "boom"}, nil, "boom"},
		{"ended by itself", result.MatrixEntry{Error: "boom", Columns: map[string]result.Column{"X": col(result.Fail, "")}}, []string{"X"}, "boom"},
		{"fails, and is invalid", result.MatrixEntry{Invalid: []string{"a"}, Columns: map[string]result.Column{"C": col(result.Fail, "")}}, []string{"C"}, "a"},
	} {
		if failed, invalid := tc.e.Verdict(); !cmp.Equal(failed, tc.failed) || invalid != tc.invalid {
			t.Errorf("%s: %v, %q", tc.name, failed, invalid)
		}
	}
}

// TestChoose: a row means all its scenarios, a scenario only itself, whatever else its row has; the undisturbed row
// comes first where one of them needs it.
func TestChoose(t *testing.T) {
	scenario := func(name, row string, f spec.Fault) Scenario {
		f.Row = row
		return Scenario{name, &f}
	}
	all := []Scenario{
		scenario("faults/f00-none", "F0", spec.Fault{Assert: []string{"T"}, Legacy: []string{"A"}}),
		scenario("faults/f01-slow", "F1", spec.Fault{Assert: []string{"C", "I"}}),
		scenario("faults/f02-refuse", "F2", spec.Fault{Assert: []string{"C"}, Legacy: []string{"L"}}),
		scenario("faults/f02-refuse-long", "F2", spec.Fault{Assert: []string{"C"}}),
		scenario("regression/parked", "F2", spec.Fault{Assert: []string{"C"}}),
	}
	for _, tc := range []struct {
		name string
		c    Choice
		want string
		rows string
	}{
		{"everything", Choice{}, "faults/f00-none faults/f01-slow faults/f02-refuse regression/parked", ""},
		{"the long ones too", Choice{Long: true}, "faults/f00-none faults/f01-slow faults/f02-refuse faults/f02-refuse-long regression/parked", ""},
		{"a row", Choice{Refs: []string{"f2"}}, "faults/f02-refuse regression/parked", "F2"},
		{"a row that is compared", Choice{Refs: []string{"F1"}}, "faults/f00-none faults/f01-slow", "F1"},
		{"a long one by name", Choice{Refs: []string{"faults/f02-refuse-long"}}, "faults/f02-refuse-long", "F2"},
		{"legacy", Choice{Legacy: true}, "faults/f00-none faults/f02-refuse", "F0 F2"},
		{"a row that has none, beside one", Choice{Refs: []string{"F25", "f2"}}, "faults/f02-refuse regression/parked", "F25 F2"},
	} {
		names, rows, err := Choose(all, tc.c)
		if got := strings.Join(names, " "); err != nil || got != tc.want || strings.Join(rows, " ") != tc.rows {
			t.Errorf("%s: %s, rows %v, %v, want %s, rows %s", tc.name, got, rows, err, tc.want, tc.rows)
		}
	}
	if _, _, err := Choose(all, Choice{Refs: []string{"F99"}}); err == nil || !strings.Contains(err.Error(), `"F99" is neither a row F0 to F30 nor a scenario`) {
		t.Errorf("%v", err)
	}
	if _, _, err := Choose(all[3:4], Choice{Refs: []string{"F2", "F25"}}); err == nil || !strings.HasSuffix(err.Error(), "F2: its scenarios are long and need --by-hand, F25: a Go test: make robustness") {
		t.Errorf("nothing to run: %v", err)
	}
}

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

// TestPair: a cell is held to the one of its run that differs in the fault alone; one that has none fails.
func TestPair(t *testing.T) {
	cell := func(point string, p99 float64, edit func(*result.Cell)) result.Cell {
		c := result.Cell{ID: point, Valid: true, Params: map[string]string{"readers": point}, Freshness: &result.Quantiles{P99: p99}}
		c.Robustness = &result.Robustness{Paired: 1.2, Columns: map[string]result.Column{"I": {Verdict: result.Pass, Value: "0.03 s"}}}
		if edit != nil {
			edit(&c)
		}
		return c
	}
	more := func(c *result.Cell) { c.Params["strategy"] = "keyed" }
	for _, tc := range []struct {
		name  string
		cells []result.Cell // the last is looked at
		want  string        // of the column's detail; empty: it passes
	}{
		{"as fresh", []result.Cell{cell("none", 0.1, nil), cell("faulty", 0.12, nil)}, ""},
		{"later", []result.Cell{cell("none", 0.1, nil), cell("faulty", 0.13, nil)}, "0.13 s, at most 0.12 (without: 0.1 s)"},
		{"the other was very fresh", []result.Cell{cell("none", 0.01, nil), cell("faulty", 0.06, nil)}, ""},
		{"later than what counts as fresh", []result.Cell{cell("none", 0.01, nil), cell("faulty", 0.061, nil)}, "at most 0.06"},
		{"alone", []result.Cell{cell("faulty", 0.01, nil)}, "no cell without the fault"},
		{"the other proves nothing", []result.Cell{cell("none", 0.1, func(c *result.Cell) { c.Valid = false }), cell("faulty", 0.01, nil)}, "no cell without"},
		{"the other is of another strategy", []result.Cell{
			cell("none", 0.1, func(c *result.Cell) { c.Params["strategy"] = "adaptive" }), cell("faulty", 0.01, more)}, "no cell without"},
		{"the other is of another repetition", []result.Cell{cell("none", 0.1, func(c *result.Cell) { c.Repetition = 2 }), cell("faulty", 0.01, nil)}, "no cell without"},
		{"the same strategy", []result.Cell{cell("none", 0.1, more), cell("faulty", 0.01, more)}, ""},
		{"nothing arrived", []result.Cell{cell("none", 0.1, nil), cell("faulty", 0, func(c *result.Cell) { c.Freshness = nil })}, "nothing arrived"},
		{"it fails anyway", []result.Cell{cell("none", 0.1, nil), cell("faulty", 0.13, func(c *result.Cell) {
			c.Robustness.Columns["I"] = result.Column{Verdict: result.Fail, Detail: "G8: late"}
		})}, "G8: late; "},
		{"nobody asks", []result.Cell{cell("none", 0.1, nil), cell("faulty", 9, func(c *result.Cell) { c.Robustness.Columns = nil })}, "-"},
		{"it is the one without", []result.Cell{cell("none", 9, nil)}, ""},
	} {
		res := &result.Results{Cells: tc.cells}
		before := len(tc.cells[len(tc.cells)-1].Robustness.Facts)
		for range 2 { // drawn up twice, it says the same
			all := Entries(history.CampaignRun{Cells: len(tc.cells)}, res)
			col := all[len(all)-1].Columns["I"]
			if tc.want == "-" && col == (result.Column{}) {
				continue
			}
			if (col.Verdict == result.Pass) != (tc.want == "") || !strings.Contains(col.Detail, tc.want) {
				t.Errorf("%s: %+v", tc.name, col)
			}
		}
		if n := len(tc.cells[len(tc.cells)-1].Robustness.Facts); n != before {
			t.Errorf("%s: the cell itself was changed", tc.name)
		}
	}
}
