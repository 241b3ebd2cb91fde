package render

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestAnswer: runs of every kind, and what the paragraph says of each.
func TestAnswer(t *testing.T) {
	three := func() *result.Results {
		return measured(map[string][]float64{"dedup": {5, 5.1, 5.2}, "keyed": {9, 9.1, 9.2}, "single": {100, 101, 102}})
	}
	every := func(res *result.Results, by func(*result.Cell)) *result.Results {
		for i := range res.Cells {
			by(&res.Cells[i])
		}
		return res
	}
	kept := func(res *result.Results, points ...string) *result.Results {
		for _, p := range points {
			change(res, p, func(c *result.Cell) { c.Bottleneck.Stage = result.KeptUp })
		}
		return res
	}
	fresh := func(res *result.Results) *result.Results {
		res.Scenario = map[string]any{"decide": map[string]any{"figure": "freshness.p99"}}
		for i := range res.Cells {
			res.Cells[i] = withFreshness(res.Cells[i], int64(1e5**res.Cells[i].Handler.DrainSeconds))
		}
		return res
	}
	invalid := func(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"storage was late"} }
	fails := func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.Fail, Violations: 3, Judged: 9} }
	interrupted := ordered(three(), "dedup-r1", "keyed-r1", "partitioned-r1")
	interrupted.Run.Interrupted = true
	decided := three()
	decided.Run.Decision = &result.Decision{End: result.EndDecided, Blocks: 3}
	keyed, slow, dedup := paced{"keyed", "20", 0.4, 0.62, 1}, paced{"keyed", "10", 81, 9, 1}, paced{"dedup", "10", 0.1, 0.9, 0.71}
	const question = "At 200 writes/s at storage latency p50 60 ms, p99 400 ms, "
	for _, tt := range []struct {
		name, want string
		res        *result.Results
	}{
		{"closed", "Under load l, dedup was fastest: all Pods stored after 5.10 s (±12 %), 1.78 × faster than keyed; keyed is 11.1 × faster than single. ", three()},
		{"leads over the next", "dedup was fastest: all Pods stored after 5.10 s (±12 %), 1.78 × faster than keyed; keyed is 1.55 × faster than partitioned.",
			measured(map[string][]float64{"dedup": {5, 5.1, 5.2}, "keyed": {9, 9.1, 9.2}, "partitioned": {14, 14.1, 14.2}})},
		{"the first two overlap", "Under load l, a (5.10 s) and b (6.00 s) are not told apart by 3 repetitions; each is at least 15.2 × faster than c.",
			measured(map[string][]float64{"a": {5, 5.1, 6}, "b": {5.5, 6, 6.1}, "c": {90, 91, 92}})},
		{"two limited by the load", "Under load l, dedup (0.51 s) and keyed (0.91 s) kept up with the load, which was their limit; each is at least 11.1 × fresher than single.",
			fresh(kept(three(), "dedup", "keyed"))},
		{"one limited by the load", "at least 1.78 × faster than keyed (limited by the load);", kept(three(), "dedup")},
		{"measured once", "Under load l, nothing is ranked: that takes 3 valid repetitions.", measured(map[string][]float64{"dedup": {5}, "keyed": {9}})},
		{"one cell", "Under load l, storage had all Pods from keyed after 9.0 s, with nothing to compare that with.", measured(map[string][]float64{"keyed": {9}})},
		{"no cell", "Nothing can be said: the run holds no measurement.", &result.Results{Schema: result.Schema}},
		{"all invalid", "Nothing can be said about speed: no measurement is valid; of the first: storage was late. Under load l, no speed can be compared.", every(three(), invalid)},
		{"one failed", "Not correct: dedup left storage different from the cluster (9 violations). Under load l, keyed was fastest of 2 comparable: all Pods stored after 9.10 s (±6.5 %), 11.1 × faster than single.",
			change(three(), "dedup", fails)},
		{"all failed", "; 1 more failed. Under load l, no speed can be compared.", every(three(), fails)},
		{"interrupted", "The run was interrupted: 1 of 3 measurements is missing.", interrupted},
		{"decided", "The run ended after 3 repetitions: that was decided.", decided},
		{"faults", "Faults were injected on purpose.", every(three(), func(c *result.Cell) { c.Faults = map[string]int64{"503": 4} })},
		{"open", question + "the smallest that keeps up: keyed with podQueueNum 20 (every event, freshness p50 0.15 s, p99 0.62 s, n = 1); " +
			"if the latest state of an object is enough, dedup with podQueueNum 10 (latest state, 71.0 %, freshness p50 0.23 s, p99 0.90 s, n = 1).", sized(keyed, slow, dedup)},
		{"the latest state only", "; none does that sends every event.", sized(slow, dedup)},
		{"none of the known", question + "whether one keeps up is not known; the backlog of keyed", change(sized(slow, dedup), "dedup", invalid)},
		{"nothing keeps up", question + "none keeps up; the backlog of keyed, which is least behind, grows by 81.0 writes every second.", sized(slow)},
		{"an unknown one", "; not known: dedup-10.", change(sized(keyed, slow, dedup), "dedup", invalid)},
		{"of one size", question + "the smallest that keeps up: keyed with podQueueNum 20 (every event, freshness p50 0.15 s, p99 0.62 s, n = 1) and " +
			"partitioned with podQueueNum 20 (every event, freshness p50 0.20 s, p99 0.80 s, n = 1), not told apart in freshness.",
			sized(keyed, paced{"partitioned", "20", 1, 0.8, 1}, slow)},
		{"a sweep", "the freshest that keeps up: keyed", swept("storage.latency", "10ms", "20ms", "40ms")},
		{"reference", "Beside the published tables, k8s-watch: after beats before", besides()},
	} {
		s := said(tt.res)
		if !strings.Contains(s, tt.want) {
			t.Errorf("%s: %s\nwant %s", tt.name, s, tt.want)
		}
		if strings.Contains(s, "%!") || strings.Contains(s, "..") || len(strings.Fields(s)) > 120 {
			t.Errorf("%s: %s", tt.name, s)
		}
	}
	fixed := said(fixture(t))
	for _, want := range []string{"In 5 of 10 combinations of strategy and load nothing was lost, reordered or brought back; 1 not fully tested.",
		"Limited by: storage (", "Figures are medians of 1 to 3 measurements; 4 of 28 were invalid."} {
		if !strings.Contains(fixed, want) {
			t.Errorf("%s\nlacks %s", fixed, want)
		}
	}
}
