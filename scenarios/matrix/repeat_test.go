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
		e    Entry
		want string
	}{
		{"holds", Entry{Columns: map[string]result.Column{"C": col(result.Pass, "")}}, ""},
		{"only late", Entry{Columns: map[string]result.Column{"I": late}}, "I: 0.3 s"},
		{"late and wrong", Entry{Columns: map[string]result.Column{"I": late, "O": late}}, ""},
		{"the generator was late", Entry{Invalid: []string{"the generator was 4698 ms late"}}, "the generator was 4698 ms late"},
		{"a second time", Entry{First: "x", Columns: map[string]result.Column{"I": late}}, ""},
		{"broke off", Entry{Error: "boom"}, ""},
	} {
		if got := tc.e.Repeat(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestSettle: a cell is judged by its second try, and one that was good at once is not
// made bad by chance; a violation counts in either.
func TestSettle(t *testing.T) {
	entry := func(cell, column, detail string, invalid ...string) Entry {
		e := Entry{Cell: cell, Invalid: invalid, Columns: map[string]result.Column{"C": {Verdict: result.Pass, Detail: detail}}}
		if column != "" {
			e.Columns[column] = result.Column{Verdict: result.Fail, Detail: detail}
		}
		return e
	}
	first := []Entry{entry("good", "", "1"), entry("late", "T", "1"), entry("rare", "", "1", "never fired")}
	why := WorthRepeating(first)
	if d := cmp.Diff(map[string]string{"late": "T: 1", "rare": "never fired"}, why); d != "" {
		t.Fatal(d)
	}
	if why := WorthRepeating(append(first, entry("wrong", "O", "1"))); len(why) > 0 {
		t.Errorf("a violation of order beside them: %v", why)
	}
	repeated := func(e Entry) Entry {
		e.First = why[e.Cell]
		return e
	}
	for _, tc := range []struct {
		name         string
		second, want Entry
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
		if d := cmp.Diff([]Entry{tc.want}, Settle(first, []Entry{tc.second}, why)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
	broke := Entry{Error: "boom"}
	if d := cmp.Diff([]Entry{broke}, Settle(first, []Entry{broke}, why)); d != "" {
		t.Errorf("broke off:\n%s", d)
	}
}
