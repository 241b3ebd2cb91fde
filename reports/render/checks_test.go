package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

func TestChecks(t *testing.T) {
	var out bytes.Buffer
	err := Checks(&out, []result.Cell{
		{ID: "keyed", Checks: map[string]result.Check{"G2": {Verdict: result.Fail, Violations: 2, Judged: 9, Counterexample: "web/1"}, "G10": {Verdict: result.NotJudged}}},
		{ID: "single", Checks: map[string]result.Check{"G2": {Verdict: result.Pass, Judged: 9}, "G10": {Verdict: result.Allowed, Violations: 1, Judged: 1, Counterexample: "web/2"}}},
		{ID: "adaptive", Checks: map[string]result.Check{"G2": {Verdict: result.NoPower, Judged: 9, Power: new(int64(12)), MinPower: 30}}},
	}, TerminalOptions{})
	for _, want := range []string{"keyed     FAIL                 –", "single    pass                 fail*", "adaptive  no power (12 of 30)  n/a", "keyed G2 (2 of 9)\n    web/1", "single G10 (1 of 1)\n    web/2"} {
		if err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v\n%s, lacks %s", err, out.String(), want)
		}
	}
}
