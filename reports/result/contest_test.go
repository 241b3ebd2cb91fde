package result

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// drained is a correct cell that was waited for.
func drained(seconds float64) Cell {
	return Cell{Valid: true, Handler: Handler{DrainSeconds: &seconds}, Checks: map[string]Check{"G1": {Verdict: Pass, Judged: 1}}}
}

// measured is a record of points under one load; each has the drain times of its repetitions.
func measured(drains map[string][]float64) *Results {
	res := &Results{Schema: Schema, Run: Run{ID: "r"}}
	for strategy, seconds := range drains {
		for i, s := range seconds {
			c := drained(s)
			c.ID, c.Repetition = fmt.Sprintf("%s-r%d", strategy, i+1), i+1
			c.Params = map[string]string{ParamLoad: "l", ParamStrategy: strategy}
			res.Cells = append(res.Cells, c)
		}
	}
	return res
}

func change(res *Results, strategy string, by func(*Cell)) *Results {
	for i := range res.Cells {
		if res.Cells[i].Params[ParamStrategy] == strategy {
			by(&res.Cells[i])
		}
	}
	return res
}

// order writes a contest as "dedup < keyed = single": < where one leads over the next, and which of them share the
// first rank.
func order(c *Contest) string {
	var words []string
	for i, p := range c.Ranked {
		name := p.Point
		if p.Bounded {
			name += "!"
		}
		if words = append(words, name); i+1 < len(c.Ranked) {
			words = append(words, map[bool]string{true: "<", false: "="}[p.Leads])
		}
	}
	return fmt.Sprintf("%d of %d: %s", c.Tied(), len(c.Takes), strings.Join(words, " "))
}

func TestContest(t *testing.T) {
	three := func() *Results {
		return measured(map[string][]float64{"dedup": {5, 5.1, 5.2}, "keyed": {9, 9.1, 9.2}, "single": {100, 101, 102}})
	}
	check := func(g, verdict string) func(*Cell) {
		return func(c *Cell) { c.Checks[g] = Check{Verdict: verdict, Violations: 1, Judged: 1} }
	}
	kept := func(res *Results, points ...string) *Results {
		for _, p := range points {
			change(res, p, func(c *Cell) { c.Bottleneck.Stage = KeptUp })
		}
		return res
	}
	const keyed = "1 of 2: keyed < single"
	for _, tt := range []struct {
		name, want string
		res        *Results
	}{
		{"apart", "1 of 3: dedup < keyed < single", three()},
		{"overlapping", "2 of 2: dedup = keyed", measured(map[string][]float64{"dedup": {5, 5.1, 6}, "keyed": {5.5, 6, 6.1}})},
		{"the first two overlap", "2 of 3: a = b < c", measured(map[string][]float64{"a": {5, 5.1, 6}, "b": {5.5, 6, 6.1}, "c": {90, 91, 92}})},
		{"one repetition", "0 of 2: ", measured(map[string][]float64{"dedup": {5}, "keyed": {11}})},
		{"one point", "0 of 1: ", measured(map[string][]float64{"dedup": {5, 5.1, 5.2}})},
		{"failed", keyed, change(three(), "dedup", check("G1", Fail))},
		{"failed as allowed", keyed, change(three(), "dedup", check("G1", Allowed))},
		{"not judged", keyed, change(three(), "dedup", check("G1", NotJudged))},
		{"invalid", keyed, change(three(), "dedup", func(c *Cell) { c.Valid, c.InvalidReasons = false, []string{"lag"} })},
		{"a violation of an invalid repetition", keyed, change(three(), "dedup", func(c *Cell) {
			if c.Repetition == 2 {
				c.Valid, c.InvalidReasons = false, []string{"lag"}
				check("G2", Fail)(c)
			}
		})},
		{"a projected drain is no baseline", "1 of 2: dedup < keyed", change(three(), "single", func(c *Cell) { c.Cut, c.Handler.DrainProjected = true, true })},
		{"a cut one does not win", keyed, change(three(), "dedup", func(c *Cell) { c.Cut, c.Handler.DrainProjected = c.Repetition == 2, c.Repetition == 2 })},
		{"the floor is no watcher", keyed, change(three(), "dedup", func(c *Cell) { c.Watcher.Command = []string{"/bin/watchfloor", "-f", "x"} })},
		{"limited by the load", "1 of 3: dedup! < keyed < single", kept(three(), "dedup")},
		{"both limited", "2 of 3: dedup! = keyed! < single", kept(three(), "dedup", "keyed")},
	} {
		tt.res.Decide()
		if len(tt.res.Contests) != 1 || order(&tt.res.Contests[0]) != tt.want {
			t.Errorf("%s: %+v, want %s", tt.name, tt.res.Contests, tt.want)
		}
	}
	two := kept(three(), "dedup", "keyed")
	if two.Decide(); !two.Contests[0].Alike || !two.Contests[0].Ahead {
		t.Errorf("what the load limits is alike, and ahead of what it does not: %+v", two.Contests[0])
	}
	fresh := three()
	fresh.Scenario = map[string]any{"decide": map[string]any{"figure": FigureFreshness}}
	for i := range fresh.Cells {
		c := &fresh.Cells[i]
		c.Load.Model, c.Freshness = ModelOpen, &Quantiles{Count: 9, P99: *c.Handler.DrainSeconds / 10}
	}
	if fresh.Decide(); order(&fresh.Contests[0]) != "1 of 3: dedup < keyed < single" || fresh.Contests[0].Figure != FigureFreshness {
		t.Errorf("by freshness: %+v", fresh.Contests)
	}
}

// TestNoWinnerAcrossConditions: points are compared only where the watcher alone differs. A
// slower storage or another number of threads is no slower watcher.
func TestNoWinnerAcrossConditions(t *testing.T) {
	for axis, want := range map[string]int{
		"watcher.podQueueNum": 1, "watcher": 1, "storage.latency": 2, "storage": 2, "load.threads": 2, "load.objectBytes": 2,
	} {
		res := measured(map[string][]float64{"1": {5, 5.1, 5.2}, "2": {50, 51, 52}})
		for i := range res.Cells {
			res.Cells[i].Params = map[string]string{ParamStrategy: "keyed", axis: res.Cells[i].Params[ParamStrategy]}
		}
		if res.Decide(); len(res.Contests) != want {
			t.Errorf("%s: %d contests, want %d", axis, len(res.Contests), want)
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

// winner decides a table of points with these drain times, and names the one that leads alone.
func winner(drains map[string][]float64) string {
	res := measured(drains)
	res.Decide()
	if c := res.Contests[0]; c.Tied() == 1 {
		return c.Ranked[0].Point
	}
	return ""
}

// TestEqualRowsHaveNoWinner makes tables whose rows differ by noise alone, and counts those that name a winner.
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
					if winner(drains) != "" {
						named++
					}
				}
				if share := float64(named) / float64(tables); share > 0.01 {
					t.Errorf("%s, %d rows of %d repetitions: %.2f %% of the tables name a winner", name, rows, n, 100*share)
				}
			}
		}
	}
}

// TestFarRowsHaveAWinner: what merges events is found faster than one sender, whatever the noise.
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
				if winner(drains) == "dedup" {
					found++
				}
			}
			if found < tables*98/100 {
				t.Errorf("%s, %d repetitions: dedup wins in %d of %d tables", name, n, found, tables)
			}
		}
	}
}

// paced is a point of an open load: by how many writes a second its backlog grows, its freshness p99, and how many
// requests it sends per event.
type paced struct {
	strategy, queues  string
	growth, p99, sent float64
}

func sized(repetitions int, points ...paced) *Results {
	res := &Results{Schema: Schema, Run: Run{ID: "r"}}
	for rep := 1; rep <= repetitions; rep++ {
		for _, p := range points {
			c := drained(12)
			c.ID, c.Repetition = fmt.Sprintf("%s-%s-r%d", p.strategy, p.queues, rep), rep
			c.Params = map[string]string{ParamStrategy: p.strategy, "watcher.podQueueNum": p.queues}
			c.Load = Load{Model: ModelOpen, DurationS: 10}
			c.Freshness = &Quantiles{Count: 2000, P50: p.p99 / 4, P99: p.p99 * (1 + 0.001*float64(rep))}
			c.Pace = &Pace{KeepsUp: p.growth <= 10, WrittenQPS: 200, GrowthQPS: p.growth, SentPerEvent: &p.sent}
			res.Cells = append(res.Cells, c)
		}
	}
	return res
}

// TestSizing: of an open load the smallest settings that keep up are found.
func TestSizing(t *testing.T) {
	part10, part30, part60 := paced{"partitioned", "10", 81, 9, 1}, paced{"partitioned", "30", 1, 1.5, 1}, paced{"partitioned", "60", 0, 0.8, 1}
	keyed20, keyed30, dedup10 := paced{"keyed", "20", 0.4, 0.62, 1}, paced{"keyed", "30", 0, 0.5, 1}, paced{"dedup", "10", 0.1, 0.9, 0.71}
	stalls := part30
	stalls.growth = 30
	invalid := func(c *Cell) { c.Valid, c.InvalidReasons = false, []string{"late"} }
	missing := sized(1, keyed30, part10)
	missing.Run.Order = []string{"keyed-30-r1", "keyed-20-r1", "partitioned-10-r1"}
	for _, tt := range []struct {
		name, want string
		res        *Results
	}{
		{"every event, or the latest state", "every keyed-20 latest dedup-10", sized(1, part60, part30, part10, keyed30, keyed20, dedup10)},
		{"of one size, the fresher", "every keyed-30", sized(3, part10, part30, part60, keyed30)},
		{"of one size, measured once", "every keyed-30 partitioned-30", sized(1, paced{"partitioned", "30", 1, 0.8, 1}, keyed30, part10)},
		{"nothing counts below one that falls behind", "every partitioned-60", sized(1, paced{"partitioned", "10", 0, 1, 1}, stalls, part60)},
		{"what is wrong keeps up with nothing", "every partitioned-30", change(sized(1, part30, keyed20), "keyed",
			func(c *Cell) { c.Checks["G2"] = Check{Verdict: Fail, Violations: 1, Judged: 1} })},
		{"and is the closest", "closest keyed-20 true", change(sized(1, keyed20), "keyed",
			func(c *Cell) { c.Checks["G2"] = Check{Verdict: Fail, Violations: 1, Judged: 1} })},
		{"none", "closest partitioned-30 false", sized(1, part10, stalls)},
		{"the latest state only", "latest dedup-10", sized(1, part10, stalls, dedup10, paced{"dedup", "20", 0, 0.5, 0.8})},
		{"a smaller one is invalid", "every keyed-30 unknown dedup-10", change(sized(1, part10, keyed30, dedup10), "dedup", invalid)},
		{"a larger one is invalid", "every keyed-20", change(sized(1, keyed20, part30), "partitioned", invalid)},
		{"a smaller one is missing", "every keyed-30 unknown keyed-20", missing},
		{"a smaller one does not tell", "every keyed-30 unknown dedup-10", change(sized(1, keyed30, dedup10), "dedup", func(c *Cell) { c.Pace = nil })},
		{"no number to be set", "every adaptive-10", sized(1, part10, stalls, paced{"adaptive", "10", 0, 0.5, 1}, paced{"adaptive", "30", 0, 0.5, 1})},
		{"numbers and not their digits", "every partitioned-9", sized(1, part60, part30, paced{"partitioned", "9", 1, 1.5, 1})},
	} {
		tt.res.Decide()
		s := tt.res.Contests[0].Sizing
		var got []string
		for _, part := range []struct {
			name   string
			points []string
		}{{"every", s.Every}, {"latest", s.Latest}, {"unknown", s.Unknown}} {
			if len(part.points) > 0 {
				slices.Sort(part.points)
				got = append(got, part.name+" "+strings.Join(part.points, " "))
			}
		}
		if s.Closest != "" {
			got = append(got, fmt.Sprintf("closest %s %v", s.Closest, s.KeepsUp))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	none := change(sized(1, keyed20), "keyed", func(c *Cell) { c.Pace = nil })
	if none.Decide(); len(none.Contests) != 0 {
		t.Errorf("no cell tells, and %+v", none.Contests)
	}
}
