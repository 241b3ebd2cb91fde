package search

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// asking is a question of 200 writes/s, for sentences.
const asking = `apiVersion: watchbench/v1
kind: Scenario
metadata: {name: asking}
cluster: {provider: replay}
storage: {latency: 'lognormal(p50=60ms,p99=400ms)'}
load: {model: open, rate: 200, duration: 20s}
watcher: {synchronizer: {disabled: true}}
`

// TestSentence: it says what was measured in how many runs, and leaves out what was not
// judged.
func TestSentence(t *testing.T) {
	good := result.TunedCell{Valid: true, Safe: true, Ordered: true, Figures: Figures{P99: new(0.871), Events: 4012}}
	with := func(edit func(*result.TunedCell)) result.TunedCell { c := good; edit(&c); return c }
	for _, c := range []struct {
		name, objective string
		set             Setting
		cells           []result.TunedCell
		met             bool
		want            string
		not             string
	}{
		{
			"three runs", "freshness.p99=2s", Setting{Strategy: keyed, Queues: 12},
			[]result.TunedCell{good, with(func(c *result.TunedCell) { c.Figures.P99 = new(0.9301) }), good}, true,
			"For 200 changes of Pods a second and a storage that answers in 60 ms (99 of 100 times within 400 ms), the strategy keyed with podQueueNum 12 (12 requests at once) is enough: " +
				"99 of 100 changes are in storage within 0.94 s; nothing was lost or reordered in 3 runs of at least 4,012 changes from a simulated API server.", "",
		},
		{
			"no power", "freshness.p99=2s", Setting{Strategy: keyed, Queues: 1},
			[]result.TunedCell{with(func(c *result.TunedCell) { c.Ordered = false })}, true,
			"the strategy keyed with podQueueNum 1 (one request at a time) is enough: 99 of 100 changes are in storage within 0.88 s; nothing was lost in 1 run of 4,012 changes", "reordered",
		},
		{
			"an invalid run is no run", "freshness.p99=2s", Setting{Strategy: dedup, Queues: 5},
			[]result.TunedCell{good, with(func(c *result.TunedCell) { c.Valid, c.Figures.P99 = false, new(0.1) })}, true,
			"the latest state of an object; states that it had in between may be left out); nothing was lost or reordered in 1 run of 4,012", "2 runs",
		},
		{
			"loss is not known", "freshness.p99=2s", Setting{Strategy: keyed, Queues: 5},
			[]result.TunedCell{with(func(c *result.TunedCell) { c.Safe = false })}, true, "measured in 1 run", "lost",
		},
		{"cut", "freshness.p99=2s", Setting{Strategy: keyed, Queues: 5}, []result.TunedCell{with(func(c *result.TunedCell) { c.Cut, c.Figures.P99 = true, nil })}, false,
			"no setting that was tried keeps freshness.p99 within 2 s; keyed with podQueueNum 5 comes closest, and was not done when it was cut.", "enough"},
		{"nothing measured", "freshness.p99=2s", Setting{Strategy: keyed, Queues: 5}, nil, false,
			"nothing was measured that holds the objective; by simulation keyed with podQueueNum 5 comes closest", "enough"},
		{"no bound", "freshness.p99", Setting{Strategy: partitioned, Queues: 30}, []result.TunedCell{good}, true,
			"the strategy partitioned with podQueueNum 30 (30 queues for Pods) is enough (no other setting was measured): ", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, err := New(options(t, planted(), asking, c.objective))
			if err != nil {
				t.Fatal(err)
			}
			x.planned = 4000
			k := x.judge.cand(c.set)
			k.cells = c.cells
			r := report{Search: x, best: k, met: c.met}
			got := r.sentence()
			if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
				t.Errorf("%s\n, want %s\n, not %q", got, c.want, c.not)
			}
		})
	}
}

// TestEnough names the strategy, its podQueueNum if it has one, and what that is of where several
// kinds are watched.
func TestEnough(t *testing.T) {
	kinds := []string{podKind, "Event", "ReplicaSet"}
	for _, c := range []struct {
		set   Setting
		kinds []string
		want  string
	}{
		{Setting{Strategy: dedup, Queues: 22}, kinds,
			"the strategy dedup with podQueueNum 22 (22 requests at once for each of 3 kinds of object) is enough"},
		{Setting{Strategy: keyed, Queues: 1}, kinds,
			"the strategy keyed with podQueueNum 1 (one request at a time for each of 3 kinds of object) is enough"},
		{Setting{Strategy: partitioned, Queues: 30}, kinds,
			"the strategy partitioned with podQueueNum 30 (30 queues for Pods, 120 for Events, one for each other kind) is enough"},
		{Setting{Strategy: partitioned, Queues: 30}, kinds[:2],
			"the strategy partitioned with podQueueNum 30 (30 queues for Pods, 120 for Events) is enough"},
		{Setting{Strategy: single}, kinds,
			"the strategy single (no podQueueNum: one request at a time for each of 3 kinds of object) is enough"},
		{Setting{Strategy: adaptive}, kinds[:1],
			"the strategy adaptive (no podQueueNum: it finds the number of requests itself) is enough"},
	} {
		if got := enough(c.set, c.kinds); got != c.want {
			t.Errorf("%s\n, want %s", got, c.want)
		}
	}
}

// TestRoundUp: "within" is never less than what was measured.
func TestRoundUp(t *testing.T) {
	for v, want := range map[float64]float64{0.871: 0.88, 0.9301: 0.94, 2: 2, 7.5: 7.5, 7.51: 7.6, 99.1: 100, 0: 0, 0.00123: 0.0013} {
		if got := roundUp(v); got != want {
			t.Errorf("%g becomes %g, want %g", v, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 20000: "20,000", 1234567: "1,234,567"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is %s", n, got)
		}
	}
}
