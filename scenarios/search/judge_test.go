package search

import (
	"context"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestVerdict: one rule from cells to a verdict, whatever was predicted.
func TestVerdict(t *testing.T) {
	cell := func(p99 float64) result.TunedCell {
		return result.TunedCell{Valid: true, Safe: true, Figures: Figures{P99: &p99, RSSMiB: new(30.0)}}
	}
	invalid, unsafe, cut, big, failed, behind := cell(0.1), cell(0.1), cell(0.1), cell(0.1), cell(0.1), cell(0.1)
	invalid.Valid, unsafe.Safe, cut.Figures.P99, big.Figures.RSSMiB = false, false, nil, new(65.0)
	failed.Failed, behind.KeepsUp = []string{"G2"}, new(false)
	for _, c := range []struct {
		name      string
		objective string
		cells     []result.TunedCell
		want      string
	}{
		{"predicted only", "freshness.p99=1s", nil, result.TunedUnmeasured},
		{"within", "freshness.p99=1s", []result.TunedCell{cell(0.9), cell(1)}, result.TunedHolds},
		{"one beyond", "freshness.p99=1s", []result.TunedCell{cell(0.9), cell(1.1)}, result.TunedFails},
		{"an invalid cell proves nothing", "freshness.p99=1s", []result.TunedCell{invalid}, result.TunedInvalid},
		{"beside a valid one", "freshness.p99=1s", []result.TunedCell{invalid, cell(0.9)}, result.TunedHolds},
		{"not known whether something was lost", "freshness.p99=1s", []result.TunedCell{unsafe}, result.TunedFails},
		{"cut", "freshness.p99=1s", []result.TunedCell{cut}, result.TunedFails},
		{"memory", "freshness.p99=1s", []result.TunedCell{big}, result.TunedFails},
		{"a check failed", "freshness.p99=1s", []result.TunedCell{cell(0.1), failed}, result.TunedWrong},
		{"the fastest itself", "freshness.p99", []result.TunedCell{cell(0.5)}, result.TunedHolds},
		{"as fast as the fastest", "freshness.p99", []result.TunedCell{cell(0.52)}, result.TunedHolds},
		{"slower than the fastest", "freshness.p99", []result.TunedCell{cell(0.6)}, result.TunedFails},
		{"falls behind", "rate=100/s", []result.TunedCell{behind}, result.TunedFails},
	} {
		o, err := ParseObjective(c.objective)
		if err != nil {
			t.Fatal(err)
		}
		j := newJudge(&Options{Objective: o, Limits: Limits{Memory: 64 << 20}, Repeat: 3})
		j.cand(Setting{Strategy: keyed, Queues: 20}).cells = []result.TunedCell{cell(0.5)}
		k := j.cand(Setting{Strategy: keyed, Queues: 10})
		if k.cells = c.cells; j.verdict(k) != c.want || j.confirmed(k) != (c.want == result.TunedHolds) {
			t.Errorf("%s: %s, want %s", c.name, j.verdict(k), c.want)
		}
		if j.wrong(keyed) != (c.want == result.TunedWrong) {
			t.Errorf("%s: the strategy is wrong: %t", c.name, j.wrong(keyed))
		}
	}
}

// TestScreen plays each plan of a candidate once, and rules out one that drops events.
func TestScreen(t *testing.T) {
	x, err := New(options(t, planted(), burst, "drain=9s"))
	if err != nil {
		t.Fatal(err)
	}
	x.screen.simulate = func(_ context.Context, p Play) (Figures, error) {
		return Figures{Events: int64(p.Seed), Dropped: new(int64(p.Scenario.Watcher.PodQueueNum % 2))}, nil
	}
	even, odd := x.judge.cand(x.space.roomy(keyed, 2)), x.judge.cand(x.space.roomy(keyed, 3))
	for _, n := range []int{1, 3, 3} {
		if err := x.screen.play(t.Context(), n, even, odd); err != nil {
			t.Fatal(err)
		}
	}
	if n := x.screen.played.Load(); n != 6 || len(even.by) != 3 || even.by[0].Events == even.by[2].Events {
		t.Errorf("%d cells, %+v", n, even.by)
	}
	if even.excluded != "" || odd.excluded == "" {
		t.Errorf("%q, %q", even.excluded, odd.excluded)
	}
}
