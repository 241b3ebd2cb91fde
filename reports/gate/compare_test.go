package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
)

// cpu are cells of the point load=a, one per value.
func cpu(values ...float64) (cells []result.Cell) {
	for i, v := range values {
		cells = append(cells, with(cell(fmt.Sprintf("a-r%d", i+1), "load=a"), func(c *result.Cell) {
			c.Watcher.CPUMicrosPerEvent = &v
			c.Load.DurationS = 1
		}))
	}
	return cells
}

func each(cells []result.Cell, change func(*result.Cell)) []result.Cell {
	for i := range cells {
		change(&cells[i])
	}
	return cells
}

func compared(t *testing.T, metric string, runs ...*result.Results) *Comparison {
	t.Helper()
	metrics, err := Metrics(metric)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(metrics, Run{"A", runs[0]}, Run{"B", runs[1]})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestVerdict(t *testing.T) {
	const metric = "watcher.cpuMicrosPerEvent"
	same := []float64{100, 101, 102, 99, 100}
	fails := func(verdict string) func(*result.Cell) {
		return func(c *result.Cell) {
			c.Checks = map[string]result.Check{"G2": {Verdict: verdict, Violations: 1, Judged: 9}}
		}
	}
	for _, tt := range []struct {
		name      string
		metric    string
		base, now []result.Cell
		want      Change
		why       string
	}{
		{"much more CPU", metric, cpu(same...), cpu(130, 131, 132, 129, 130), WorseThan, ""},
		{"much less CPU", metric, cpu(130, 131, 132, 129, 130), cpu(same...), BetterThan, ""},
		{"the same", metric, cpu(same...), cpu(same...), NoDifference, ""},
		{"within the noise", metric, cpu(90, 110, 100), cpu(95, 118, 104), NoDifference, ""},
		{"one repetition, within 2×", metric, cpu(100), cpu(190), NoDifference, ""},
		{"one repetition, beyond", metric, cpu(100), cpu(210), NoDifference, ""},
		{"one side with an interval is not enough", metric, cpu(same...), cpu(150), NoDifference, ""},
		{"not known", metric, cpu(same...), each(cpu(same...), func(c *result.Cell) { c.Watcher.CPUMicrosPerEvent = nil }), NotComparable, "not known in B"},
		{"not known in the first", metric, each(cpu(same...), func(c *result.Cell) { c.Watcher.CPUMicrosPerEvent = nil }), cpu(same...), NotComparable, "not known in A"},
		{"all invalid", metric, cpu(same...), each(cpu(same...), invalid), NotComparable, "B has no valid cell here"},
		{"some cut", metric, cpu(same...), append(cpu(50, 50, 50), each(cpu(0, 0, 0, 100), cutShort)[3]), NotComparable, "1 of 4 cells of B were cut at the drain limit"},
		{"wrong", metric, cpu(same...), each(cpu(50, 50, 50), fails(result.Fail)), NotComparable, "B fails G2"},
		{"wrong, as the scenario allows", metric, each(cpu(same...), fails(result.Allowed)), cpu(50, 50, 50), NotComparable, "A fails G2"},
		{"a wrong one's load", "load.durationSeconds", cpu(same...), each(cpu(same...), fails(result.Fail)), NoDifference, ""},
	} {
		c := compared(t, tt.metric, run(tt.base...), run(tt.now...))
		if len(c.Figures) != 1 {
			t.Errorf("%s: %d figures", tt.name, len(c.Figures))
			continue
		}
		s := c.Figures[0]
		if s.Verdict != tt.want || s.Why != tt.why {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.name, s.Verdict, s.Why, tt.want, tt.why)
		}
		if (s.Verdict == NotComparable) != (s.Ratio == nil) {
			t.Errorf("%s: %s with a ratio of %v", tt.name, s.Verdict, s.Ratio)
		}
	}
	// The most changed figure of a sentence has its interval.
	c := compared(t, metric, run(cpu(same...)...), run(cpu(200, 206, 204, 196, 200)...))
	if want := fmt.Sprintf("2 ×, %s to %s)", number(*c.Figures[0].RatioLow), number(*c.Figures[0].RatioHigh)); !strings.Contains(c.Verdict, want) {
		t.Errorf("%q, want %q", c.Verdict, want)
	}
}

// lost are cells with so many lost objects each; below 0 is not known.
func lost(counts ...int64) []result.Cell {
	cells := cpu(make([]float64, len(counts))...)
	for i, n := range counts {
		cells[i].Events = &result.Events{Received: 9}
		if n >= 0 {
			cells[i].Events.Lost = &n
		}
	}
	return cells
}

func TestLostComesFirst(t *testing.T) {
	for _, tt := range []struct {
		name      string
		base, now []result.Cell
		want      Change
		total     float64
	}{
		{"one object where none was lost", lost(0, 0, 0), lost(0, 1, 0), WorseThan, 1},
		{"none where some were", lost(4, 5, 6), lost(0, 0, 0), BetterThan, 0},
		{"about as many", lost(4, 5, 6), lost(5, 6, 4), NoDifference, 15},
		{"lost in some repetitions, and not in the only one", lost(0, 1, 0, 0, 0), lost(0), NoDifference, 0},
		{"as many in each of fewer repetitions", lost(4, 4, 4, 4, 4), lost(4), NoDifference, 4},
		{"a loss in an invalid cell", lost(0, 0), each(lost(2, 0), invalid), WorseThan, 2},
	} {
		c := compared(t, "events.lost", run(tt.base...), run(tt.now...))
		if s := c.Figures[0]; s.Verdict != tt.want || *s.Sides[1].Value != tt.total {
			t.Errorf("%s: %s, %v in all", tt.name, s.Verdict, *s.Sides[1].Value)
		} else if s.Ratio != nil && len(tt.base) != len(tt.now) {
			t.Errorf("%s: a ratio of %v of totals over unequal numbers of cells", tt.name, *s.Ratio)
		}
	}
	if c := compared(t, "events.lost", run(lost(0, 0)...), run(lost(0, 0)...)); len(c.Figures) != 0 {
		t.Errorf("nothing lost on either side is a figure: %+v", c.Figures)
	}
	// An unknown loss is not 0.
	if c := compared(t, "events.lost", run(lost(0, 0)...), run(lost(-1, -1)...)); len(c.Figures) != 1 || c.Figures[0].Verdict != NotComparable {
		t.Errorf("an unknown loss: %+v", c.Figures)
	}
	slow := lost(0, 3)
	for i := range slow {
		slow[i].Watcher.CPUMicrosPerEvent = new(1000.0)
	}
	c := compared(t, "*.*", run(lost(0, 0)...), run(slow...))
	if c.Figures[0].Metric != "events.lost" || !strings.HasPrefix(c.Verdict, "B lost 3 objects at a (A: 0); ") {
		t.Errorf("%s first, %q", c.Figures[0].Metric, c.Verdict)
	}
	if c := compared(t, "events.lost", run(lost(0)...), run(lost(1)...)); !strings.HasPrefix(c.Verdict, "B lost 1 object at a") {
		t.Error(c.Verdict)
	}
}

// Percentiles come from merged histograms, never from an average, and not at all where a histogram is missing.
func TestPercentilesAreMerged(t *testing.T) {
	fresh := func(seconds int64, n int64) func(*result.Cell) {
		h := hdrhistogram.New(1, 3_600_000_000, 3)
		if err := h.RecordValues(seconds*1e6, n); err != nil {
			t.Fatal(err)
		}
		data, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		return func(c *result.Cell) {
			c.Freshness = &result.Quantiles{Count: n, P50: float64(seconds), HDR: string(data)}
		}
	}
	cells := func(change ...func(*result.Cell)) *result.Results {
		all := cpu(make([]float64, len(change))...)
		for i, f := range change {
			f(&all[i])
		}
		return run(all...)
	}
	// 100 operations of 1 s and 1000 of 10 s: half of all took 10 s; the mean of medians is 5.5.
	c := compared(t, "freshness.p50", cells(fresh(1, 100), fresh(10, 1000)), cells(fresh(1, 100), fresh(1, 100)))
	if f := c.Figures[0]; *f.Sides[0].Value < 9.9 || *f.Sides[0].Value > 10.1 || *f.Sides[1].Value > 1.1 {
		t.Errorf("p50 is %v and %v, want 10 and 1", *f.Sides[0].Value, *f.Sides[1].Value)
	}
	c = compared(t, "freshness.p50", cells(fresh(1, 100), fresh(1, 100)), cells(fresh(1, 100), func(c *result.Cell) { c.Freshness = &result.Quantiles{Count: 9, P50: 5} }))
	if s := c.Figures[0]; s.Sides[1].Value != nil || s.Verdict != NotComparable {
		t.Errorf("a missing histogram: %+v", s)
	}
}

func TestWorkThatWasSaved(t *testing.T) {
	rate := func(qps float64, requests int64) *result.Results {
		return run(each(cpu(1, 1, 1), func(c *result.Cell) {
			c.Storage.QPS, c.Storage.Requests, c.Load.Model = &qps, requests, result.ModelClosed
		})...)
	}
	if s := compared(t, "storage.qps", rate(100, 1000), rate(50, 1000)).Figures[0]; s.Verdict != WorseThan {
		t.Errorf("half the rate: %s", s.Verdict)
	}
	c := compared(t, "storage.qps", rate(100, 1000), rate(50, 500))
	if s := c.Figures[0]; s.Verdict != Differs {
		t.Errorf("half the rate of half the requests: %s", s.Verdict)
	}
	if want := "a: B sent 50 % of A's requests"; !slices.Contains(c.Left, want) {
		t.Errorf("%q lacks %q", c.Left, want)
	}
	open := rate(50, 1000)
	for i := range open.Cells {
		open.Cells[i].Load.Model = result.ModelOpen
	}
	if s := compared(t, "storage.qps", open, rate(100, 1000)).Figures[0]; s.Verdict != Differs {
		t.Errorf("the rate of an open load: %s", s.Verdict)
	}
}

// A run that wrote less drains sooner and is none the better for it.
func TestLessWasWritten(t *testing.T) {
	drains := func(seconds float64, writes int64) *result.Results {
		return run(each(cpu(1, 1, 1), func(c *result.Cell) {
			c.Handler.DrainSeconds, c.Load.Done, c.Load.Model = &seconds, writes, result.ModelClosed
		})...)
	}
	for _, tt := range []struct {
		writes int64
		want   Change
	}{{1000, BetterThan}, {950, BetterThan}, {500, Differs}, {2000, Differs}} {
		if s := compared(t, "handler.drainSeconds", drains(10, 1000), drains(5, tt.writes)).Figures[0]; s.Verdict != tt.want {
			t.Errorf("half the drain after %d writes instead of 1000: %s, want %s", tt.writes, s.Verdict, tt.want)
		}
	}
}

// A check that was not judged is not mended.
func TestNoLongerFails(t *testing.T) {
	checked := func(verdict string) *result.Results {
		return run(each(cpu(1, 1), func(c *result.Cell) { c.Checks = map[string]result.Check{"G2": {Verdict: verdict}} })...)
	}
	for verdict, want := range map[string]bool{result.Pass: true, result.NotJudged: false, result.NoPower: false, "": false, result.Fail: false} {
		c := compared(t, "watcher.cpuMicrosPerEvent", checked(result.Fail), checked(verdict))
		if got := strings.Contains(c.Verdict, "no longer fails"); got != want {
			t.Errorf("after fail, %q: %q", verdict, c.Verdict)
		}
	}
}

func TestOrigin(t *testing.T) {
	at := func(change func(*result.Results)) *result.Results {
		res := run(cpu(1)...)
		res.Run.Seed, res.Run.Started = 7, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		res.Environment = result.Environment{CPUModel: "Fast", CPUs: 2, Programs: map[string]string{"k8s-watch": "sha256:abc", "churn": "def"}}
		res.Scenario = map[string]any{"metadata": map[string]any{"name": "s"}, "load": map[string]any{"threads": 4.0}, "watcher": map[string]any{"podQueueNum": 30.0}}
		if change != nil {
			change(res)
		}
		return res
	}
	for _, tt := range []struct {
		name   string
		change func(*result.Results)
		want   string
	}{
		{"the same", func(r *result.Results) { r.Run.Started = r.Run.Started.Add(5 * time.Minute) }, "A and B have the same scenario, machine, seed and programs; run within an hour of each other."},
		{"itself", nil, "A and B are the same run."},
		{"the next day", func(r *result.Results) { r.Run.Started = r.Run.Started.Add(26 * time.Hour) }, "programs; run 26 hours apart, so changes of the machine in between are part of every difference."},
		{"the week before", func(r *result.Results) { r.Run.Started = r.Run.Started.Add(-7 * 24 * time.Hour) }, "run 168 hours apart"},
		{"another machine", func(r *result.Results) { r.Environment.CPUs = 8 }, "B differs from A in machine (cpus 2 → 8); run within an hour of each other, so only counts compare, not times and CPU."},
		{"another seed", func(r *result.Results) { r.Run.Seed = 8 }, "in seed (7 → 8); "},
		{"another load", func(r *result.Results) { r.Scenario["load"] = map[string]any{"threads": 8.0} }, "in scenario (load.threads 4 → 8); "},
		{"another setting and binary of the watcher", func(r *result.Results) {
			r.Scenario["watcher"] = map[string]any{"podQueueNum": 12.0}
			r.Environment.Programs = map[string]string{"k8s-watch": "xyz", "churn": "def"}
		}, "in watcher (programs.k8s-watch sha256:abc → xyz, podQueueNum 30 → 12); "},
		{"another name alone", func(r *result.Results) { r.Run.ID, r.Scenario["metadata"] = "other", map[string]any{"name": "t"} }, "A and B have the same scenario"},
	} {
		c := compared(t, "watcher.*", at(nil), at(tt.change))
		if !strings.Contains(c.Origin, tt.want) {
			t.Errorf("%s: %q lacks %q", tt.name, c.Origin, tt.want)
		}
	}
}

func TestNothingInCommon(t *testing.T) {
	two := func(load string) *result.Results {
		return run(cell("x", "load="+load, "watcher.strategy=single"), cell("y", "load="+load, "watcher.strategy=keyed"))
	}
	c := compared(t, "*.*", two("a"), two("b"))
	if len(c.Figures) != 0 || !strings.Contains(c.Verdict, "have no point in common") || len(c.Left) != 4 {
		t.Errorf("%+v", c)
	}
}

func TestMetrics(t *testing.T) {
	for _, tt := range []struct {
		patterns []string
		least    int
		err      string
	}{
		{nil, 30, ""}, {[]string{"freshness.p99"}, 1, ""}, {[]string{"watcher.*", "watcher.cpuCores"}, 15, ""},
		{[]string{"freshness.p98"}, 0, `metric "freshness.p98": unknown metric; did you mean freshness.p90?`},
		{[]string{"wather.*"}, 0, `metric "wather.*": no such metric`}, {[]string{"[a"}, 0, `metric "[a": syntax error in pattern`}, {[]string{""}, 0, "unknown metric"},
	} {
		got, err := Metrics(tt.patterns...)
		switch {
		case tt.err == "" && (err != nil || len(got) < tt.least):
			t.Errorf("%q: %d metrics, %v", tt.patterns, len(got), err)
		case tt.err != "" && (err == nil || !badinput.Is(err) || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%q: %v, want %q", tt.patterns, err, tt.err)
		}
	}
}
