package robustness

import (
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/measure"
)

// TestCatches: a cell that proves nothing, or that lacks a figure, catches no mutant.
func TestCatches(t *testing.T) {
	entry := func(facts []result.Fact, checks map[string]result.Check, edit func(*result.MatrixEntry)) *result.MatrixEntry {
		e := &result.MatrixEntry{Facts: facts, Columns: map[string]result.Column{}}
		for _, c := range []string{"C", "T"} {
			e.Columns[c] = matrix.Column(c, checks, facts)
		}
		if edit != nil {
			edit(e)
		}
		return e
	}
	g1 := map[string]result.Check{"G1": {Verdict: result.Pass}}
	broken := map[string]result.Check{"G1": {Verdict: result.Fail, Counterexample: "lost"}}
	lost := matrix.None("C", "changes that never arrived", 1, "")
	unknown := matrix.Missing("C", "repairs", "", "nobody could read it")
	invalid := func(e *result.MatrixEntry) { e.Invalid = []string{"the fault never fired"} }
	behind := func(e *result.MatrixEntry) {
		e.Invalid, e.Late = []string{"the generator was late"}, []string{"the generator was late"}
	}
	lies := func(e *result.MatrixEntry) { e.Invalid = []string{measure.QueuesContradict + " the record"} }
	for _, tc := range []struct {
		name  string
		entry *result.MatrixEntry
		named string
		want  bool
	}{
		{"lost", entry([]result.Fact{lost}, g1, nil), "C", true},
		{"by a check", entry(nil, broken, nil), "C", true},
		{"by a check, and a figure is unknown", entry([]result.Fact{unknown}, broken, nil), "C", true},
		{"another column", entry([]result.Fact{lost}, g1, nil), "T", false},
		{"passes", entry(nil, g1, nil), "C", false},
		{"proves nothing", entry([]result.Fact{lost}, g1, invalid), "C", false},
		{"its load is late", entry([]result.Fact{lost}, g1, behind), "C", true},
		{"its metrics are wrong too", entry([]result.Fact{lost}, g1, lies), "C", true},
		{"a figure is unknown", entry([]result.Fact{unknown}, g1, nil), "C", false},
		{"a figure is unknown, another wrong", entry([]result.Fact{unknown, lost}, g1, nil), "C", true},
	} {
		if got := catches(tc.entry, tc.named); got != tc.want {
			t.Errorf("%s: caught %v, want %v (%s)", tc.name, got, tc.want, details(tc.entry))
		}
	}
}
