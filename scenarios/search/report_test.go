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
cluster: {provider: simulated}
storage: {latency: 'lognormal(p50=60ms,p99=400ms)'}
load: {model: open, rate: 200, duration: 20s}
watcher: {synchronizer: {disabled: true}}
`

// TestSentence: it says what was measured in how many runs, and leaves out what was not judged.
func TestSentence(t *testing.T) {
	good := result.TunedCell{Valid: true, Safe: true, Ordered: true, Figures: Figures{P99: new(0.871), Events: 4012}}
	with := func(edit func(*result.TunedCell)) result.TunedCell { c := good; edit(&c); return c }
	for _, c := range []struct {
		name      string
		set       Setting
		cells     []result.TunedCell
		met       bool
		want, not string
	}{
		{
			"three runs", Setting{Strategy: keyed, Queues: 12},
			[]result.TunedCell{good, with(func(c *result.TunedCell) { c.Figures.P99 = new(0.9301) }), good}, true,
			"For 200 changes of Pods a second and a storage that answers in 60 ms (99 of 100 times within 400 ms), the strategy keyed with podQueueNum 12 is enough: " +
				"99 of 100 changes are in storage within 0.94 s; nothing was lost or reordered in 3 runs of at least 4,012 changes from a simulated API server.", "",
		},
		{
			"no power", Setting{Strategy: single}, []result.TunedCell{with(func(c *result.TunedCell) { c.Ordered = false })}, true,
			"the strategy single is enough: 99 of 100 changes are in storage within 0.88 s; nothing was lost in 1 run of 4,012 changes", "reordered",
		},
		{
			"an invalid run is no run", Setting{Strategy: dedup, Queues: 5},
			[]result.TunedCell{good, with(func(c *result.TunedCell) { c.Valid, c.Figures.P99 = false, new(0.1) })}, true,
			"the latest state of an object; states that it had in between may be left out); nothing was lost or reordered in 1 run of 4,012", "2 runs",
		},
		{
			"cut", Setting{Strategy: keyed, Queues: 5}, []result.TunedCell{with(func(c *result.TunedCell) { c.Cut, c.Figures.P99 = true, nil })}, false,
			"no setting that was tried has freshness p99 ≤ 2 s; the strategy keyed with podQueueNum 5 comes closest: it was not drained when it was cut.", "enough",
		},
		{
			"nothing valid", Setting{Strategy: keyed, Queues: 5}, []result.TunedCell{{Reason: "the generator was late"}}, false,
			"cannot tell: no measurement was valid (the generator was late); by simulation the strategy keyed with podQueueNum 5 has ", "comes closest",
		},
		{
			"nothing measured", Setting{Strategy: keyed, Queues: 5}, nil, false,
			"nothing was measured that holds the objective; by simulation the strategy keyed with podQueueNum 5 has ", "enough",
		},
	} {
		x, err := New(options(t, planted(), asking, "freshness.p99=2s"))
		if err != nil {
			t.Fatal(err)
		}
		x.planned = 4000
		if got := x.sentence(&candidate{set: c.set, cells: c.cells}, c.met); !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %s\n, want %s\n, not %q", c.name, got, c.want, c.not)
		}
	}
}

// TestSources: each reason with a figure says where it is from.
func TestSources(t *testing.T) {
	for _, text := range []string{burst, asking} {
		for _, strategies := range [][]string{Strategies, {keyed}, {partitioned}} {
			w := planted()
			got := run(t, options(t, w, text, "drainAfterLoad=9s", strategies...), w)
			if len(got.Why) < 1 {
				t.Fatalf("%+v", got.Why)
			}
			for _, f := range got.Why {
				if strings.ContainsAny(f.Value, "0123456789") && !strings.Contains(f.Value, "simulated") && !strings.Contains(f.Value, "measured") {
					t.Errorf("%s: %s", f.Name, f.Value)
				}
			}
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

// TestFit: queues have room for twice what waited, and with block for the Events that may wait.
func TestFit(t *testing.T) {
	for _, c := range []struct {
		full            string
		handler, writer float64
		wantH, wantW    int
	}{
		{"coalesce", 3000, 0, 8192, 10_240}, {"coalesce", 10, 9000, 256, 32_768}, {"drop", 1e9, 0, mostLength, 10_240}, {"block", 10, 0, 20_000, 10_240},
	} {
		x, err := New(options(t, planted(), strings.Replace(burst, "watcher: {", "watcher: {queueFull: "+c.full+", ", 1), "drain=9s"))
		if err != nil {
			t.Fatal(err)
		}
		k := &candidate{by: []Figures{{HandlerDepth: &c.handler, WriterDepth: &c.writer}}}
		if x.fit(k); k.set.HandlerLen != c.wantH || k.set.WriterLen != c.wantW {
			t.Errorf("%+v: %+v", c, k.set)
		}
	}
}
