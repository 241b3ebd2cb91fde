package render

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

func TestSkewHeat(t *testing.T) {
	cell := func(id, strategy string, queues map[string]float64) result.Cell {
		c := drained(1)
		c.ID, c.Params, c.Queues = id, map[string]string{result.ParamStrategy: strategy, result.ParamLoad: "l"}, queues
		return c
	}
	invalid := cell("d", "dedup", map[string]float64{"Pod_0": 1, "Pod_1": 1})
	invalid.Valid, invalid.InvalidReasons = false, []string{"late"}
	res := &result.Results{Schema: result.Schema, Run: result.Run{ID: "r"}, Cells: []result.Cell{
		cell("a", "partitioned", map[string]float64{"Pod_0": 30, "Pod_2": 0, "Pod_10": 0}),
		cell("b", "adaptive", map[string]float64{"Pod_0": 5, "Pod_2": 15}),
		cell("c", "keyed", map[string]float64{"Pod": 9}), invalid,
	}}
	c := skewHeat("x", arrange(res))
	if c == nil {
		t.Fatal("no chart")
	}
	if want := []string{"", "Pod_0", "Pod_2", "Pod_10"}; !slices.Equal(c.Data.Head, want) {
		t.Errorf("columns %q, want %q", c.Data.Head, want)
	}
	if len(c.Data.Rows) != 2 {
		t.Fatalf("rows %q, want those with more than one queue", c.Data.Rows)
	}
	lines := map[string][]string{}
	for _, r := range c.Data.Rows {
		lines[r[0]] = r[1:]
	}
	if got, want := lines["partitioned l"], []string{"3.00", "0.00", "0.00"}; !slices.Equal(got, want) {
		t.Errorf("partitioned %q, want %q", got, want)
	}
	if got, want := lines["adaptive l"], []string{"0.50", "1.50", unknown}; !slices.Equal(got, want) {
		t.Errorf("adaptive %q, want %q", got, want)
	}
	data, err := encode(c.Option)
	if err != nil {
		t.Fatal(err)
	}
	var option struct {
		VisualMap []struct{ Min, Max float64 }
		Series    []struct{ Data []struct{ Value [3]float64 } }
	}
	if err := json.Unmarshal(data, &option); err != nil {
		t.Fatal(err)
	}
	if len(option.Series[0].Data) != 5 {
		t.Errorf("%d fields, want 5: an idle queue is known, a queue that is not there is not", len(option.Series[0].Data))
	}
	if m := option.VisualMap[0]; m.Min != 0 || m.Max != 3 {
		t.Errorf("colours from %v to %v, want 0 to 3", m.Min, m.Max)
	}
}
