package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// measured is a record of rows under one load; each row has the drain times of its repetitions.
func measured(drains map[string][]float64) *result.Results {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}}
	for strategy, seconds := range drains {
		for i, s := range seconds {
			c := drained(s)
			c.ID, c.Repetition = fmt.Sprintf("%s-r%d", strategy, i+1), i+1
			c.Params = map[string]string{result.ParamLoad: "l", result.ParamStrategy: strategy}
			c.Load.Done, c.Storage.Requests = 100, 100
			res.Cells = append(res.Cells, c)
		}
	}
	return res
}

// said is what a run's report finds.
func said(res *result.Results) string {
	res.Decide()
	return strings.Join(findings(arrange(res)), " ")
}

func change(res *result.Results, strategy string, by func(*result.Cell)) *result.Results {
	for i := range res.Cells {
		if res.Cells[i].Params[result.ParamStrategy] == strategy {
			by(&res.Cells[i])
		}
	}
	return res
}

// A violation is no matter of lateness: that of an invalid repetition decides, and one
// that only the clock can tell does not.
func TestViolationOfAnInvalidRepetitionDecides(t *testing.T) {
	invalid := func(g string, check result.Check) result.Cell {
		c := drained(1)
		c.Valid, c.InvalidReasons = false, []string{"lag"}
		c.Checks = map[string]result.Check{g: check}
		return c
	}
	fails := result.Check{Verdict: result.Fail, Violations: 2, Judged: 5, Counterexample: "pod-7"}
	allowed := fails
	allowed.Verdict = result.Allowed
	for _, tt := range []struct {
		name    string
		row     *row
		state   state
		verdict string
	}{
		{"beside a valid one", repeated(drained(1), invalid("G2", fails)), stateFailed, "FAIL G2, n=1 of 2"},
		{"alone", repeated(invalid("G2", fails)), stateFailed, "INVALID, FAIL G2, n=0 of 1"},
		{"secrecy", repeated(drained(1), invalid("G13", fails)), stateFailed, "FAIL G13, n=1 of 2"},
		{"as the scenario allows", repeated(drained(1), invalid("G2", allowed)), stateAllowed, "fails G2 (allowed), n=1 of 2"},
		{"by the clock", repeated(drained(1), invalid("G8", fails)), statePassed, "pass G1, n=1 of 2"},
		{"a violation that was expected and absent", repeated(drained(1), invalid("G2", result.Check{Verdict: result.Fail, Judged: 5})), statePassed, "pass G1, n=1 of 2"},
		{"a pass proves nothing", repeated(invalid("G1", result.Check{Verdict: result.Pass, Judged: 5})), stateInvalid, "INVALID, n=0 of 1"},
		{"a pass proves nothing beside one that could not judge", repeated(invalid("G2", result.Check{Verdict: result.Pass, Judged: 5}), drained(1)), statePassed, "pass G1, n=1 of 2"},
	} {
		if tt.row.state() != tt.state || tt.row.verdict() != tt.verdict {
			t.Errorf("%s: %s, %q; want %s, %q", tt.name, tt.row.state(), tt.row.verdict(), tt.state, tt.verdict)
		}
		if bad := tt.state == stateFailed; bad {
			if n := strings.Join(tt.row.notes(), "\n"); !strings.Contains(n, "2 violations in 5 judged") {
				t.Errorf("%s: the notes do not tell: %s", tt.name, n)
			}
			if tt.row.correct() && tt.name != "secrecy" {
				t.Errorf("%s: its speed may be compared", tt.name)
			}
		}
	}
}

// findings are all sentences of a run's answer.
func findings(t *table) []string {
	return slices.Concat(t.doubts(), t.decided(), t.limits(), t.ended())
}
