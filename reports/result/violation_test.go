package result

import "testing"

func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		valid bool
		g     string
		check Check
		want  bool
	}{
		{"a valid cell's pass", true, "G1", Check{Verdict: Pass}, true},
		{"a valid cell's delay", true, "G8", Check{Verdict: Fail, Violations: 1}, true},
		{"a violation expected in a valid cell, and absent", true, "G1", Check{Verdict: Fail}, true},
		{"an invalid cell's pass", false, "G1", Check{Verdict: Pass}, false},
		{"its loss", false, "G1", Check{Verdict: Fail, Violations: 1}, true},
		{"its loss, allowed", false, "G1", Check{Verdict: Allowed, Violations: 1}, true},
		{"its leak", false, "G13", Check{Verdict: Fail, Violations: 1}, true},
		{"its delay", false, "G8", Check{Verdict: Fail, Violations: 1}, false},
		{"a violation expected in it, and absent", false, "G1", Check{Verdict: Fail}, false},
		{"what it could not judge", false, "G1", Check{Verdict: NotJudged}, false},
	} {
		c := Cell{Valid: tt.valid, Checks: map[string]Check{tt.g: tt.check}}
		if got := c.Counts(tt.g); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if c := (&Cell{Valid: true}); c.Counts("G1") {
		t.Error("a check that is not there counts")
	}
}
