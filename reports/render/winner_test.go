package render

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// measured is a record of rows under one load; each row has the drain times of its
// repetitions.
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

func change(res *result.Results, strategy string, by func(*result.Cell)) *result.Results {
	for i := range res.Cells {
		if res.Cells[i].Params[result.ParamStrategy] == strategy {
			by(&res.Cells[i])
		}
	}
	return res
}

func TestWinner(t *testing.T) {
	three := func() *result.Results {
		return measured(map[string][]float64{"dedup": {5, 5.1, 5.2}, "keyed": {9, 9.1, 9.2}, "single": {100, 101, 102}})
	}
	for _, tt := range []struct {
		name     string
		res      *result.Results
		winner   string
		sentence string
	}{
		{"apart", three(), "dedup", "l: dedup drained fastest of 3 correct points, in 5.10 s (±12 %, n = 3): 1.78 × faster than keyed, 19.8 × faster than single."},
		{"overlapping", measured(map[string][]float64{"dedup": {5, 5.1, 6}, "keyed": {5.5, 6, 6.1}}), "",
			"l: no winner: dedup (5.10 s) and keyed (6.00 s) are not told apart by 3 repetitions."},
		{"the first two overlap, the third is far", measured(map[string][]float64{"a": {5, 5.1, 6}, "b": {5.5, 6, 6.1}, "c": {90, 91, 92}}), "",
			"l: no winner: a (5.10 s) and b (6.00 s) are not told apart by 3 repetitions; each is at least 15.2 × faster than c."},
		{"one repetition, within 2×", measured(map[string][]float64{"dedup": {5}, "keyed": {9}}), "",
			"l: no winner: a ranking takes 3 repetitions in which two points or more are valid."},
		{"one repetition, beyond", measured(map[string][]float64{"dedup": {5}, "keyed": {11}}), "",
			"l: no winner: a ranking takes 3 repetitions in which two points or more are valid."},
		{"of one cell", measured(map[string][]float64{"dedup": {5, 5.1, 5.2}}), "", "l: no winner: only dedup may be compared."},
		{"of none", measured(nil), "", ""},
		{"failed", change(three(), "dedup", func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 1} }), "keyed",
			"l: keyed drained fastest of 2 correct points, in 9.10 s (±6.5 %, n = 3): 11.1 × faster than single."},
		{"failed as allowed", change(three(), "dedup", func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.Allowed, Violations: 1, Judged: 1} }), "keyed",
			"l: keyed drained fastest of 2 correct points, in 9.10 s (±6.5 %, n = 3): 11.1 × faster than single."},
		{"a projected drain is no baseline", change(three(), "single", func(c *result.Cell) { c.Cut, c.Handler.DrainProjected = true, true }), "dedup",
			"l: dedup drained fastest of 2 correct points, in 5.10 s (±12 %, n = 3): 1.78 × faster than keyed."},
		{"a cut one does not win", change(three(), "dedup", func(c *result.Cell) { c.Cut, c.Handler.DrainProjected = c.Repetition == 2, c.Repetition == 2 }), "keyed",
			"l: keyed drained fastest of 2 correct points, in 9.10 s (±6.5 %, n = 3): 11.1 × faster than single."},
		{"invalid", change(three(), "dedup", func(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"lag"} }), "keyed",
			"l: keyed drained fastest of 2 correct points, in 9.10 s (±6.5 %, n = 3): 11.1 × faster than single."},
		{"another amount of requests", change(three(), "dedup", func(c *result.Cell) { c.Storage.Requests = 34 }), "dedup",
			"l: dedup drained fastest of 3 correct points, in 5.10 s (±12 %, n = 3): 1.78 × faster than keyed with 34.0 % of its requests, 19.8 × faster than single with 34.0 % of its requests."},
		{"another amount of writes", change(three(), "single", func(c *result.Cell) { c.Load.Done = 50 }), "dedup",
			"l: dedup drained fastest of 3 correct points, in 5.10 s (±12 %, n = 3): 1.78 × faster than keyed, 19.8 × faster than single after 200 % of its writes."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var winner, sentence string
			for _, h := range arrange(tt.res).Headlines() {
				if h.best != nil {
					winner = h.best.strategy
				}
				sentence = h.Sentence
			}
			if winner != tt.winner || sentence != tt.sentence {
				t.Errorf("winner %q: %s\nwant   %q: %s", winner, sentence, tt.winner, tt.sentence)
			}
		})
	}
}

// TestLimitedByTheLoad: what the load limited has a bound and no figure of its own, so two of it are not ranked, and
// neither says by how much it leads.
func TestLimitedByTheLoad(t *testing.T) {
	kept := func(res *result.Results, rows ...string) *result.Results {
		for _, r := range rows {
			change(res, r, func(c *result.Cell) { c.Bottleneck.Stage = result.KeptUp })
		}
		return res
	}
	three := func() *result.Results {
		return measured(map[string][]float64{"dedup": {5, 5.1, 5.2}, "keyed": {9, 9.1, 9.2}, "partitioned": {14, 14.1, 14.2}})
	}
	fresh := func(res *result.Results) *result.Results {
		res.Scenario = map[string]any{"decide": map[string]any{"figure": "freshness.p99"}}
		for i := range res.Cells {
			res.Cells[i] = withFreshness(res.Cells[i], int64(1e5**res.Cells[i].Handler.DrainSeconds))
		}
		return res
	}
	for _, tc := range []struct {
		name, value, sentence string
		res                   *result.Results
	}{
		{"one", "5.10", "l: dedup drained fastest of 3 correct points, in 5.10 s (±12 %, n = 3): at least 1.78 × faster than keyed (limited by the load); keyed is 1.55 × faster than partitioned.",
			kept(three(), "dedup")},
		{"two", "dedup and keyed", "l: dedup (5.10 s) and keyed (9.10 s) kept up with the load, which was their limit; each is at least 1.55 × faster than partitioned.",
			kept(three(), "dedup", "keyed")},
		{"the slowest", "5.10", "l: dedup drained fastest of 3 correct points, in 5.10 s (±12 %, n = 3): 1.78 × faster than keyed; keyed is 1.55 × faster than partitioned.",
			kept(three(), "partitioned")},
		{"by freshness", "dedup and keyed", "l: dedup (0.52 s) and keyed (0.92 s) kept up with the load, which was their limit; each is at least 1.54 × fresher than partitioned.",
			fresh(kept(three(), "dedup", "keyed"))},
		{"the freshest", "0.52", "l: dedup was freshest of 3 correct points, in 0.52 s (±14 %, n = 3): 1.77 × fresher than keyed; keyed is 1.54 × fresher than partitioned.",
			fresh(three())},
	} {
		all := arrange(tc.res).Headlines()
		if len(all) != 1 || all[0].Value != tc.value || all[0].Sentence != tc.sentence {
			t.Errorf("%s: %s: %s\nwant %s: %s", tc.name, all[0].Value, all[0].Sentence, tc.value, tc.sentence)
		}
	}
}

// noises are what repetitions of one cell look like: factors around 1.
var noises = map[string]func(*rand.Rand) float64{
	"a quiet machine":    func(rng *rand.Rand) float64 { return math.Exp(0.01 * rng.NormFloat64()) },
	"a noisy machine":    func(rng *rand.Rand) float64 { return math.Exp(0.15 * rng.NormFloat64()) },
	"uniform":            func(rng *rand.Rand) float64 { return 1 + 0.1*rng.Float64() },
	"a fixed part":       func(rng *rand.Rand) float64 { return 1 + 0.05*rng.ExpFloat64() },
	"heavy tails":        func(rng *rand.Rand) float64 { return math.Exp(0.02 * rng.NormFloat64() / max(0.05, rng.Float64())) },
	"stalls, one in ten": func(rng *rand.Rand) float64 { return stall(rng, 0.1) },
	"stalls, one in six": func(rng *rand.Rand) float64 { return stall(rng, 1.0/6) },
}

func stall(rng *rand.Rand, often float64) float64 {
	f := math.Exp(0.02 * rng.NormFloat64())
	if rng.Float64() < often {
		f *= 1.5
	}
	return f
}

// TestEqualRowsHaveNoWinner makes tables whose rows differ by noise alone, and counts
// those that name a winner.
func TestEqualRowsHaveNoWinner(t *testing.T) {
	const tables = 1000
	for name, noise := range noises {
		for _, n := range []int{1, 2, 3, 5, 10} {
			for _, rows := range []int{2, 4} {
				rng := rand.New(rand.NewPCG(uint64(n), uint64(rows)))
				named := 0
				for range tables {
					drains := map[string][]float64{}
					for r := range rows {
						for range n {
							drains[fmt.Sprint(r)] = append(drains[fmt.Sprint(r)], 20*noise(rng))
						}
					}
					for _, h := range arrange(measured(drains)).Headlines() {
						if h.best != nil {
							named++
						}
					}
				}
				if share := float64(named) / float64(tables); share > 0.01 {
					t.Errorf("%s, %d rows of %d repetitions: %.2f %% of the tables name a winner", name, rows, n, 100*share)
				}
			}
		}
	}
}

// TestFarRowsHaveAWinner: what merges events is found faster than one sender, whatever
// the noise.
func TestFarRowsHaveAWinner(t *testing.T) {
	for name, noise := range noises {
		for _, n := range []int{3, 5, 10} {
			rng := rand.New(rand.NewPCG(uint64(n), 3))
			found := 0
			const tables = 200
			for range tables {
				drains := map[string][]float64{}
				for range n {
					drains["dedup"] = append(drains["dedup"], 0.6*noise(rng))
					drains["single"] = append(drains["single"], 21*noise(rng))
				}
				for _, h := range arrange(measured(drains)).Headlines() {
					if h.best != nil && h.best.strategy == "dedup" {
						found++
					}
				}
			}
			if found < tables*98/100 {
				t.Errorf("%s, %d repetitions: dedup wins in %d of %d tables", name, n, found, tables)
			}
		}
	}
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
		{"beside a valid one", repeated(drained(1), invalid("G2", fails)), stateFailed, "FAIL G2"},
		{"alone", repeated(invalid("G2", fails)), stateFailed, "INVALID, FAIL G2"},
		{"secrecy", repeated(drained(1), invalid("G13", fails)), stateFailed, "FAIL G13"},
		{"as the scenario allows", repeated(drained(1), invalid("G2", allowed)), stateAllowed, "fails G2 (allowed)"},
		{"by the clock", repeated(drained(1), invalid("G8", fails)), statePassed, "pass G1"},
		{"a violation that was expected and absent", repeated(drained(1), invalid("G2", result.Check{Verdict: result.Fail, Judged: 5})), statePassed, "pass G1"},
		{"a pass proves nothing", repeated(invalid("G1", result.Check{Verdict: result.Pass, Judged: 5})), stateInvalid, "INVALID"},
		{"a pass proves nothing beside one that could not judge", repeated(invalid("G2", result.Check{Verdict: result.Pass, Judged: 5}), drained(1)), statePassed, "pass G1"},
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
