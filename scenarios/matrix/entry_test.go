package matrix

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
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
