package runner

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// TestLooks: a run ends when its figure ranks all points, when another repetition would take more than the budget, and
// never before the third.
func TestLooks(t *testing.T) {
	far := map[string][]float64{"a": {1, 1.03, 1.02, 1.01}, "b": {5, 5.2, 5.1, 5.15}, "c": {9, 9.1, 9.4, 9.2}}
	near := map[string][]float64{"a": {1, 1.4, 0.8, 1.2}, "b": {1.1, 0.9, 1.3, 1.2}}
	hopeless := map[string][]float64{"a": {0, 0, 0, 0, 1, 1}, "b": {0, 0, 0, 0, 1, 1}}
	one := map[string][]float64{"a": {0, 0, 0, 1, 0, 0}, "b": {0, 0, 0, 0, 0, 0}}
	invalid := map[string][]float64{"a": {1, 0, 1.02, 1.01}, "b": {5, 5.2, 5.1, 5.15}, "c": {9, 9.1, 9.4, 9.2}} // 0: not valid
	for _, tc := range []struct {
		name    string
		figures map[string][]float64
		budget  time.Duration // 0: a pair
		want    string        // "repetitions end"
	}{
		{"far apart", far, time.Hour, "3 decided"},
		{"an invalid repetition is made up for", invalid, time.Hour, "4 decided"},
		{"too close", near, time.Hour, "4 "},
		{"out of time", near, 55 * time.Second, "2 time"},
		{"out of time at once", far, time.Second, "1 time"},
		{"two repetitions without a valid cell", hopeless, time.Hour, "2 invalid"},
		{"two blocks of a pair without a valid cell", hopeless, 0, "4 invalid"},
		{"one valid cell in two blocks", one, 0, "6 "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, most := spec.Scenario{Pair: "watcher"}, len(tc.figures["a"])
				if tc.budget > 0 {
					base = spec.Scenario{Decide: spec.Decide{Figure: "freshness.p99", Budget: spec.Duration(tc.budget)}}
				}
				l, res := newLooks(base, false), &result.Results{}
				var jobs []job
				for rep := 1; rep <= most; rep++ {
					for _, p := range slices.Sorted(maps.Keys(tc.figures)) {
						jobs = append(jobs, job{cell: spec.Cell{ID: p}, rep: rep})
					}
				}
				for _, j := range jobs {
					if end := l.before(j.rep, res); end != "" {
						if got := fmt.Sprint(j.rep-1, " ", end); got != tc.want || j.cell.ID != "a" {
							t.Errorf("%s, want %s", got, tc.want)
						}
						return
					}
					time.Sleep(10 * time.Second)
					v := tc.figures[j.cell.ID][j.rep-1]
					res.Cells = append(res.Cells, result.Cell{
						ID: fmt.Sprintf("%s-r%d", j.cell.ID, j.rep), Repetition: j.rep, Valid: v > 0, Params: map[string]string{"watcher.strategy": j.cell.ID},
						Freshness: &result.Quantiles{Count: 100, P99: v},
					})
				}
				end := ""
				if l.On() && l.known(res) {
					end = result.EndDecided
				}
				if got := fmt.Sprint(most, " ", end); got != tc.want {
					t.Errorf("%s, want %s", got, tc.want)
				}
			})
		})
	}
}

// TestDecidedIsWhole: what was planned beyond the last repetition is not missing.
func TestDecidedIsWhole(t *testing.T) {
	f := strategies(t, "matrix.load=light", "matrix.watcher.strategy=keyed,dedup", "repeatOnce=[]", "decide={figure: freshness.p99, budget: 1m}")
	r := &Runner{opts: Options{Scenario: f}, jobs: jobsOf(f), results: &result.Results{}}
	for _, j := range r.jobs {
		r.results.Run.Order = append(r.results.Run.Order, j.id)
	}
	r.decided(3, result.EndDecided)
	if d, order := r.results.Run.Decision, r.results.Run.Order; len(order) != 6 || d.Blocks != 3 || d.Figure != "freshness.p99" || slices.Contains(order, "keyed-light-r4") {
		t.Errorf("%v, %+v", order, d)
	}
}

// TestOnceMore: an invalid cell has one second try for each point, where no other repetition makes up for it.
func TestOnceMore(t *testing.T) {
	decides := strategies(t, "repeatOnce=[]", "decide={figure: freshness.p99, budget: 1m}").Base().Decide
	for _, tc := range []struct {
		name   string
		decide spec.Decide
		fault  *spec.Fault
		oneTry bool
		want   [3]bool // the point, the point again, one that is run once
	}{
		{name: "a fixed number of repetitions", want: [3]bool{true, false, true}},
		{name: "until it is decided", decide: decides, want: [3]bool{2: true}},
		{name: "a row of a fault matrix", fault: &spec.Fault{}},
		{name: "a search", oneTry: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLooks(spec.Scenario{Decide: tc.decide, Fault: tc.fault}, tc.oneTry)
			got := [3]bool{l.oncemore(spec.Cell{ID: "a"}), l.oncemore(spec.Cell{ID: "a"}), l.oncemore(spec.Cell{ID: "b", Once: true})}
			if got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
