package assess

import (
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestFileWithoutEvidence: one of an older version differs in nothing, and one that has some
// is compared with it.
func TestFileWithoutEvidence(t *testing.T) {
	with := func(names ...string) *result.Results {
		check := result.Check{Verdict: result.Fail, Violations: 2, Judged: 9}
		for _, n := range names {
			check.Evidence = append(check.Evidence, result.Evidence{Name: n})
		}
		return &result.Results{Cells: []result.Cell{{ID: "c", Checks: map[string]result.Check{"G1": check}}}}
	}
	now := with("web")
	for _, c := range []struct {
		recorded *result.Results
		want     int
	}{{with(), 0}, {with("web"), 0}, {with("db"), 1}} {
		got, err := differences(result.FileName, c.recorded, asRecorded(c.recorded, now))
		if err != nil || len(got) != c.want {
			t.Errorf("%v, %v; want %d", got, err, c.want)
		}
	}
	if len(now.Cells[0].Checks["G1"].Evidence) != 1 {
		t.Error("what is assessed has lost its evidence")
	}
}
