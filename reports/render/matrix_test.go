package render

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

func col(verdict, value string) result.Column { return result.Column{Verdict: verdict, Value: value} }

// matrixOfAll has an entry for every row.
func matrixOfAll() *result.Matrix {
	some := map[string]result.MatrixEntry{
		"F0": {Scenario: "f00-none", Cell: "only", Seconds: 12.4, Columns: map[string]result.Column{"C": col(result.Pass, ""), "T": col(result.Measured, "0.1 s"), "O": col(result.Measured, "")}},
		"F2": {Scenario: "f02-refuse", Cell: "only", Columns: map[string]result.Column{
			"C": col(result.Pass, ""), "A": col(result.Pass, "1.01"), "T": {Verdict: result.Fail, Value: "9 s", Detail: "recovery: 9 s, at most 2"}}},
		"F7": {Scenario: "f07-poison", Cell: "422", Invalid: []string{"the fault 422 never fired"}, Columns: map[string]result.Column{"C": col(result.NotJudged, "")}},
		"F8": {Scenario: "f08-close", Cell: "reset", Columns: map[string]result.Column{"O": {Verdict: result.Pass, Power: new(int64(412)), MinPower: 30}}},
		"F19": {Scenario: "f19-burst", Cell: "only", Columns: map[string]result.Column{
			"O": {Verdict: result.NoPower, Power: new(int64(12)), MinPower: 30, Detail: "in G2 12 pairs"}}},
		"F15": {Scenario: "f15-kill-50", Cell: "only", Columns: map[string]result.Column{"C": col(result.Pass, "")}, Facts: []result.Fact{
			{Column: "C", Name: "kills during the first lists", Value: 7, Least: new(5.0), OK: true},
			{Column: "T", Name: "not a count", Value: 7, OK: true},
			{Column: "C", Name: "catch-ups compared", Value: 9, Least: new(5.0), OK: true, Detail: "at most 8 kills share one"}}},
		"F9": {Scenario: "f09-silent", Error: "the watcher ended"},
	}
	some["F1"] = result.MatrixEntry{Scenario: "f01-slow", Invalid: []string{"the generator was 900 ms late"}, Columns: map[string]result.Column{"O": {Verdict: result.Fail, Detail: "G2: web"}}}
	some["F3"] = result.MatrixEntry{Scenario: "f03-blackhole", Error: "k8s-watch ended: exit status 2", Columns: map[string]result.Column{"X": {Verdict: result.Fail, Detail: "k8s-watch ended: exit status 2"}}}
	m := &result.Matrix{Schema: result.MatrixSchema, Profile: "default", Retries: []result.Retry{{Scenario: "f04-errors", Why: "T: 9 s"}}}
	notBuilt := map[string]string{"F24": "a Go test of notifications", "F25": "a Go test of webhooks", "F28": "a Go test of the query API"}
	for _, r := range result.MatrixRows {
		e, ok := some[r.ID]
		if !ok {
			e.NotBuilt = notBuilt[r.ID]
			e.NotRun = e.NotBuilt == ""
		}
		e.Row, e.Title = r.ID, r.Title
		m.Entries = append(m.Entries, e)
	}
	return m
}

func TestMatrix(t *testing.T) {
	m := matrixOfAll()
	var out bytes.Buffer
	if err := DocumentTerminal(&out, Matrix(m, ""), TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"F0   none ", "(0.1 s)", "(ok)", "pass 1.01", "FAIL", "FAILED", "INVALID", "aborted",
		"F15 f15-kill-50 only: kills during the first lists: 7 (at least 5); catch-ups compared: 9 (at least 5), at most 8 kills share one\n",
		"F2 f02-refuse only T: recovery: 9 s, at most 2", "F7 f07-poison 422 is invalid: the fault 422 never fired", "F9 f09-silent was aborted: the watcher ended",
		"pass (412)", "no power (12 of 30)",
		"FAILED, INVALID", "F1 f01-slow O: G2: web", "FAILED, aborted", "F3 f03-blackhole X: k8s-watch ended: exit status 2",
		"1 scenarios needed a second try; at most 2 may", "f04-errors was run again; the first try: T: 9 s",
		"a Go test of webhooks",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "F24") || strings.HasPrefix(line, "F25") || strings.HasPrefix(line, "F28") {
			if strings.Contains(line, "pass") {
				t.Errorf("what is not built is shown as passed: %s", line)
			}
		}
	}
	out.Reset()
	if err := DocumentMarkdown(&out, Matrix(m, "")); err != nil {
		t.Fatal(err)
	}
	text = out.String()
	if n := strings.Count(text, "\n| F"); n != len(result.MatrixRows) || !strings.Contains(text, "| F7 ") || !strings.Contains(text, "| ❌ FAIL |") {
		t.Errorf("Markdown has %d rows:\n%s", n, text)
	}
}

func TestMatrixState(t *testing.T) {
	for _, tc := range []struct {
		name string
		e    result.MatrixEntry
		want string
	}{
		{"holds", result.MatrixEntry{Columns: map[string]result.Column{"C": col(result.Pass, "")}}, "ok"},
		{"fails", result.MatrixEntry{Columns: map[string]result.Column{"C": col(result.Fail, ""), "T": col(result.Fail, "")}}, "FAILED"},
		{"measured only", result.MatrixEntry{Columns: map[string]result.Column{"C": col(result.Measured, "violated")}}, "ok"},
		{"fails as expected", result.MatrixEntry{Expected: []string{"L"}, Columns: map[string]result.Column{"L": col(result.Fail, ""), "C": col(result.Fail, "")}}, "fails as expected"},
		{"was to fail", result.MatrixEntry{Expected: []string{"L"}, Columns: map[string]result.Column{"L": col(result.Pass, "")}}, "FAILED"},
		{"invalid", result.MatrixEntry{Invalid: []string{"a", "b"}}, "INVALID"},
		{"fails, and is invalid", result.MatrixEntry{Invalid: []string{"a"}, Columns: map[string]result.Column{"C": col(result.Fail, "")}}, "FAILED, INVALID"},
		{"ended by itself", result.MatrixEntry{Error: "boom", Columns: map[string]result.Column{"X": col(result.Fail, "")}}, "FAILED, aborted"},
		{"not built", result.MatrixEntry{NotBuilt: "later"}, "later"},
		{"not run", result.MatrixEntry{NotRun: true}, "not run"},
		{"aborted", result.MatrixEntry{Error: "boom"}, "aborted"},
	} {
		if got := matrixState(&tc.e); got.Text != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got.Text, tc.want)
		}
	}
}

// TestMatrixPage: an entry leads to the page of its run, if there is one inside the folder.
func TestMatrixPage(t *testing.T) {
	m, dir := matrixOfAll(), t.TempDir()
	m.Entries[0].Dir, m.Entries[1].Dir, m.Entries[2].Dir = "f00-run", "gone", "../f00-run"
	if err := os.Mkdir(filepath.Join(dir, "f00-run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f00-run", pageFile), []byte("<!doctype html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := WriteMatrixPage(dir, m); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, want := range []string{`href="./f00-run/index.html"`, "pass (412)", "no power (12 of 30)", "FAILED, INVALID", "a Go test of notifications"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, dir) || strings.Count(page, "./f00-run") > 1 || strings.Contains(page, "gone/") {
		t.Error("the page holds the machine's paths, or a link that leads nowhere")
	}
}

func TestMatrixAnswer(t *testing.T) {
	held := result.MatrixEntry{Row: "F2", Scenario: "a", Columns: map[string]result.Column{"C": col(result.Pass, "")}}
	invalid := result.MatrixEntry{Row: "F3", Scenario: "b", Invalid: []string{"never fired"}}
	expected := result.MatrixEntry{Row: "F4", Scenario: "c", Expected: []string{"L"}, Columns: map[string]result.Column{"L": col(result.Fail, "")}}
	for name, tc := range map[string]struct {
		m       result.Matrix
		want    string
		outcome state
	}{
		"held":     {result.Matrix{Profile: "default", Seconds: 1260, Entries: []result.MatrixEntry{held}}, "1 fault in 1 cell, watcher profile default, in 21 min: every asserted guarantee held.", statePassed},
		"invalid":  {result.Matrix{Profile: "default", Entries: []result.MatrixEntry{invalid}}, "1 fault in 1 cell, watcher profile default: no cell proves anything. 1 of 1 prove nothing: F3 b.", stateInvalid},
		"partly":   {result.Matrix{Profile: "default", Entries: []result.MatrixEntry{held, invalid}}, "2 faults in 2 cells, watcher profile default: every asserted guarantee held in the cells that prove something. 1 of 2 prove nothing: F3 b.", stateInvalid},
		"expected": {result.Matrix{Profile: "legacy", Seconds: 60, Entries: []result.MatrixEntry{expected}}, "1 fault in 1 cell, watcher profile legacy, in 60 s: every cell fails as expected of this profile.", statePassed},
		"nothing":  {result.Matrix{Profile: "default", Entries: []result.MatrixEntry{{Row: "F1", NotRun: true}}}, "Nothing was run, so nothing is known.", stateInvalid},
		"retried":  {result.Matrix{Profile: "default", Entries: []result.MatrixEntry{held}, Retries: make([]result.Retry, 3)}, "1 fault in 1 cell, watcher profile default: every asserted guarantee held. 3 run again, as they proved nothing.", stateInvalid},
	} {
		if got := matrixAnswer(&tc.m); got != tc.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tc.want)
		}
		if got := sumUp(&tc.m).state(&tc.m); got != tc.outcome {
			t.Errorf("%s: %s, want %s", name, got, tc.outcome)
		}
	}
}
