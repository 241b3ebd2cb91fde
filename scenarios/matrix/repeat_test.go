package matrix

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
)

func TestRepeat(t *testing.T) {
	late := result.Column{Verdict: result.Fail, Detail: "0.3 s"}
	for _, tc := range []struct {
		name string
		e    result.MatrixEntry
		want string
	}{
		{"holds", result.MatrixEntry{Columns: map[string]result.Column{"C": col(result.Pass, "")}}, ""},
		{"only late", result.MatrixEntry{Columns: map[string]result.Column{"I": late}}, "I: 0.3 s"},
		{"late and wrong", result.MatrixEntry{Columns: map[string]result.Column{"I": late, "O": late}}, ""},
		{"the generator was late", result.MatrixEntry{Invalid: []string{"the generator was 4698 ms late"}}, "the generator was 4698 ms late"},
		{"a second time", result.MatrixEntry{First: "x", Columns: map[string]result.Column{"I": late}}, ""},
		{"aborted", result.MatrixEntry{Error: "boom"}, ""},
	} {
		if got := Repeat(&tc.e); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestSettle: a cell is judged by its second try, and one that was good at once is not
// made bad by chance; a violation counts in either.
func TestSettle(t *testing.T) {
	entry := func(cell, column, detail string, invalid ...string) result.MatrixEntry {
		e := result.MatrixEntry{Cell: cell, Invalid: invalid, Columns: map[string]result.Column{"C": {Verdict: result.Pass, Detail: detail}}}
		if column != "" {
			e.Columns[column] = result.Column{Verdict: result.Fail, Detail: detail}
		}
		return e
	}
	first := []result.MatrixEntry{entry("good", "", "1"), entry("late", "T", "1"), entry("rare", "", "1", "never fired")}
	why := WorthRepeating(first)
	if d := cmp.Diff(map[string]string{"late": "T: 1", "rare": "never fired"}, why); d != "" {
		t.Fatal(d)
	}
	if why := WorthRepeating(append(first, entry("wrong", "O", "1"))); len(why) > 0 {
		t.Errorf("a violation of order beside them: %v", why)
	}
	repeated := func(e result.MatrixEntry) result.MatrixEntry {
		e.First = why[e.Cell]
		return e
	}
	for _, tc := range []struct {
		name         string
		second, want result.MatrixEntry
	}{
		{"good again", entry("good", "", "2"), entry("good", "", "2")},
		{"good, then late", entry("good", "I", "2"), first[0]},
		{"good, then the fault did not fire", entry("good", "", "2", "never fired"), first[0]},
		{"good, then out of order", entry("good", "O", "2"), entry("good", "O", "2")},
		{"good, then late and out of order", entry("good", "O", "2", "late"), entry("good", "O", "2", "late")},
		{"late, then good", entry("late", "", "2"), repeated(entry("late", "", "2"))},
		{"late again", entry("late", "T", "2"), repeated(entry("late", "T", "2"))},
		{"rare, then lost", entry("rare", "C", "2"), repeated(entry("rare", "C", "2"))},
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
