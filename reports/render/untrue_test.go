package render

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestAnswerSaysNothingUntrue: records whose paragraph would be tempted to say more, or
// worse, than they hold.
func TestAnswerSaysNothingUntrue(t *testing.T) {
	wrong := func(c *result.Cell) {
		c.Checks["G2"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 1}
	}
	names := map[string][]float64{}
	for _, s := range []string{"a", "b", "c", "d", "e"} {
		names[s] = []float64{5}
	}
	allowed := measured(names)
	for i := range allowed.Cells {
		allowed.Cells[i].Checks["G1"] = result.Check{Verdict: result.Allowed, Violations: 1, Judged: 9}
	}
	fails := func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 9} }
	broken := measured(map[string][]float64{"dedup": {5}})
	gone := ordered(measured(map[string][]float64{"dedup": {5}}), "dedup-r1", "keyed-r1")
	one := measured(map[string][]float64{"dedup": {5, 5.1, 5.2}})
	one.Cells[0].Valid, one.Cells[0].InvalidReasons = false, []string{"late"}
	for _, tc := range []struct {
		name, not, want string
		res             *result.Results
	}{
		{"lost is more than not proven", "Not proven", "left storage different from the cluster (1 violation)", change(broken, "dedup", fails)},
		{"one is missing", "are missing", "1 of 2 measurements is missing", gone},
		{"one is invalid", "were invalid", "1 of 3 was invalid", one},
		{"drain is of Pods", "storage had everything", "dedup was fastest: all Pods stored after", measured(map[string][]float64{"dedup": {5, 5.1, 5.2}, "keyed": {9, 9.1, 9.2}})},
		{"drain of one", "storage had everything", "storage had all Pods from keyed after", measured(map[string][]float64{"keyed": {9}})},
		{"keeps up and is wrong", "none keeps up", "keyed keeps up, but fails G2", change(sized(paced{"keyed", "20", 0.4, 0.62, 1}), "keyed", wrong)},
		{"a larger one falls behind", "none keeps up", "keyed with podQueueNum 20 keeps up, but a larger one falls behind or is not correct", sized(paced{"keyed", "20", 0, 0.62, 1}, paced{"keyed", "30", 60, 0.62, 1})},
		{"freshest by chance", "fresher", "(every event, freshness p50 0.13 s, p99 0.51 s, n = 1), not told apart in freshness",
			sized(paced{"keyed", "20", 0, 0.5, 1}, paced{"partitioned", "20", 0, 0.51, 1})},
		{"five fail as allowed", "a, b and c failed", "a, b, c and 2 others failed, in 5 of 5", allowed},
	} {
		if got := said(tc.res); strings.Contains(got, tc.not) || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s", tc.name, got)
		}
	}
}

// TestNoAccountIsNotZero: a watcher without counters received an unknown number of events.
func TestNoAccountIsNotZero(t *testing.T) {
	res := change(measured(map[string][]float64{"keyed": {9}}), "keyed", func(c *result.Cell) {
		c.Watcher.Name, c.Handler.Strategy, c.Events = "other", result.External, &result.Events{Lost: new(int64(0))}
	})
	for i, c := range arrange(res).flows().Table.Rows[0][2:10] {
		if c.Text != unknown {
			t.Errorf("%d: %q", i, c.Text)
		}
	}
}
