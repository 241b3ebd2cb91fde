package reference

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// measured is a valid cell in the place of a row: writes per second for 10 s, requests of all
// kinds per second while busy, and how long that lasted.
func measured(watcher, row string, qps, all, busy float64) result.Cell {
	c := result.Cell{
		ID: watcher + "-" + row, Repetition: 1, Valid: true, Params: map[string]string{"watcher": watcher, "load": row},
		Load:    result.Load{QPS: qps, Done: int64(10 * qps), DurationS: 10},
		Writer:  result.Writer{FullSeconds: new(0.0)},
		Handler: result.Handler{Strategy: "partitioned", DrainSeconds: new(busy)},
		Storage: result.Storage{QPS: new(all / 3)},
		Events:  &result.Events{Lost: new(int64(0))},
		Series:  map[string]result.Series{result.SeriesQueueDepth: {V: []float64{0, 100, 0}}},
	}
	s := result.Series{}
	for at := 0.25; at < busy; at += 0.5 {
		s.T, s.V = append(s.T, at), append(s.V, all)
	}
	c.Series[result.SeriesStorageQPS] = s
	return c
}

// good is a run that has the published shape.
func good() *result.Results {
	return &result.Results{Run: result.Run{Scenario: Scenario}, Cells: []result.Cell{
		measured("before", "before-10", 117, 32, 100), measured("before", "before-20", 290, 33, 300), measured("before", "before-100", 500, 33, 500),
		measured("after", "after-20", 340, 190, 20), measured("after", "after-80", 500, 240, 30),
	}}
}

func ruleOf(t *testing.T, c *Comparison, watcher, word string) Rule {
	t.Helper()
	for _, r := range c.Rules {
		if r.Watcher == watcher && strings.Contains(r.Name, word) {
			return r
		}
	}
	t.Fatalf("no rule %q of %s", word, watcher)
	return Rule{}
}

// TestOtherBinary: cells that ran a command are the original's, not those of the profile.
func TestOtherBinary(t *testing.T) {
	res := good()
	res.Cells = append(res.Cells, measured("legacy-before", "before-20", 290, 33, 300))
	for want, command := range map[string][]string{Legacy: nil, Original: {"bcs-k8s-watch"}} {
		res.Cells[5].Watcher.Command = command
		c := Compare(res)
		for _, w := range []string{Legacy, Original} {
			if n := len(c.of(w, "")); (n == 1) != (w == want) || len(c.of(Ours, "")) != 5 {
				t.Errorf("%q: %d lines of %s, %d of ours", command, n, w, len(c.of(Ours, "")))
			}
		}
	}
}

// TestGood: a run of the published shape holds every rule that it can, and says which it cannot.
func TestGood(t *testing.T) {
	c := Compare(good())
	if len(c.Lines) != 5 || len(c.Factors) != 2 || len(c.Rules) != 5 {
		t.Fatalf("%d lines, %d factors, %d rules", len(c.Lines), len(c.Factors), len(c.Rules))
	}
	for _, tc := range []struct{ word, verdict, figures string }{
		{"after beats", Holds, "6.5 × the storage rate; published 6.1 ×, and 8.4 × over the drains alone: 20 to 20 threads 5.8 (published 5.6), 100 to 80 threads 7.3 (published 6.6)"},
		{"flat", Holds, "32.0 to 33.0 requests/s in 3 rows (flat: within ×1.25)"},
		{"grows with the load", Holds, "126.7 requests/s in 30 s at 340 writes/s, 240.0 at 500"},
		{"Writer queue", NotMeasured, "at most 100 of the 11264 events that the queues hold waited: the load was too low"},
		{"drain", Holds, "before 1170 writes 100.0 s, 2900 writes 300.0 s"},
	} {
		if r := ruleOf(t, c, Ours, tc.word); r.Verdict != tc.verdict || !strings.HasPrefix(r.Figures, tc.figures) {
			t.Errorf("%s: %s, %s; want %s, %s", r.Name, r.Verdict, r.Figures, tc.verdict, tc.figures)
		}
	}
	l := c.Lines[1]
	if v := l.Of("storage.qps"); *l.All() != 33 || v == nil || *v != 33 {
		t.Errorf("%s: all %v, windowed %v", l.Row.Label(), *l.All(), v)
	}
	// 20 s at 190 in a window of 60 s: nothing comes after a drain that was waited for.
	if v := c.Lines[3].Of("storage.qps"); v == nil || *v != 190.0*20/60 {
		t.Errorf("windowed %v", v)
	}
}

// TestBad: each rule fails on a run that breaks it, and is not measured where nothing can be
// said; what is not known is no pass.
func TestBad(t *testing.T) {
	at := func(res *result.Results, row string) *result.Cell {
		return &res.Cells[slices.IndexFunc(res.Cells, func(c result.Cell) bool { return c.Params["load"] == row })]
	}
	for _, tc := range []struct {
		name, word, want string
		change           func(*result.Results)
	}{
		{"after is no faster", "after beats", Fails, func(r *result.Results) {
			for _, row := range []string{"after-20", "after-80"} {
				*at(r, row) = measured("after", row, 400, 30, 100)
			}
		}},
		{"after is far too fast", "after beats", Fails, func(r *result.Results) {
			for _, row := range []string{"after-20", "after-80"} {
				*at(r, row) = measured("after", row, 400, 600, 20)
			}
		}},
		{"after is faster, but by too little", "after beats", Fails, func(r *result.Results) {
			for _, row := range []string{"after-20", "after-80"} {
				*at(r, row) = measured("after", row, 400, 145, 40)
			}
		}},
		{"one pair loses", "after beats", Fails, func(r *result.Results) {
			*at(r, "after-20") = measured("after", "after-20", 340, 32, 100)
			*at(r, "after-80") = measured("after", "after-80", 500, 1200, 20)
		}},
		{"loads that the machine kept apart", "after beats", NotMeasured, func(r *result.Results) {
			for _, row := range []string{"after-20", "after-80"} {
				c := at(r, row)
				c.Load.QPS /= 2
			}
		}},
		{"loads that are not known", "after beats", NotMeasured, func(r *result.Results) {
			for _, row := range []string{"after-20", "after-80"} {
				at(r, row).Load.QPS = 0
			}
		}},
		{"after is invalid", "after beats", NotMeasured, func(r *result.Results) { at(r, "after-20").Valid, at(r, "after-80").Valid = false, false }},
		{"no curve", "after beats", NotMeasured, func(r *result.Results) {
			delete(at(r, "after-20").Series, result.SeriesStorageQPS)
			delete(at(r, "after-80").Series, result.SeriesStorageQPS)
		}},
		{"cut before thirty seconds", "after beats", NotMeasured, func(r *result.Results) {
			for _, row := range []string{"after-20", "after-80"} {
				*at(r, row) = measured("after", row, 400, 200, 25)
				at(r, row).Cut, at(r, row).Handler.DrainProjected = true, true
			}
		}},
		{"before follows the load", "flat", Fails, func(r *result.Results) { *at(r, "before-100") = measured("before", "before-100", 500, 60, 300) }},
		{"one row before", "flat", NotMeasured, func(r *result.Results) { r.Cells = r.Cells[2:] }},
		{"after is flat", "grows with the load", Fails, func(r *result.Results) { *at(r, "after-80") = measured("after", "after-80", 500, 191, 21) }},
		{"the load was the same", "grows with the load", NotMeasured, func(r *result.Results) { *at(r, "after-80") = measured("after", "after-80", 350, 240, 30) }},
		{"full where it is not published", "Writer queue", Fails, func(r *result.Results) { at(r, "before-10").Writer.FullSeconds = new(2.0) }},
		{"full as published", "Writer queue", Holds, func(r *result.Results) { at(r, "before-100").Writer.FullSeconds = new(2.0) }},
		{"room used up, and never full", "Writer queue", Fails, func(r *result.Results) {
			at(r, "before-100").Series[result.SeriesQueueDepth] = result.Series{V: []float64{0, 12000}}
		}},
		{"not known", "Writer queue", NotMeasured, func(r *result.Results) {
			for i := range r.Cells {
				r.Cells[i].Writer.FullSeconds = nil
			}
		}},
		{"more drains sooner", "drain", Fails, func(r *result.Results) { at(r, "before-100").Handler.DrainSeconds = new(80.0) }},
		{"no drain", "drain", NotMeasured, func(r *result.Results) {
			for i := range r.Cells {
				r.Cells[i].Handler.DrainSeconds = nil
			}
		}},
	} {
		res := good()
		tc.change(res)
		if r := ruleOf(t, Compare(res), Ours, tc.word); r.Verdict != tc.want {
			t.Errorf("%s: %s %s: %s; want %s", tc.name, r.Name, r.Verdict, r.Figures, tc.want)
		}
	}
}

// TestLegacy: the profile is compared by itself, and its one queue stands for the Writer's.
func TestLegacy(t *testing.T) {
	res := good()
	for i := range res.Cells {
		c := &res.Cells[i]
		c.Params["watcher"] = "legacy-" + c.Params["watcher"]
		c.Writer.FullSeconds, c.Handler.Strategy, c.Handler.Capacity, c.Handler.MaxDepth = nil, Legacy, 11264, new(100.0)
	}
	if r := ruleOf(t, Compare(res), Legacy, "Writer queue"); r.Verdict != NotMeasured {
		t.Errorf("%+v", r)
	}
	res.Cells[2].Handler.MaxDepth = new(11264.0)
	if r := ruleOf(t, Compare(res), Legacy, "Writer queue"); r.Verdict != Holds {
		t.Errorf("%+v", r)
	}
	if c := Compare(res); len(c.of(Ours, "")) != 0 || len(c.Factors) != 2 || c.Factors[0].Watcher != Legacy {
		t.Errorf("%+v", c.Factors)
	}
}

// TestFactorWithin: how far the factor may be off is how far single published ones are from
// their middle, and no more. Figures that were measured have no part in it.
func TestFactorWithin(t *testing.T) {
	c := &Comparison{}
	for i := range Rows() {
		row := &Rows()[i]
		c.Lines = append(c.Lines, Line{Row: row, Watcher: Ours, valid: []*result.Cell{{Valid: true, Load: result.Load{QPS: row.QPS}}}})
	}
	low, high := math.Inf(1), 0.0
	for _, f := range c.factors(Ours) {
		low, high = min(low, f.Published), max(high, f.Published)
	}
	if half := math.Sqrt(high / low); FactorWithin < half || FactorWithin > 1.02*half {
		t.Errorf("published factors %.2f to %.2f are ×÷ %.3f about their middle; the rule allows ×÷ %v", low, high, half, FactorWithin)
	}
}

// TestOthers: other runs, and points that stand for no published row, are not compared.
func TestOthers(t *testing.T) {
	res := good()
	res.Run.Scenario = "strategies"
	if Compare(res) != nil {
		t.Error("a run of another scenario is compared")
	}
	res = good()
	for i := range res.Cells {
		res.Cells[i].Params["load"] = "before-40"
	}
	if Compare(res) != nil {
		t.Error("rows that were not published are compared")
	}
	res = good()
	res.Cells[0].Valid, res.Cells[0].InvalidReasons = false, []string{"storage was late"}
	if c := Compare(res); c.Lines[0].All() != nil || c.Lines[0].Why != "storage was late" {
		t.Errorf("an invalid cell has figures: %+v", c.Lines[0])
	}
}

// TestUnknownDepth: how many events waited is not 0 where it is not known.
func TestUnknownDepth(t *testing.T) {
	res := good()
	for i := range res.Cells {
		delete(res.Cells[i].Series, result.SeriesQueueDepth)
	}
	if r := ruleOf(t, Compare(res), Ours, "Writer queue"); r.Verdict != NotMeasured || strings.Contains(r.Figures, "0 of") {
		t.Errorf("%+v", r)
	}
}

// TestMedian: of several repetitions the valid ones' median is compared.
func TestMedian(t *testing.T) {
	res := good()
	for i, all := range []float64{30, 33, 48} {
		c := measured("before", "before-200", 900, all, 300)
		c.Repetition, c.Valid = i+1, i < 2
		res.Cells = append(res.Cells, c)
	}
	c := Compare(res)
	l := c.Lines[slices.IndexFunc(c.Lines, func(l Line) bool { return l.Row.Name() == "before-200" })]
	if len(l.valid) != 2 || *l.All() != 31.5 {
		t.Errorf("%d valid, %v", len(l.valid), *l.All())
	}
}
