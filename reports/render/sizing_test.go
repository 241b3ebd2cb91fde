package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// paced is a point of an open load of 200 writes/s: by how many of them its backlog grows,
// its freshness p99, and how many requests it sends per event.
type paced struct {
	strategy, queues  string
	growth, p99, sent float64
}

func sized(points ...paced) *result.Results {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "sizing"}, Scenario: map[string]any{
		"matrix": map[string]any{"watcher.strategy": []any{"partitioned", "keyed", "dedup", "adaptive"}},
	}}
	for _, p := range points {
		c := drained(12)
		c.ID = p.strategy + "-" + p.queues
		c.Params = map[string]string{result.ParamStrategy: p.strategy, "watcher.podQueueNum": p.queues}
		c.Load = result.Load{Model: result.ModelOpen, OfferedQPS: new(200.0), DurationS: 10, QPS: 200, Done: 2000}
		c.Storage = result.Storage{LatencySpec: "lognormal(p50=60ms,p99=400ms)", LatencyP50Ms: 60, LatencyP99Ms: 400, Efficiency: new(0.5), EfficiencyBacklog: new(0.5)}
		c.Freshness = &result.Quantiles{Count: 2000, P50: p.p99 / 4, P99: p.p99}
		c.Pace = &result.Pace{KeepsUp: p.growth <= 10, WrittenQPS: 200, GrowthQPS: p.growth, SentPerEvent: &p.sent}
		res.Cells = append(res.Cells, c)
	}
	return res
}

// thrice repeats each cell.
func thrice(res *result.Results) *result.Results {
	once := res.Cells
	res.Cells = nil
	for rep := 1; rep <= 3; rep++ {
		for _, c := range once {
			c.Repetition, c.ID = rep, fmt.Sprintf("%s-r%d", c.ID, rep)
			p99 := c.Freshness.P99
			c = withFreshness(c, int64(p99*24.9e4), int64(p99*24.9e4), int64(p99*1e6))
			res.Cells = append(res.Cells, c)
		}
	}
	return res
}

// ordered says which cells the run was to have.
func ordered(res *result.Results, ids ...string) *result.Results {
	res.Run.Order = ids
	return res
}

// axisOrder is how the scenario writes the axis of queues.
func axisOrder(res *result.Results, values ...any) *result.Results {
	res.Scenario["matrix"].(map[string]any)["watcher.podQueueNum"] = values
	return res
}

// second gives the cells values of one more axis.
func second(res *result.Results, axis, a, b, c, d string, edit func(*result.Results)) *result.Results {
	for i := range res.Cells {
		res.Cells[i].ID = fmt.Sprint(i)
		res.Cells[i].Params[axis] = []string{a, b, c, d}[i]
	}
	if edit != nil {
		edit(res)
	}
	return res
}

// TestSizing: the headline of an open load answers which setting to take.
func TestSizing(t *testing.T) {
	part10, part30, part60 := paced{"partitioned", "10", 81, 9, 1}, paced{"partitioned", "30", 1, 1.5, 1}, paced{"partitioned", "60", 0, 0.8, 1}
	keyed20, keyed30 := paced{"keyed", "20", 0.4, 0.62, 1}, paced{"keyed", "30", 0, 0.5, 1}
	dedup10 := paced{"dedup", "10", 0.1, 0.9, 0.71}
	const at = "200 writes/s at storage latency p50 60 ms, p99 400 ms: "
	stalls := part30
	stalls.growth = 30
	for _, tt := range []struct {
		name, want string
		res        *result.Results
	}{
		{"every event, or the latest state", at + "the smallest setting that keeps up is keyed with podQueueNum 20 (every event, freshness p50 0.15 s, p99 0.62 s, n = 1); " +
			"if the latest state of an object is enough, dedup with podQueueNum 10 (latest state, 71.0 %, freshness p50 0.23 s, p99 0.90 s, n = 1).",
			sized(part60, part30, part10, keyed30, keyed20, dedup10)},
		{"of one size, the fresher", at + "the smallest setting that keeps up is keyed with podQueueNum 30 (every event, freshness p50 0.12 s, p99 0.50 s, n = 3).", thrice(sized(part10, part30, part60, keyed30))},
		{"nothing counts below one that falls behind", at + "the smallest setting that keeps up is partitioned with podQueueNum 60 (every event, freshness p50 0.20 s, p99 0.80 s, n = 1).",
			sized(paced{"partitioned", "10", 0, 1, 1}, stalls, part60)},
		{"what is wrong keeps up with nothing", at + "the smallest setting that keeps up is partitioned with podQueueNum 30 (every event, freshness p50 0.38 s, p99 1.50 s, n = 1).",
			change(sized(part30, keyed20), "keyed", func(c *result.Cell) { c.Checks["G2"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 1} })},
		{"none", at + "no setting keeps up; least behind is partitioned with podQueueNum 30: its backlog grows by 30.0 writes/s.", sized(part10, stalls)},
		{"the latest state only", at + "the smallest setting that keeps up is dedup with podQueueNum 10 (latest state, 71.0 %, freshness p50 0.23 s, p99 0.90 s, n = 1); none does that sends every event.",
			sized(part10, stalls, dedup10, paced{"dedup", "20", 0, 0.5, 0.8})},
		{"a smaller one is invalid", at + "the smallest known setting that keeps up is keyed with podQueueNum 30 (every event, freshness p50 0.12 s, p99 0.50 s, n = 1). Not known, because invalid: dedup 10.",
			change(sized(part10, keyed30, dedup10), "dedup", func(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"late"} })},
		{"no number to be set", at + "the smallest setting that keeps up is adaptive, which finds the number itself (every event, freshness p50 0.12 s, p99 0.50 s, n = 1).",
			sized(part10, stalls, paced{"adaptive", "10", 0, 0.5, 1}, paced{"adaptive", "30", 0, 0.5, 1})},
		{"a smaller one is missing", at + "the smallest known setting that keeps up is keyed with podQueueNum 30 (every event, freshness p50 0.12 s, p99 0.50 s, n = 1). Not known, because missing: keyed-20.",
			ordered(sized(keyed30, part10), "keyed-30", "keyed-20", "partitioned-10")},
		{"a repetition is missing", at + "the smallest setting that keeps up is keyed with podQueueNum 30 (every event, freshness p50 0.12 s, p99 0.50 s, n = 1).",
			change(ordered(sized(keyed30, part10), "keyed-30-r1", "keyed-30-r2", "partitioned-10"), "keyed", func(c *result.Cell) { c.ID, c.Repetition = "keyed-30-r1", 1 })},
		{"a smaller one does not tell", at + "the smallest known setting that keeps up is keyed with podQueueNum 30 (every event, freshness p50 0.12 s, p99 0.50 s, n = 1). Not known, because their backlog does not tell: dedup 10.",
			change(sized(keyed30, dedup10), "dedup", func(c *result.Cell) { c.Pace = nil })},
		{"a larger one is invalid", at + "the smallest setting that keeps up is keyed with podQueueNum 20 (every event, freshness p50 0.15 s, p99 0.62 s, n = 1).",
			change(sized(keyed20, part30), "partitioned", func(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"late"} })},
		{"none of the known", at + "whether a setting keeps up is not known; least behind is partitioned with podQueueNum 10: its backlog grows by 81.0 writes/s. Not known, because invalid: dedup 20.",
			change(sized(part10, paced{"dedup", "20", 0, 0.9, 0.7}), "dedup", func(c *result.Cell) { c.Valid, c.InvalidReasons = false, []string{"late"} })},
		{"numbers and not their order in the file", at + "the smallest setting that keeps up is partitioned with podQueueNum 60 (every event, freshness p50 0.20 s, p99 0.80 s, n = 1).",
			axisOrder(sized(stalls, part60, paced{"partitioned", "9", 81, 9, 1}), "60", "9", "30")},
		{"nor that of their digits", at + "the smallest setting that keeps up is partitioned with podQueueNum 9 (every event, freshness p50 0.38 s, p99 1.50 s, n = 1).",
			axisOrder(sized(part60, part30, paced{"partitioned", "9", 1, 1.5, 1}), "60", "30", "9")},
		{"two numbers", at + "the smallest setting that keeps up is keyed with handlerQueueLen 8 and podQueueNum 30 (every event, freshness p50 0.12 s, p99 0.50 s, n = 1).",
			second(sized(paced{"keyed", "20", 81, 0.5, 1}, paced{"keyed", "30", 0, 0.5, 1}, paced{"keyed", "20", 81, 0.5, 1}, paced{"keyed", "30", 0, 0.5, 1}), "watcher.handlerQueueLen", "8", "8", "4", "4", func(res *result.Results) {
				res.Cells[3].Pace = &result.Pace{WrittenQPS: 200, GrowthQPS: 81, SentPerEvent: new(1.0)}
			})},
		{"settings with names", at + "the freshest setting that keeps up is keyed with watcher large (every event, freshness p50 0.12 s, p99 0.50 s, n = 3).",
			thrice(second(sized(paced{"keyed", "20", 0, 1.8, 1}, paced{"keyed", "20", 0, 0.5, 1}, paced{"keyed", "20", 81, 0.5, 1}), "watcher", "small", "large", "other", "", nil))},
		{"a strategy alone", at + "the freshest strategy that keeps up is keyed (every event, freshness p50 0.12 s, p99 0.50 s, n = 3).",
			thrice(sized(part30, keyed30))},
		{"of one size, measured once", at + "the smallest settings that keep up are keyed with podQueueNum 30 (every event, freshness p50 0.12 s, p99 0.50 s, n = 1) and " +
			"partitioned with podQueueNum 30 (every event, freshness p50 0.20 s, p99 0.80 s, n = 1), not told apart in freshness.", sized(paced{"partitioned", "30", 1, 0.8, 1}, keyed30, part10)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "a strategy alone" {
				for i := range tt.res.Cells {
					delete(tt.res.Cells[i].Params, "watcher.podQueueNum")
				}
			}
			var got []string
			for _, h := range arrange(tt.res).Headlines() {
				if got = append(got, h.Sentence); h.best != nil {
					t.Error("a drain wins")
				}
			}
			if len(got) != 1 || got[0] != tt.want {
				t.Errorf("%s\nwant %s", strings.Join(got, "\n"), tt.want)
			}
		})
	}
	if h := arrange(change(sized(part30, keyed30), "keyed", func(c *result.Cell) { c.Pace = nil })).Headlines(); len(h) != 1 || !strings.Contains(h[0].Sentence, "partitioned") {
		t.Errorf("%+v", h)
	}
}

// TestPaces: terminal, page, Markdown and throughput.csv say who keeps up; drain time and
// efficiency of an open load are nobody's merit.
func TestPaces(t *testing.T) {
	res := sized(paced{"partitioned", "10", 81, 9, 1}, paced{"dedup", "10", 0.1, 0.9, 0.71})
	repeated := res.Cells[1]
	repeated.ID, repeated.Repetition, repeated.Pace = "again", 2, &result.Pace{WrittenQPS: 200, GrowthQPS: 40}
	third := repeated
	third.ID, third.Repetition, third.Pace = "third", 3, res.Cells[1].Pace
	res.Cells = append(res.Cells, repeated, third)
	for _, tt := range []struct {
		format string
		want   []string
	}{
		{"html", []string{"Who keeps up", "falls behind", "keeps up 2 of 3", "latest state, 71.0 %"}},
		{"md", []string{"### Who keeps up", "| partitioned | **falls behind** | 81.0 |", "| dedup | keeps up 2 of 3 | 0.1 |"}},
		{"csv", []string{"keeps_up,backlog_growth_writes_per_s,sent_per_event", "false,81,1,", "true,0.1,0.71,"}},
	} {
		f, err := FormatByName(tt.format)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := f.Write(&out, res); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s lacks %q", tt.format, want)
			}
		}
	}
	var bench bytes.Buffer
	if err := Bench(&bench, res); err != nil {
		t.Fatal(err)
	}
	for _, unit := range []string{" efficiency-percent", " efficiency-backlog-percent", " drain-sec"} {
		for l := range strings.Lines(bench.String()) {
			if strings.HasPrefix(l, "Benchmark") && strings.Contains(l, unit) {
				t.Errorf("bench.txt holds%s against an open load", unit)
			}
		}
	}
	if c := arrange(res).Overall(); len(c) > 0 {
		t.Errorf("%s is drawn", c[0].Title)
	}
}
