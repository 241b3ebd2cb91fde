package render

import (
	"encoding/json"
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
	c := arrange(res).OverLoad()
	if c == nil {
		t.Fatal("no chart")
	}
	data, err := encode(c.Option)
	if err != nil {
		t.Fatal(err)
	}
	var option struct {
		Series []struct {
			Name string
			Data []struct {
				Value  [2]float64
				Symbol string
			}
		}
	}
	if err := json.Unmarshal(data, &option); err != nil {
		t.Fatal(err)
	}
	if len(option.Series) != 2 || len(c.Data.Rows) != 6 {
		t.Fatalf("%d lines, %d rows of the table; want 2 and 6", len(option.Series), len(c.Data.Rows))
	}
	for _, s := range option.Series {
		symbol := map[string]string{"keyed": "circle", "single": "emptyCircle"}[s.Name]
		for i, p := range s.Data {
			if p.Symbol != symbol {
				t.Errorf("%s at %v: %s, want %s", s.Name, p.Value, p.Symbol, symbol)
			}
			if i > 0 && p.Value[0] <= s.Data[i-1].Value[0] {
				t.Errorf("%s goes back from %v to %v", s.Name, s.Data[i-1].Value, p.Value)
			}
		}
	}

	// One of three repetitions fell behind, as the table of who keeps up has it.
	for rep := range 3 {
		again := openCell("dedup", 400, 1)
		again.ID, again.Repetition, again.Pace = fmt.Sprint("again", rep), rep+1, &result.Pace{KeepsUp: rep > 0, WrittenQPS: 400}
		res.Cells = append(res.Cells, again)
	}
	rows := arrange(res).OverLoad().Data.Rows
	if row := rows[slices.IndexFunc(rows, func(r []string) bool { return r[0] == "dedup" })]; row[len(row)-1] != "keeps up 2 of 3" {
		t.Errorf("of three repetitions, two of which kept up: %q", row)
	}

	res.Cells = res.Cells[:1]
	if c := arrange(res).OverLoad(); c != nil {
		t.Error("one rate makes a curve")
	}
	if c := arrange(fixture(t)).OverLoad(); c != nil {
		t.Error("a closed loop, which has no rate of its own, makes a curve")
	}
}
