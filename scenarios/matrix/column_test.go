package matrix

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

func verdicts(pairs ...string) map[string]result.Check {
	out := map[string]result.Check{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]] = result.Check{Verdict: pairs[i+1], Judged: 1, Counterexample: "web"}
	}
	return out
}

func TestColumn(t *testing.T) {
	limit := 1.0
	over := result.Fact{Column: "T", Name: "recovery", Unit: "s", Value: 2, Limit: &limit}
	under := result.Fact{Column: "T", Name: "recovery", Unit: "s", Value: 0.5, Limit: &limit, OK: true}
	for _, tc := range []struct {
		name, col string
		checks    map[string]result.Check
		facts     []result.Fact
		want      string
	}{
		{"all hold", "C", verdicts("G1", result.Pass, "G9", result.NotJudged), nil, result.Pass},
		{"the main one was not judged", "C", verdicts("G1", result.NotJudged, "G9", result.Pass), nil, result.NotJudged},
		{"one fails", "C", verdicts("G1", result.Pass, "G12", result.Fail), nil, result.Fail},
		{"a failure the scenario allows is one in the matrix", "O", verdicts("G2", result.Allowed, "G3", result.Pass), nil, result.Fail},
		{"nothing", "T", nil, nil, result.NotJudged},
		{"within the bound", "T", nil, []result.Fact{under}, result.Pass},
		{"over the bound", "T", nil, []result.Fact{under, over}, result.Fail},
		{"a figure of another column", "A", nil, []result.Fact{under}, result.NotJudged},
	} {
		if got := Column(tc.col, tc.checks, tc.facts); got.Verdict != tc.want {
			t.Errorf("%s: %+v, want %s", tc.name, got, tc.want)
		}
	}
	if got := Column("T", nil, []result.Fact{over}); got.Value != "2 s" || got.Detail != "recovery: 2 s, at most 1" {
		t.Errorf("%+v", got)
	}
}

// weighed are G2 and G3 with a power of at least 30.
func weighed(g2, g3 int64) map[string]result.Check {
	checks := map[string]result.Check{}
	for g, n := range map[string]int64{"G2": g2, "G3": g3} {
		c := result.Check{Verdict: result.Pass, Judged: 100, Power: &n, MinPower: 30}
		if n < c.MinPower {
			c.Verdict = result.NoPower
		}
		checks[g] = c
	}
	return checks
}

func TestColumnPower(t *testing.T) {
	broken := weighed(12, 14)
	broken["G4"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 3, Counterexample: "web"}
	rare := weighed(40, 50)
	rare["G5"] = result.Check{Verdict: result.NoPower, Judged: 3, Power: new(int64(2)), MinPower: 30}
	for _, tc := range []struct {
		name   string
		checks map[string]result.Check
		want   result.Column
	}{
		{"enough", weighed(40, 50), result.Column{Verdict: result.Pass, Power: new(int64(40)), MinPower: 30}},
		{"too little", weighed(12, 40), result.Column{Verdict: result.NoPower, Power: new(int64(12)), MinPower: 30,
			Detail: "in G2 12 pairs of states could have been swapped, at least 30 are needed"}},
		{"a failure stays one", broken, result.Column{Verdict: result.Fail, Power: new(int64(12)), MinPower: 30, Detail: "G4: web"}},
		{"names are seldom created again", rare, result.Column{Verdict: result.Pass, Power: new(int64(40)), MinPower: 30}},
		{"an older record", verdicts("G2", result.Pass, "G3", result.Pass), result.Column{Verdict: result.Pass}},
	} {
		if d := cmp.Diff(tc.want, Column("O", tc.checks, nil)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}

// TestNoPowerIsInvalid where the column is asserted.
func TestNoPowerIsInvalid(t *testing.T) {
	for _, tc := range []struct {
		name            string
		assert, measure []string
		want            []string
		column          string
	}{
		{"asserted", []string{"O"}, nil, []string{"column O has no power: in G2 3 pairs of states could have been swapped, at least 30 are needed"}, result.NoPower},
		{"measured", []string{"T"}, []string{"O"}, nil, result.Measured},
	} {
		s := spec.Default()
		s.Fault = &spec.Fault{Row: "F19", Title: "x", Assert: tc.assert, Measure: tc.measure}
		cell := result.Cell{Valid: true, Checks: weighed(3, 3)}
		fact := Rule{Facts: func(Seen) []result.Fact { return []result.Fact{Within("T", "recovery", "s", 1, 2)} }}
		Fill(&Case{Cell: &history.Cell{Scenario: s}}, []Rule{fact}, &cell, Seen{Figures: &cell})
		col := cell.Robustness.Columns["O"]
		if d := cmp.Diff(tc.want, cell.InvalidReasons); d != "" || cell.Valid != (tc.want == nil) || col.Verdict != tc.column {
			t.Errorf("%s: valid %v, %+v (-want +got):\n%s", tc.name, cell.Valid, col, d)
		}
		if tc.measure != nil && col.Value != "no power" {
			t.Errorf("%s: shown as %q", tc.name, col.Value)
		}
	}
}

func TestVacuousIsInvalid(t *testing.T) {
	s := spec.Default()
	s.Storage.Faults = []string{"503:10%", "reset(max=2)"}
	s.Fault = &spec.Fault{Row: "F4", Title: "x", Assert: []string{"C"}}
	cell := result.Cell{Valid: true, Checks: verdicts("G1", result.NotJudged)}
	c := &Case{Cell: &history.Cell{Scenario: s, Fired: []history.Firing{{Name: "503", Fired: 7, Keys: 2}, {Name: "reset", Fired: 2, Keys: 2}, {Name: "late"}}}}
	own := Rule{Vacuous: func(Seen) []string { return []string{"0 rows were written again", "the fault late never fired"} }}
	Fill(c, []Rule{own}, &cell, Seen{Figures: &cell})
	want := []string{
		"0 rows were written again", "column C could not be judged: G1 was not judged: ",
		"the fault 503 hit 2 objects; at least 3 are needed", "the fault late never fired",
	}
	if d := cmp.Diff(want, cell.InvalidReasons); d != "" || cell.Valid {
		t.Errorf("valid %v (-want +got):\n%s", cell.Valid, d)
	}
}

// TestFill: what a column shows is the first fact of a rule that goes first, and what happened is counted from the
// record.
func TestFill(t *testing.T) {
	s := spec.Default()
	s.Fault = &spec.Fault{Row: "F27", Title: "x", Assert: []string{"T"}, Measure: []string{"A", "S"}, Legacy: []string{"T"}}
	s.Watcher.Profile = profileLegacy
	c := &Case{
		Cell:  &history.Cell{Scenario: s, Fired: []history.Firing{{Name: "close", Fired: 4, Keys: 3}, {Name: "close", Fired: 1, Keys: 1}}},
		Deeds: []history.Deed{{What: "recreate", Keys: 2}, {What: "recreate", Keys: 1}, {What: "sigkill"}},
	}
	stated := func(f result.Fact) func(Seen) []result.Fact {
		return func(Seen) []result.Fact { return []result.Fact{f} }
	}
	over := Within("A", "attempts", "", 2, 1)
	cell := result.Cell{Valid: true}
	Fill(c, []Rule{{Facts: stated(Within("T", "general", "s", 1, 2))}, {Facts: stated(Within("T", "own", "s", 1.23456, 2)), First: true}, {Facts: stated(over)}}, &cell, Seen{Figures: &cell})
	limit := 2.0
	want := &result.Robustness{
		Row: "F27", Title: "x", Profile: "legacy", Expected: []string{"T"},
		Columns: map[string]result.Column{
			"T": {Verdict: result.Pass, Value: "1.235 s"}, "A": {Verdict: result.Measured, Value: "2", Detail: "attempts: 2, at most 1"},
			"S": {Verdict: result.NotJudged, Detail: "G13 was not judged: "},
		},
		Facts: []result.Fact{
			{Column: "T", Name: "own", Unit: "s", Value: 1.235, Limit: &limit, OK: true}, {Column: "T", Name: "general", Unit: "s", Value: 1, Limit: &limit, OK: true}, over,
		},
		Fired: map[string]int64{"close": 5, "recreate": 2, "sigkill": 1}, Keys: map[string]int64{"close": 4, "recreate": 3},
	}
	if d := cmp.Diff(want, cell.Robustness); d != "" || !cell.Valid {
		t.Errorf("valid %v %v (-want +got):\n%s", cell.Valid, cell.InvalidReasons, d)
	}
	plain := result.Cell{Valid: true}
	Fill(&Case{Cell: &history.Cell{Scenario: spec.Default()}}, nil, &plain, Seen{Figures: &plain})
	if plain.Robustness != nil {
		t.Errorf("a scenario without a row has %+v", plain.Robustness)
	}
}
