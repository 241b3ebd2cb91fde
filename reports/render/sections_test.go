package render

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"os/exec"
	"slices"
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

// swept is a run over the values of an axis; storage's rate is ten times the place.
func swept(path string, values ...string) *result.Results {
	res := sized(make([]paced, len(values))...)
	for i, v := range values {
		c := &res.Cells[i]
		c.ID, c.Params = fmt.Sprint(i), map[string]string{result.ParamStrategy: "keyed", path: v}
		c.Storage.QPS = new(float64(10 * (i + 1)))
	}
	return res
}

// besides is a run of the scenario reference with two rows of a pair, and an invalid one.
func besides() *result.Results {
	cell := func(watcher, load string, qps, all float64, bins int) result.Cell {
		c := drained(float64(bins) / 2)
		c.ID, c.Params = watcher+"-"+load, map[string]string{"watcher": watcher, "load": load}
		c.Load = result.Load{Model: "closed", QPS: qps, Done: int64(qps) * 10, DurationS: 10}
		s := result.Series{Unit: "requests/s"}
		for i := range bins {
			s.T, s.V = append(s.T, float64(i)/2), append(s.V, all)
		}
		c.Series = map[string]result.Series{result.SeriesStorageQPS: s}
		return c
	}
	before := cell("before", "before-20", 290, 32, 62)
	before.Cut, before.Handler.DrainProjected = true, true
	bad := cell("legacy-after", "after-20", 100, 50, 40)
	bad.Valid, bad.InvalidReasons = false, []string{"storage <late>\x1b[31m"}
	return &result.Results{
		Schema: result.Schema, Run: result.Run{ID: "r", Scenario: "reference"},
		Cells: []result.Cell{before, cell("after", "after-20", 200, 208, 40), bad},
	}
}

// storm is a cell with readers.
func storm() *result.Results {
	c := drained(1)
	times := &result.Quantiles{Count: 200, P50: 100, P99: 198, Max: 200}
	c.ID = "a"
	c.Readers = &result.Readers{From: "watcher", FreshnessRatio: new(1.5),
		Get:      &result.Queries{Planned: 1000, Done: 990, Errors: map[string]int64{"429": 7, "timeout": 3}, FromIntent: times},
		Watches:  &result.Watches{Count: 5, Changes: 20, Events: 99, Missed: 1, LagMs: times},
		Webhooks: &result.Webhooks{Receivers: 1, Changes: 20, LagMs: &result.Quantiles{Count: 2, P50: 3, P99: 4, Max: 4}}}
	return &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}, Cells: []result.Cell{c}}
}

// thresholds is a run with bounds that hold, fail and were not judged.
func bounded(t *testing.T) *result.Results {
	res := sized(paced{"partitioned", "10", 81, 9, 1}, paced{"keyed", "20", 0, 0.6, 1})
	unjudged := late(res.Cells[1])
	unjudged.ID, unjudged.Params = "late", map[string]string{result.ParamStrategy: "single"}
	res.Cells = append(res.Cells, unjudged)
	res.Scenario["thresholds"] = map[string]any{"freshness.p99": "< 1s", "pace.growthQPS": "< 10/s"}
	if err := res.JudgeThresholds(); err != nil {
		t.Fatal(err)
	}
	return res
}

// TestSections: what a record has is in its report, in the units and in the order in which it is read.
func TestSections(t *testing.T) {
	sweep := swept("watcher.podQueueNum", "1", "2", "4", "16")
	slices.Reverse(sweep.Cells)
	sweep.Cells[1].Checks = map[string]result.Check{"G2": {Verdict: result.Fail, Judged: 1}} // at 4
	resumed := fixture(t)
	resumed.Run.Resumed = []result.Resumption{{Environment: result.Environment{CPUModel: "Another"}, Cells: []result.Rerun{{ID: "light-keyed-r1", Why: "late"}}}}
	somecut := measured(map[string][]float64{"keyed": {9, 9.1, 30}})
	somecut.Cells[2].Cut, somecut.Cells[2].CutFraction, somecut.Cells[2].Handler.DrainProjected = true, 0.4, true
	growth := sized(paced{"large", "10", 0.1, 0.8, 1}, paced{"small", "10", 0.1, 0.4, 1})
	growth.Scenario = map[string]any{"ladder": true}
	for i, held := range []float64{168.9, 24.5} {
		c := &growth.Cells[i]
		c.Load.Prefill, c.Watcher.Stored, c.Watcher.RSSEndMiB = int64(10_000-9000*i), new(0.25), &held
	}
	growth.Cells[0].Load.OfferedQPS = nil
	asPublished := fixture(t)
	asPublished.Run.Scenario = "strategies-published"
	for name, tc := range map[string]struct {
		res       *result.Results
		md, pages []string
	}{
		"sweep": {sweep, []string{"### Over the swept values", "| podQueueNum | keyed open | 1 | 10.0 | 12.0 | 0.00 | – |", "| 2 | 20.0 | 12.0 | 0.00 | 2.00 |",
			"| 4 | 30.0 | 12.0 | 0.00 | – | ❌ FAIL G2 |", "| 16 | 40.0 | 12.0 | 0.00 | – |"}, []string{`id="figures-plot1"`, `"data":[[1,10],[2,20],[4,"-"],[16,40]]`, `"type":"log"`}},
		"not swept": {swept("storage.latency", "250ms", "1s", "uniform(1s,2s)"), nil, []string{"<h2>Who keeps up"}},
		"beside": {besides(), []string{"### Beside the published tables", "| before 20 threads | published | 298 | 0.00 | 360 | 89.8 | 21.2 |", "| k8s-watch | 290 | – | ~31.0 |",
			"✅ holds", "⚠️ not measured", "legacy after 20 threads is invalid: storage &lt;late&gt;", "6.5 × the storage rate; published 5.6 ×"}, []string{`id="beside">`}},
		"as published": {asPublished, nil, []string{`id="beside">`, "before 20 threads", "Measured by the authors"}},
		"readers":      {storm(), []string{"| watcher | GET | 1000 | 990 | 100.00 | 198.00 | 200.00 | 429: 7, timeout: 3 |", "| watcher | watch | 100 | 99 |", "missed: 1", "| watcher | webhook | 20 | 20 | 3.00 | – | 4.00 | none |"}, nil},
		"thresholds":   {bounded(t), []string{"### Thresholds", "❌ FAILS", "not judged: no valid cell"}, []string{`banner bad">Of 6 thresholds, 2 hold, 2 not judged, 2 failed: partitioned-10 freshness.p99 is 9s, bound &lt; 1s;`, `>holds</td>`}},
		"pace":         {sized(paced{"partitioned", "10", 81, 9, 1}, paced{"dedup", "10", 0.1, 0.9, 0.71}), []string{"### Who keeps up", "| ❌ falls behind 1 of 1 | 81.0 |", "| ✅ keeps up 1 of 1 | 0.1 | latest state, 71.0 % |"}, nil},
		"growth":       {growth, []string{"### Growth", "| small-10 | 1000 | 200 | 200 | 0.25 | – | 24.5 | – | 0.10 | 0.40 |", "| large-10 | 10000 | unlimited | 200 | 0.25 | – | 169 |"}, nil},
		"resumed":      {resumed, []string{"on Another, for light-keyed-r1 (late)"}, nil},
		"fixture": {fixture(t), []string{"lognormal(mean=87ms,p99=110ms)", "a slow apiserver", "Columns of the published tables",
			"| Load average before | 0.31 0.42 0.4 |", "| Load average after | 2.9 2.1 1.2 |", "dedup / light: invalid (repetition 1, 2, 3): 256 of 360",
			"partitioned / light: invalid (repetition 2): storage"}, nil},
		"some cut": {somecut, []string{"1 of 3 cut at 40.0 %", "1 of 3 cut at the drain limit with 40.0 % of the events acknowledged"}, nil},
	} {
		var md, page bytes.Buffer
		if err := Markdown(&md, tc.res); err != nil {
			t.Fatal(err)
		}
		if err := writePage(&page, Run(tc.res), nil); err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer(`\_`, "_", `\#`, "#").Replace(md.String())
		for _, want := range tc.md {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		for _, want := range tc.pages {
			if !strings.Contains(page.String(), want) {
				t.Errorf("%s: the page has no %q", name, want)
			}
		}
		if name == "not swept" && strings.Contains(page.String(), `id="sweep"`) || name != "beside" && strings.Contains(text, "Beside the published") {
			t.Errorf("%s has a section that it should not have", name)
		}
	}
}

// TestExports: throughput.csv, bench.txt and junit.xml of runs with figures that others lack.
func TestExports(t *testing.T) {
	column := func(res *result.Results, name string) (got []string) {
		var b bytes.Buffer
		if err := CSV(&b, res); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.Index(lines[0], name)
		for _, l := range lines[1:] {
			if at < 0 {
				return nil
			}
			got = append(got, l[at])
		}
		return got
	}
	open := sized(paced{"partitioned", "10", 81, 9, 1}, paced{"dedup", "10", 0.1, 0.9, 0.71})
	for _, tc := range []struct {
		res    *result.Results
		column string
		want   []string
	}{
		{besides(), "published_storage_qps", []string{"118", "118", "21.2"}}, {besides(), "all_kinds_drain_qps", []string{"208", "50", "32"}},
		{besides(), "all_kinds_published_window_qps", []string{"69.33333333333333", "16.666666666666668", ""}}, {open, "published_storage_qps", nil},
		{open, "keeps_up", []string{"false", "true"}}, {open, "backlog_growth_writes_per_s", []string{"81", "0.1"}}, {open, "sent_per_event", []string{"1", "0.71"}},
		{open, "storage_latency_configured_p99_ms", []string{"400", "400"}}, {open, "efficiency_percent", []string{"50", "50"}}, {open, "threads", []string{"", ""}},
	} {
		if got := column(tc.res, tc.column); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.column, got, tc.want)
		}
	}
	var bench, junit bytes.Buffer
	if err := Bench(&bench, open); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(bench.String()) { // of an open load they are nobody's merit
		if strings.HasPrefix(l, "Benchmark") && (strings.Contains(l, "efficiency") || strings.Contains(l, " drain-sec")) {
			t.Error(l)
		}
	}
	if err := JUnit(&junit, bounded(t)); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(junit.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if last := got.Suites[len(got.Suites)-1]; last.Name != "thresholds" || last.Tests != 6 || last.Failures != 2 || last.Skipped != 2 {
		t.Errorf("%+v", last)
	}
}

// TestFindings: runs of every kind, what is said of each, and what would be untrue.
func TestFindings(t *testing.T) {
	three := func() *result.Results {
		return measured(map[string][]float64{"dedup": {5, 5.1, 5.2}, "keyed": {9, 9.1, 9.2}, "single": {100, 101, 102}})
	}
	every := func(res *result.Results, by func(*result.Cell)) *result.Results {
		for i := range res.Cells {
			by(&res.Cells[i])
		}
		return res
	}
	invalid := func(c *result.Cell) { *c = late(*c) }
	fails := func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.Fail, Violations: 3, Judged: 9} }
	kept := func(c *result.Cell) { c.Bottleneck.Stage = result.KeptUp }
	undecided := three()
	undecided.Run.Decision = &result.Decision{Figure: result.FigureDrain, Blocks: 3, End: result.EndTime}
	undecided.Run.Again = make([]result.Rerun, 2)
	interrupted := three()
	interrupted.Run.Order, interrupted.Run.Interrupted = []string{"dedup-r1", "partitioned-r1"}, true
	keyed, slow, dedup := paced{"keyed", "20", 0.4, 0.62, 1}, paced{"keyed", "10", 81, 9, 1}, paced{"dedup", "10", 0.1, 0.9, 0.71}
	const question = "At 200 writes/s at storage latency p50 60 ms, p99 400 ms, "
	aged := func(seconds ...float64) func(*result.Cell) {
		return func(c *result.Cell) {
			*c = withFreshness(*c, slices.Repeat([]int64{int64(1e6 * seconds[c.Repetition-1])}, 100)...)
			c.Load.Model = result.ModelOpen
		}
	}
	fresh := change(change(measured(map[string][]float64{"dedup": {5, 5, 5}, "keyed": {5, 5, 5}}),
		"dedup", aged(0.5, 0.5, 0.6)), "keyed", aged(6, 6, 6))
	fresh.Scenario = map[string]any{"decide": map[string]any{"figure": result.FigureFreshness}}
	tiedFresh := change(change(change(measured(map[string][]float64{"dedup": {5, 5, 5}, "keyed": {5, 5, 5}, "single": {5, 5, 5}}),
		"dedup", aged(0.5, 0.49, 0.53)), "keyed", aged(0.51, 0.51, 0.51)), "single", aged(6, 6, 6))
	tiedFresh.Scenario = fresh.Scenario
	for _, tt := range []struct {
		name, want, not string
		res             *result.Results
	}{
		{"of all operations", "dedup was freshest: 99 % of the changes were in storage within 0.60 s, 10.0× fresher than keyed.", "12.0×", fresh},
		{"a tie of all operations", "each is at least 11.3× fresher than single.", "11.7×", tiedFresh},
		{"closed", "dedup was fastest: all Pods were stored after 5.1 s, 1.78× faster than keyed; keyed is 11.1× faster than single.", "Nothing", three()},
		{"a tie", "a and b cannot be told apart after 3 repetitions: all Pods were stored after 5.1 and 6.0 s; each is at least 15.1× faster than c.", "fastest", measured(map[string][]float64{"a": {5, 5.1, 6}, "b": {5.5, 6, 6.1}, "c": {90, 91, 92}})},
		{"limited by the load", "dedup and keyed kept up with the load, which was their limit: all Pods were stored after 5.1 and 9.1 s; each is at least 11.0× faster than single.", "fastest", change(change(three(), "dedup", kept), "keyed", kept)},
		{"a small lead of the load", "dedup was fastest: all Pods were stored after 5.1 s, at least 1.07× faster than keyed.", "1.00×", change(measured(map[string][]float64{"dedup": {5.08, 5.1, 5.12}, "keyed": {5.47, 5.49, 5.51}}), "dedup", kept)},
		{"a large lead of the load", "at least 9.86× faster than keyed; keyed is 11.1×", "9.80×", change(measured(map[string][]float64{"dedup": {0.92, 0.923, 0.93}, "keyed": {9, 9.109, 9.2}, "single": {100, 101, 102}}), "dedup", kept)},
		{"limited in most repetitions", "Limited by: – (single, keyed); none (dedup).", "1 other", change(three(), "dedup", func(c *result.Cell) {
			if c.Repetition > 1 {
				kept(c)
			}
		})},
		{"measured once", "Nothing is ranked: that takes 3 valid repetitions.", "fastest", measured(map[string][]float64{"dedup": {5}, "keyed": {9}})},
		{"one point", "keyed: all Pods were stored after 9.0 s.", "fastest", measured(map[string][]float64{"keyed": {9}})},
		{"all invalid", "Nothing can be said about speed: no measurement is valid; of the first: lag.", "compared", every(three(), invalid)},
		{"one failed", "keyed was fastest: all Pods were stored after 9.1 s, 11.1× faster than single.", "dedup", change(three(), "dedup", fails)},
		{"interrupted", "not whole (interrupted): 1 of 2 cells missing: partitioned-r1", "", interrupted},
		{"undecided", "The run ended after 3 repetitions: its budget ran out before everything was decided; run again: 2 invalid cells.", "most", undecided},
		{"open", question + "the smallest that keeps up: keyed with podQueueNum 20 (every event, freshness p99 0.62 s) and dedup with podQueueNum 10 (latest state, 71.0 %, freshness p99 0.90 s).", "none", sized(keyed, slow, dedup)},
		{"the latest state only", "; none does that sends every event.", "whether", sized(slow, dedup)},
		{"none of the known", question + "whether any keeps up is unknown; not known: dedup-10.", "none keeps up", change(sized(slow, dedup), "dedup", invalid)},
		{"nothing keeps up", question + "none keeps up; the backlog of keyed, which is least behind, grows by 81.0 writes every second.", "smallest", sized(slow)},
		{"keeps up and is wrong", "keyed keeps up, but is not correct.", "none keeps up", change(sized(keyed), "keyed", fails)},
		{"a larger one falls behind", "keyed with podQueueNum 20 keeps up, but a larger one falls behind", "is not correct.", sized(keyed, paced{"keyed", "30", 81, 9, 1})},
		{"a sweep", "the freshest that keeps up: keyed", "smallest", swept("storage.latency", "10ms", "20ms", "40ms")},
		{"reference", "Beside the published tables, k8s-watch: after beats before", "Under", besides()},
	} {
		if s := said(tt.res); !strings.Contains(s, tt.want) || tt.not != "" && strings.Contains(s, tt.not) || strings.Contains(s, "%!") {
			t.Errorf("%s: %s\nwant %s", tt.name, s, tt.want)
		}
	}
}

// TestWrongComesFirst: a reader who stops after one sentence knows that objects were lost, whether or not a speed was valid.
func TestWrongComesFirst(t *testing.T) {
	lost := int64(2)
	lose := func(c *result.Cell) {
		c.Checks["G1"], c.Events = result.Check{Verdict: result.Fail, Violations: 2, Judged: 9}, &result.Events{Lost: &lost}
	}
	late := func(c *result.Cell) {
		c.Valid, c.InvalidReasons = false, []string{"the generator was 9 ms late (p99); the limit is 5 ms", "slow"}
	}
	first := func(res *result.Results) string {
		res.Decide()
		return strings.Join(Run(res).Findings, " ")
	}
	one := func() *result.Results { return change(measured(map[string][]float64{"keyed": {5, 6}}), "keyed", lose) }
	const wrong = "keyed is not correct: it lost 4 objects and fails G1. "
	if s := first(one()); s != wrong+"No speed can be compared." {
		t.Error(s)
	}
	if s := first(change(one(), "keyed", late)); s != wrong+"Nothing can be said about speed: no measurement is valid; of the first: "+
		"the generator was 9 ms late (p99); the limit is 5 ms." {
		t.Error(s)
	}
	allow := func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.Allowed, Violations: 2, Judged: 9} }
	if s := first(change(one(), "keyed", allow)); strings.Contains(s, "not correct") {
		t.Errorf("what the scenario allows: %s", s)
	}
}

// TestOutcome: a run without cells, or that lacks one, did not pass.
func TestOutcome(t *testing.T) {
	res := sized(paced{"keyed", "20", 0, 0.6, 1})
	if o := arrange(res).outcome(); o != statePassed {
		t.Errorf("a whole run is %s", o)
	}
	if s := arrange(res).summary().Text; s != "Of 1 point: 1 passed every check." {
		t.Error(s)
	}
	if res.Run.Order = []string{"keyed-20", "keyed-30"}; arrange(res).outcome() == statePassed {
		t.Error("a run that lacks a cell is passed")
	}
	if o := arrange(sized()).outcome(); o == statePassed {
		t.Errorf("a run without cells is %s", o)
	}
}

// TestTerminalEnds: the first table has nine columns at most and fits 120; the answer and the outcome are the last
// lines, and what explains the figures does not bury them unless it is asked for.
func TestTerminalEnds(t *testing.T) {
	const method = "One machine carries all parts"
	for _, explain := range []bool{false, true} {
		var out bytes.Buffer
		if err := Terminal(&out, fixture(t), TerminalOptions{Explain: explain, Width: 120}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if last := strings.Join(lines[len(lines)-4:], "\n"); !strings.Contains(last, "Limited by: ") || !strings.Contains(last, "Of 10 points: ") {
			t.Errorf("the last lines are\n%s", last)
		}
		if strings.Contains(out.String(), method) != explain {
			t.Errorf("explained: %v, the method is there: %v", explain, !explain)
		}
		_, table, _ := strings.Cut(out.String(), "\nFigures\n")
		table, _, _ = strings.Cut(table, "\n\n  ")
		if n := len(strings.Fields(strings.Split(table, "\n")[3])); n != 9 { // the rule: not every column has a unit
			t.Errorf("%d columns", n)
		}
		for l := range strings.Lines(table) {
			if n := len([]rune(strings.TrimRight(l, "\n"))); n > 120 {
				t.Errorf("%d columns: %s", n, l)
			}
		}
	}
}

// TestTitlesAboveColumns: a column is as wide as the longest word of its title.
func TestTitlesAboveColumns(t *testing.T) {
	var out bytes.Buffer
	heads := []Head{{Title: "point", Words: true}, {Title: "freshness p99", Unit: "s"}, {Title: "efficiency"}, {Title: "n"}}
	if err := TableTerminal(&out, Table{Heads: heads, Rows: [][]Cell{Cells("a", "1", "2", "3")}}, TerminalOptions{}); err != nil {
		t.Fatal(err)
	}
	want := "point  freshness  efficiency  n\n             p99\n               s\n" +
		"─────  ─────────  ──────────  ─\na              1           2  3\n"
	if out.String() != want {
		t.Errorf("\n%s\nwant\n%s", &out, want)
	}
}

// TestNoAccountIsNotZero: a watcher without counters received an unknown number of events.
func TestNoAccountIsNotZero(t *testing.T) {
	res := change(measured(map[string][]float64{"keyed": {9}}), "keyed", func(c *result.Cell) {
		c.Watcher.Name, c.Handler.Strategy, c.Events = "other", result.External, &result.Events{Lost: new(int64(0))}
	})
	for i, c := range arrange(res).flows().Table.Rows[0][1:9] {
		if c.Text != unknown {
			t.Errorf("%d: %q", i, c.Text)
		}
	}
}

// TestCommandCanBePasted: a shell makes the same arguments of it.
func TestCommandCanBePasted(t *testing.T) {
	want := []string{"bin/watchbench", "run", "./a b.yaml", "--watcher-command", "python3 w.py {config} 'x' \"$HOME\"", "--set", "matrix.load=[light,heavy]", "--name="}
	for _, f := range arrange(&result.Results{Run: result.Run{Command: want}}).about().Table.Rows {
		if f[0].Text != "Command" {
			continue
		}
		out, err := exec.Command("sh", "-c", "set -- "+f[1].Text+`; printf '%s\n' "$@"`).CombinedOutput()
		if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s gives %q, %v", f[1].Text, got, err)
		}
	}
}

// TestCurve: a peak is kept, what cannot be drawn is not.
func TestCurve(t *testing.T) {
	var s result.Series
	for i := range 10_000 {
		s.T, s.V = append(s.T, float64(i)-30), append(s.V, 1)
	}
	s.V[6123] = 50
	points := curve(s)
	if len(points) > mostPoints || points[0][0] < -2 || !slices.Contains(points, [2]float64{6093, 50}) {
		t.Errorf("%d points from %v", len(points), points[0])
	}
}
