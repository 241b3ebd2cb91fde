package versus

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

func trendRun(edit func(*result.Results)) *result.Results {
	res := &result.Results{Schema: result.Schema, Run: result.Run{Scenario: "s", Seed: 1}, Environment: result.Environment{Provider: "embedded", CPUs: 2},
		Scenario: map[string]any{"load": map[string]any{"threads": 4.0}, "watcher": map[string]any{"podQueueNum": 6.0}}}
	for i := range 3 {
		c := result.Cell{ID: "a-r" + string(rune('1'+i)), Repetition: i + 1, Valid: true, Params: map[string]string{"load": "a"}, Checks: map[string]result.Check{}}
		c.Storage.QPS = new(float64(100 + i))
		res.Cells = append(res.Cells, c)
	}
	if edit != nil {
		edit(res)
	}
	return res
}

// TestApart: what changes the machine or the question sets runs apart; what a line over runs
// is to show does not.
func TestApart(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*result.Results)
		want string
	}{
		"same":    {nil, ""},
		"seed":    {func(r *result.Results) { r.Run.Seed = 2 }, ""},
		"build":   {func(r *result.Results) { r.Environment.Commit = "abc" }, ""},
		"watcher": {func(r *result.Results) { r.Scenario["watcher"] = map[string]any{"podQueueNum": 12.0} }, ""},
		"machine": {func(r *result.Results) { r.Environment.CPUs = 4 }, "machine cpus 2 → 4"},
		"load":    {func(r *result.Results) { r.Scenario["load"] = map[string]any{"threads": 8.0} }, "scenario load.threads 4 → 8"},
		"resumed here": {func(r *result.Results) {
			r.Run.Resumed = []result.Resumption{{Environment: r.Environment, Cells: []result.Rerun{{ID: "a-r2"}}}}
			r.Cells[1].Resumed = 1
		}, ""},
		"resumed elsewhere": {func(r *result.Results) {
			there := r.Environment
			there.CPUs = 8
			r.Run.Resumed = []result.Resumption{{Environment: there, Cells: []result.Rerun{{ID: "a-r2"}}}}
			r.Cells[1].Resumed = 1
		}, "machine cpus 2 → 8"},
		"provider": {func(r *result.Results) { r.Environment.Provider = "kind" }, "control plane provider embedded → kind"},
	} {
		all, err := Apart(trendRun(nil), trendRun(tc.edit))
		var got []string
		for _, d := range all {
			got = append(got, d.Sentence())
		}
		if err != nil || strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
		a, errA := Line(trendRun(nil))
		b, errB := Line(trendRun(tc.edit))
		if errA != nil || errB != nil || (a == b) != (tc.want == "") {
			t.Errorf("%s: lines %q and %q, %v, %v", name, a, b, errA, errB)
		}
	}
}

func TestReadings(t *testing.T) {
	qps, err := result.MetricByName("storage.qps")
	if err != nil {
		t.Fatal(err)
	}
	read := func(edit func(*result.Results)) Reading {
		t.Helper()
		all := Readings(trendRun(edit), []result.Metric{qps})
		if len(all) != 1 || len(all[0].Sides) != 1 {
			t.Fatalf("%+v", all)
		}
		return all[0]
	}
	if r := read(nil); r.Why != "" || r.Sides[0].Value == nil || *r.Sides[0].Value != 101 || r.Sides[0].Low == nil || r.Point != "a" {
		t.Errorf("three valid cells: %+v", r)
	}
	if r := read(func(r *result.Results) { r.Cells[2].Valid = false }); r.Why != "" || *r.Sides[0].Value != 100.5 || r.Sides[0].Low != nil {
		t.Errorf("an invalid one is left out: %+v", r)
	}
	for why, edit := range map[string]func(*result.Cell){
		"invalid":  func(c *result.Cell) { c.Valid = false },
		"cut":      func(c *result.Cell) { c.Cut = true },
		"fails G1": func(c *result.Cell) { c.Checks["G1"] = result.Check{Verdict: result.Fail, Violations: 1, Judged: 9} },
	} {
		r := read(func(res *result.Results) {
			for i := range res.Cells {
				edit(&res.Cells[i])
			}
		})
		if r.Why != why || r.Sides[0].Value != nil {
			t.Errorf("%s: %+v", why, r)
		}
	}
	if r := read(func(r *result.Results) { r.Cells[0].Cut = true }); r.Why != "cut" || r.Sides[0].Value != nil {
		t.Errorf("a cut one: %+v", r)
	}
}
