package render

import (
	"fmt"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

func openCell(strategy string, rate float64, p99 float64) result.Cell {
	c := drained(1)
	load := fmt.Sprintf("%v/s", rate)
	c.ID, c.Params = strategy+load, map[string]string{result.ParamStrategy: strategy, result.ParamLoad: load}
	c.Load.Model, c.Load.PlannedQPS, c.Load.QPS, c.Load.DurationS = result.ModelOpen, new(rate), rate, 10
	c.Freshness = &result.Quantiles{Count: 1000, P50: p99 / 2, P90: p99, P99: p99, Max: p99}
	c.Freshness = freshness(p99, 1000)
	return c
}

func TestFreshnessAgainstOpenLoads(t *testing.T) {
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}}
	for _, s := range []string{"keyed", "single"} {
		for _, rate := range []float64{400, 100, 200} {
			c := openCell(s, rate, rate/100)
			c.Pace = &result.Pace{KeepsUp: s == "keyed", WrittenQPS: rate}
			res.Cells = append(res.Cells, c)
		}
	}
	invalid := openCell("keyed", 800, 1)
	invalid.Valid, invalid.InvalidReasons = false, []string{"late"}
	res.Cells = append(res.Cells, invalid)
	s := arrange(res).overLoad()
	if len(s.Plots) != 1 || len(s.Plots[0].Lines) != 2 || len(s.Plots[0].figures().Rows) != 3 {
		t.Fatalf("%+v", s)
	}
	for _, l := range s.Plots[0].Lines {
		if !slices.Equal(l.Hollow, slices.Repeat([]bool{l.Name == "single"}, 3)) || l.Points[0][0] != 100 || l.Points[2][0] != 400 {
			t.Errorf("%+v, want three rising rates, hollow where storage fell behind", l)
		}
	}
}
