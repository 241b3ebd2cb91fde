package matrix

import (
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestPair: a cell is held to the one of its run that differs in the fault alone; one that has none fails.
func TestPair(t *testing.T) {
	cell := func(point string, p99 float64, edit func(*result.Cell)) result.Cell {
		c := result.Cell{ID: point, Valid: true, Params: map[string]string{"readers": point}, Freshness: &result.Quantiles{P99: p99}}
		c.Robustness = &result.Robustness{Paired: 1.2, Columns: map[string]result.Column{"I": {Verdict: result.Pass, Value: "0.03 s"}}}
		if edit != nil {
			edit(&c)
		}
		return c
	}
	more := func(c *result.Cell) { c.Params["strategy"] = "keyed" }
	for _, tc := range []struct {
		name  string
		cells []result.Cell // the last is looked at
		want  string        // of the column's detail; empty: it passes
	}{
		{"as fresh", []result.Cell{cell("none", 0.1, nil), cell("faulty", 0.12, nil)}, ""},
		{"later", []result.Cell{cell("none", 0.1, nil), cell("faulty", 0.13, nil)}, "0.13 s, at most 0.12 (without: 0.1 s)"},
		{"the other was very fresh", []result.Cell{cell("none", 0.01, nil), cell("faulty", 0.06, nil)}, ""},
		{"later than what counts as fresh", []result.Cell{cell("none", 0.01, nil), cell("faulty", 0.061, nil)}, "at most 0.06"},
		{"alone", []result.Cell{cell("faulty", 0.01, nil)}, "no cell without the fault"},
		{"the other proves nothing", []result.Cell{cell("none", 0.1, func(c *result.Cell) { c.Valid = false }), cell("faulty", 0.01, nil)}, "no cell without"},
		{"the other is of another strategy", []result.Cell{
			cell("none", 0.1, func(c *result.Cell) { c.Params["strategy"] = "adaptive" }), cell("faulty", 0.01, more)}, "no cell without"},
		{"the other is of another repetition", []result.Cell{cell("none", 0.1, func(c *result.Cell) { c.Repetition = 2 }), cell("faulty", 0.01, nil)}, "no cell without"},
		{"the same strategy", []result.Cell{cell("none", 0.1, more), cell("faulty", 0.01, more)}, ""},
		{"nothing arrived", []result.Cell{cell("none", 0.1, nil), cell("faulty", 0, func(c *result.Cell) { c.Freshness = nil })}, "nothing arrived"},
		{"it fails anyway", []result.Cell{cell("none", 0.1, nil), cell("faulty", 0.13, func(c *result.Cell) {
			c.Robustness.Columns["I"] = result.Column{Verdict: result.Fail, Detail: "G8: late"}
		})}, "G8: late; "},
		{"nobody asks", []result.Cell{cell("none", 0.1, nil), cell("faulty", 9, func(c *result.Cell) { c.Robustness.Columns = nil })}, "-"},
		{"it is the one without", []result.Cell{cell("none", 9, nil)}, ""},
	} {
		res := &result.Results{Cells: tc.cells}
		before := len(tc.cells[len(tc.cells)-1].Robustness.Facts)
		for range 2 { // drawn up twice, it says the same
			all := Entries(history.CampaignRun{Cells: len(tc.cells)}, res)
			col := all[len(all)-1].Columns["I"]
			if tc.want == "-" && col == (result.Column{}) {
				continue
			}
			if (col.Verdict == result.Pass) != (tc.want == "") || !strings.Contains(col.Detail, tc.want) {
				t.Errorf("%s: %+v", tc.name, col)
			}
		}
		if n := len(tc.cells[len(tc.cells)-1].Robustness.Facts); n != before {
			t.Errorf("%s: the cell itself was changed", tc.name)
		}
	}
}
