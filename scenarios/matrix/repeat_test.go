package matrix

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
)

// stalled is an entry of a machine that stood still.
func stalled(e result.MatrixEntry) result.MatrixEntry {
	e.Stalled = []string{"the runner stood still for 2s"}
	return e
}

func TestRepeat(t *testing.T) {
	late := result.Column{Verdict: result.Fail, Detail: "0.3 s", Late: true}
	wrong := result.Column{Verdict: result.Fail, Detail: "1"}
	for _, tc := range []struct {
		name string
		e    result.MatrixEntry
		want string
	}{
		{"holds", stalled(result.MatrixEntry{Columns: map[string]result.Column{"C": col(result.Pass, "")}}), ""},
		{"only late", stalled(result.MatrixEntry{Columns: map[string]result.Column{"I": late}}), "I: 0.3 s"},
		{"only late, on a machine that ran", result.MatrixEntry{Columns: map[string]result.Column{"I": late}}, ""},
		{"late and wrong", stalled(result.MatrixEntry{Columns: map[string]result.Column{"I": late, "O": wrong}}), ""},
		{"a figure of time that is unknown", stalled(result.MatrixEntry{Columns: map[string]result.Column{"T": wrong}}), ""},
		{"an exit", stalled(result.MatrixEntry{Columns: map[string]result.Column{"T": late, "X": wrong}}), ""},
		{"the generator was late", stalled(result.MatrixEntry{Invalid: []string{"4698 ms late"}, Late: []string{"4698 ms late"}}), "4698 ms late"},
		{"the generator was late, and a column is", stalled(result.MatrixEntry{
			Invalid: []string{"4698 ms late"}, Late: []string{"4698 ms late"}, Columns: map[string]result.Column{"T": late}}), "4698 ms late; T: 0.3 s"},
		{"the generator was late, on a machine that ran", result.MatrixEntry{Invalid: []string{"4698 ms late"}, Late: []string{"4698 ms late"}}, ""},
		{"a fault never fired", stalled(result.MatrixEntry{Invalid: []string{"never fired"}}), ""},
		{"metrics contradict themselves beside lateness", stalled(result.MatrixEntry{Invalid: []string{"contradict", "late"}, Late: []string{"late"}}), ""},
		{"a second time", stalled(result.MatrixEntry{First: "x", Columns: map[string]result.Column{"I": late}}), ""},
		{"aborted", stalled(result.MatrixEntry{Error: "boom"}), ""},
	} {
		if got := Repeat(&tc.e); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestSettle: a cell is judged by its second try, and one that was good at once is not
// made bad by chance; a violation counts in either.
func TestSettle(t *testing.T) {
	entry := func(cell, column, detail string, late ...string) result.MatrixEntry {
		e := stalled(result.MatrixEntry{Scenario: "f", Cell: cell, Invalid: late, Late: late, Columns: map[string]result.Column{"C": {Verdict: result.Pass, Detail: detail}}})
		if column != "" {
			e.Columns[column] = result.Column{Verdict: result.Fail, Detail: detail, Late: column == "T" || column == "I"}
		}
		return e
	}
	first := []result.MatrixEntry{entry("good", "", "1"), entry("late", "T", "1"), entry("behind", "", "1", "the generator")}
	why := WorthRepeating(first)
	if d := cmp.Diff(map[string]string{"late": "T: 1", "behind": "the generator"}, why); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff(result.Retry{Scenario: "f", Why: "late: T: 1; behind: the generator", Stalled: slices.Concat(first[1].Stalled, first[2].Stalled)}, retry(first, why)); d != "" {
		t.Error(d)
	}
	if why := WorthRepeating(append(first, entry("wrong", "O", "1"))); len(why) > 0 {
		t.Errorf("a violation of order beside them: %v", why)
	}
	rare := entry("rare", "", "1")
	rare.Invalid = []string{"never fired"}
	if why := WorthRepeating(append(first, rare)); len(why) > 0 {
		t.Errorf("a fault that never fired beside them: %v", why)
	}
	repeated := func(e result.MatrixEntry) result.MatrixEntry {
		e.First = why[e.Cell]
		return e
	}
	unproven := entry("good", "I", "2")
	unproven.Stalled = nil
	for _, tc := range []struct {
		name         string
		second, want result.MatrixEntry
	}{
		{"good again", entry("good", "", "2"), entry("good", "", "2")},
		{"good, then late", entry("good", "I", "2"), first[0]},
		{"good, then late on a machine that ran", unproven, unproven},
		{"good, then the generator was late", entry("good", "", "2", "the generator"), first[0]},
		{"good, then out of order", entry("good", "O", "2"), entry("good", "O", "2")},
		{"good, then late and out of order", entry("good", "O", "2", "late"), entry("good", "O", "2", "late")},
		{"late, then good", entry("late", "", "2"), repeated(entry("late", "", "2"))},
		{"late again", entry("late", "T", "2"), repeated(entry("late", "T", "2"))},
		{"behind, then lost", entry("behind", "C", "2"), repeated(entry("behind", "C", "2"))},
	} {
		if d := cmp.Diff([]result.MatrixEntry{tc.want}, Settle(first, []result.MatrixEntry{tc.second}, why)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
	broke := result.MatrixEntry{Error: "boom"}
	if d := cmp.Diff([]result.MatrixEntry{broke}, Settle(first, []result.MatrixEntry{broke}, why)); d != "" {
		t.Errorf("aborted:\n%s", d)
	}
}
