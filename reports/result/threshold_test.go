package result

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Bounds are read in the units of what they bound, and nothing else is.
func TestBounds(t *testing.T) {
	for _, tc := range []struct {
		metric, bound string
		below, above  float64 // of the bound, or both 0 for an error
		want          string  // of the error
	}{
		{"freshness.p99", "< 1s", 0.999, 1, ""},
		{"freshness.p99", "<=1500ms", 1.5, 1.501, ""},
		{"freshness.p99", "< 1", 0, 0, `"1" has no unit; write for example '< 1s'`},
		{"freshness.p99", "< 1MiB", 0, 0, `"1MiB" is not a time; write for example '< 1s'`},
		{"freshness.p99", "1s", 0, 0, `"1s" begins with none of <, <=, > and >=; write for example '< 1s'`},
		{"freshness.p99", "< NaN", 0, 0, `"NaN" is not a time`},
		{"freshness.count", "> 100", 101, 100, ""},
		{"freshness.count", "> 100s", 0, 0, `"100s" is not a number`},
		{"bystander.freshness.max", "< 1m", 59, 60, ""},
		{"load.lagMs.p99", "< 0.25s", 249, 250, ""},
		{"handler.drainSeconds", "< 20", 19, 20, ""},
		{"watcher.cpuMicrosPerRequest", "< 200", 199, 200, ""},
		{"watcher.cpuMicrosPerRequest", "< 0.2ms", 199, 200, ""},
		{"watcher.rssPeakMiB", "< 64MiB", 63, 64, ""},
		{"watcher.netKiBps", "<= 1MiB/s", 1024, 1025, ""},
		{"watcher.netKiBps", "< 1MiB", 0, 0, `"1MiB" is not a size per second`},
		{"storage.qps", "> 100/s", 101, 100, ""},
		{"storage.qps", "> 100/s/s", 0, 0, `"100/s/s" is not a rate`},
		{"storage.efficiency", ">= 80%", 0.8, 0.79, ""},
		{"storage.efficiency", "> 80%%", 0, 0, `"80%%" is not a share`},
		{"events.lost", "<= 0", 0, 1, ""},
	} {
		m, err := MetricByName(tc.metric)
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Bound(tc.bound)
		switch {
		case tc.want != "":
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s %s: %v, want %s", tc.metric, tc.bound, err, tc.want)
			}
		case err != nil || !b.Holds(tc.below) || b.Holds(tc.above):
			t.Errorf("%s %s: %+v, %v: %v must hold, %v must not", tc.metric, tc.bound, b, err, tc.below, tc.above)
		}
	}
	for name, want := range map[string]string{
		"freshnes.p99":    "unknown metric; did you mean freshness.p99?",
		"watcher.cpu":     "unknown metric; known are watcher.cpuCores, ",
		"speed":           "unknown metric; known are load, writer, ",
		"storage.latency": "unknown metric; known are storage.latencyMeanMs, ",
	} {
		if _, err := MetricByName(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for _, m := range Metrics() {
		if _, err := m.Bound(m.Example()); err != nil {
			t.Errorf("the example for %s: %v", m.Name, err)
		}
	}
}

// The median of the valid repetitions decides; what is not known never holds.
func TestJudgeThresholds(t *testing.T) {
	fresh := func(point string, rep int, p99 float64) Cell {
		return Cell{ID: fmt.Sprintf("%s-r%d", point, rep), Repetition: rep, Valid: true, Params: map[string]string{ParamLoad: point}, Freshness: &Quantiles{P99: p99}}
	}
	invalid, cut := fresh("slow", 3, 0.1), fresh("cut", 1, 0.2)
	invalid.Valid, cut.Cut = false, true
	never := fresh("never", 1, 0.1)
	never.Valid = false
	none := fresh("none", 2, 0)
	none.Freshness = nil
	r := &Results{
		Scenario: map[string]any{"thresholds": map[string]any{"freshness.p99": "< 1s"}, "repeat": 4.0},
		Cells: []Cell{
			fresh("good", 1, 0.9), fresh("slow", 1, 0.9), fresh("slow", 2, 3), invalid, fresh("good", 2, 5), fresh("good", 3, 0.1),
			cut, never, fresh("none", 1, 0.1), none,
		},
	}
	if err := r.JudgeThresholds(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, th := range r.Thresholds {
		got = append(got, fmt.Sprint(th.String(), " ", th.Valid, " ", th.Holds, " ", th.Failed(), " ", th.Params[ParamLoad]))
	}
	want := []string{
		"cut freshness.p99 is not known, bound < 1s (cut-r1 was cut) 1 false true cut",
		"good freshness.p99 is 0.9s, bound < 1s 3 true false good",
		"never freshness.p99 is not known, bound < 1s (no valid cell) 0 false false never",
		"none freshness.p99 is not known, bound < 1s (none-r2 has none) 2 false true none",
		"slow freshness.p99 is 1.95s, bound < 1s 2 false true slow",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What a cut cell has of a figure is of the part that was done, and a 0 that stands for
// nothing is not known: no bound holds of either.
func TestUnknownFiguresHoldNothing(t *testing.T) {
	whole := func() Cell {
		return Cell{
			ID: "x", Repetition: 1, Valid: true, Load: Load{DurationS: 9, Done: 50, QPS: 5}, Freshness: &Quantiles{P99: 1},
			Events: &Events{Received: 50, Sent: 50, Lost: new(int64(0))}, Pace: &Pace{GrowthQPS: 1, SentPerEvent: new(0.5)},
			Handler: Handler{Queues: 1, Workers: 1, Capacity: 8}, Writer: Writer{Capacity: 8}, Watcher: Watcher{RSSPeakMiB: new(9.0)},
			Storage: Storage{LatencyMeanMs: 5, LatencyP50Ms: 5, LatencyP99Ms: 5, Requests: 40},
		}
	}
	for _, tc := range []struct {
		name    string
		edit    func(*Cell)
		unknown string // of the metrics below
	}{
		{"whole", func(*Cell) {}, ""},
		{"cut", func(c *Cell) { c.Cut = true }, "events.dropped events.lost events.sent freshness.p99 handler.queues pace.sentPerEvent storage.latencyP99Ms storage.requests watcher.rssPeakMiB watcher.restarts writer.capacity"},
		{"another watcher", func(c *Cell) {
			c.Events, c.Handler, c.Writer = &Events{Lost: new(int64(0))}, Handler{Strategy: External}, Writer{}
		},
			"events.dropped events.sent handler.queues writer.capacity"},
		{"after a restart", func(c *Cell) { c.Watcher.Restarts = 1 }, "events.dropped events.sent"},
		{"a latency without quantiles", func(c *Cell) { c.Storage.LatencyP99Ms = 0 }, "storage.latencyP99Ms"},
		{"no load", func(c *Cell) { *c = Cell{ID: "x", Repetition: 1, Valid: true} },
			"events.dropped events.lost events.sent freshness.p99 handler.queues load.done load.errors pace.growthQPS pace.sentPerEvent storage.latencyP99Ms storage.requests watcher.rssPeakMiB watcher.restarts writer.capacity"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bounds := map[string]any{}
			for _, name := range []string{"events.dropped", "events.lost", "events.sent", "freshness.p99", "handler.queues", "load.done", "load.errors", "pace.growthQPS",
				"pace.sentPerEvent", "storage.latencyP99Ms", "storage.requests", "watcher.rssPeakMiB", "watcher.restarts", "writer.capacity"} {
				m, err := MetricByName(name)
				if err != nil {
					t.Fatal(err)
				}
				bounds[name] = "<= 900000" + strings.TrimLeft(m.Example(), "<>=0123456789. ")
			}
			c := whole()
			tc.edit(&c)
			r := &Results{Scenario: map[string]any{"thresholds": bounds}, Cells: []Cell{c}}
			if err := r.JudgeThresholds(); err != nil {
				t.Fatal(err)
			}
			var unknown []string
			for _, th := range r.Thresholds {
				if th.Value == nil {
					unknown = append(unknown, th.Metric)
				}
				if th.Holds != (th.Value != nil) || th.Failed() != (th.Value == nil) {
					t.Errorf("%s: %+v", th.Metric, th)
				}
			}
			want := strings.Fields(tc.unknown)
			slices.Sort(want)
			if got := strings.Join(unknown, " "); got != strings.Join(want, " ") {
				t.Errorf("not known:\n%s, want\n%s", got, strings.Join(want, " "))
			}
		})
	}
}

// A median of two figures has no more digits than they.
func TestMedianHasTheDigitsOfFigures(t *testing.T) {
	r := &Results{Scenario: map[string]any{"thresholds": map[string]any{"load.qps": "< 2/s"}}}
	for i, v := range []float64{1.23456, 1.23457} {
		r.Cells = append(r.Cells, Cell{ID: fmt.Sprintf("x-r%d", i+1), Repetition: i + 1, Valid: true, Load: Load{QPS: v}})
	}
	if err := r.JudgeThresholds(); err != nil || len(r.Thresholds) != 1 || len(fmt.Sprint(*r.Thresholds[0].Value)) > len("1.23457") {
		t.Errorf("%v, %+v", err, r.Thresholds)
	}
}

// TestThresholdsOfASweep are in the order of the swept numbers, and name the field.
func TestThresholdsOfASweep(t *testing.T) {
	r := &Results{Scenario: map[string]any{"thresholds": map[string]any{"freshness.p99": "< 1s"}}}
	for _, n := range []string{"1", "16", "2"} {
		c := Cell{ID: n, Valid: true, Params: map[string]string{"watcher.podQueueNum": n}, Freshness: &Quantiles{Count: 1, P99: 0.5}}
		r.Cells = append(r.Cells, c)
	}
	if err := r.JudgeThresholds(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range r.Thresholds {
		got = append(got, r.Thresholds[i].String())
	}
	want := []string{
		"podQueueNum=1 freshness.p99 is 0.5s, bound < 1s", "podQueueNum=2 freshness.p99 is 0.5s, bound < 1s",
		"podQueueNum=16 freshness.p99 is 0.5s, bound < 1s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
