package matrix

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
)

func col(verdict, value string) result.Column { return result.Column{Verdict: verdict, Value: value} }

func sample() *Matrix {
	limit := 2.0
	m := &Matrix{Schema: Schema, Profile: "default", Seconds: 61.4}
	m.Entries = []Entry{
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

func TestTable(t *testing.T) {
	m := sample()
	m.Complete(nil)
	if len(m.Entries) != len(Rows) {
		t.Fatalf("%d entries, want one for each of %d rows", len(m.Entries), len(Rows))
	}
	text := m.Text()
	for _, want := range []string{
		"F0   none ", "(0.1 s)", "(ok)", "pass 1.01", "FAIL", "FAILED", "INVALID", "broke off",
		"F2 f02-refuse only T: recovery: 9 s, at most 2", "F7 f07-poison 422 is invalid: the fault 422 never fired", "F9 f09-silent broke off: the watcher ended",
		"not built: notifications are not built yet",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "F24") || strings.HasPrefix(line, "F25") || strings.HasPrefix(line, "F28") {
			if strings.Contains(line, "pass") {
				t.Errorf("what is not built is shown as passed: %s", line)
			}
		}
	}
	lines := strings.Split(text, "\n")
	for i, r := range Rows {
		if !strings.HasPrefix(lines[i+1], r.ID+" ") {
			t.Errorf("line %d is not row %s: %s", i+1, r.ID, lines[i+1])
		}
	}
	md := m.Markdown()
	if n := strings.Count(md, "\n| F"); n != len(Rows) || !strings.Contains(md, "| F7 ") {
		t.Errorf("Markdown has %d rows:\n%s", n, md)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again Matrix
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, &again); d != "" {
		t.Errorf("the JSON loses something:\n%s", d)
	}
}

func TestAskedRowsOnly(t *testing.T) {
	m := sample()
	m.Complete([]string{"F2", "F24"})
	var have []string
	for _, e := range m.Entries {
		have = append(have, e.Row)
	}
	if d := cmp.Diff([]string{"F0", "F2", "F7", "F9", "F24"}, have); d != "" {
		t.Error(d)
	}
}

func TestVerdict(t *testing.T) {
	for _, tc := range []struct {
		name    string
		e       Entry
		failed  []string
		invalid string
		state   string
	}{
		{"holds", Entry{Columns: map[string]result.Column{"C": col(result.Pass, "")}}, nil, "", "ok"},
		{"fails", Entry{Columns: map[string]result.Column{"C": col(result.Fail, ""), "T": col(result.Fail, "")}}, []string{"C", "T"}, "", "FAILED"},
		{"measured only", Entry{Columns: map[string]result.Column{"C": col(result.Measured, "violated")}}, nil, "", "ok"},
		{"fails as expected", Entry{Expected: []string{"L"}, Columns: map[string]result.Column{"L": col(result.Fail, ""), "C": col(result.Fail, "")}}, nil, "", "fails as expected"},
		{"was to fail", Entry{Expected: []string{"L"}, Columns: map[string]result.Column{"L": col(result.Pass, "")}}, []string{"L was to fail"}, "", "FAILED"},
		{"invalid", Entry{Invalid: []string{"a", "b"}}, nil, "a; b", "INVALID"},
		{"not built", Entry{NotBuilt: "later"}, nil, "", "not built: later"},
		{"broke off", Entry{Error: "boom"}, nil, "boom", "broke off"},
	} {
		failed, invalid := tc.e.Verdict()
		if !cmp.Equal(failed, tc.failed) || invalid != tc.invalid || tc.e.state() != tc.state {
			t.Errorf("%s: %v, %q, %q", tc.name, failed, invalid, tc.e.state())
		}
	}
}
