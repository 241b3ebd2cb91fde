package render

import (
	"bytes"
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

// ordered says which cells the run was to have.
func ordered(res *result.Results, ids ...string) *result.Results {
	res.Run.Order = ids
	return res
}

// TestPaces: terminal, page, Markdown and throughput.csv say who keeps up; drain time and
// efficiency of an open load are nobody's merit.
func TestPaces(t *testing.T) {
	res := sized(paced{"partitioned", "10", 81, 9, 1}, paced{"dedup", "10", 0.1, 0.9, 0.71})
	repeated := res.Cells[1]
	repeated.ID, repeated.Repetition, repeated.Pace = "dedup-10-r2", 2, &result.Pace{WrittenQPS: 200, GrowthQPS: 40}
	third := repeated
	third.ID, third.Repetition, third.Pace = "dedup-10-r3", 3, res.Cells[1].Pace
	res.Cells = append(res.Cells, repeated, third)
	for _, tt := range []struct {
		format string
		want   []string
	}{
		{"html", []string{"Who keeps up", "falls behind", "keeps up 2 of 3", "latest state, 71.0 %"}},
		{"md", []string{"### Who keeps up", "| partitioned | open | **falls behind** | 81.0 |", "| dedup | open | keeps up 2 of 3 | 0.1 |"}},
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
}
