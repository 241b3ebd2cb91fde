package result

import "testing"

// A cell with readers is compared with the cell of its plan and repetition that has none.
func TestCompareReaders(t *testing.T) {
	cell := func(point, load string, rep int, p99 float64, readers bool) Cell {
		c := Cell{ID: point + load, Params: map[string]string{"readers": point, "load": load}, Repetition: rep, Valid: true, Freshness: &Quantiles{P99: p99}}
		if readers {
			c.Readers = &Readers{}
		}
		return c
	}
	r := Results{Cells: []Cell{
		cell("none", "light", 1, 2, false), cell("none", "light", 2, 4, false), cell("none", "heavy", 1, 10, false),
		cell("storm", "light", 1, 3, true), cell("storm", "light", 2, 3, true), cell("storm", "heavy", 1, 11, true), cell("storm", "other", 1, 11, true),
	}}
	r.Cells[0].Params["readers"] = "none"
	r.CompareReaders()
	for i, want := range map[int]float64{3: 1.5, 4: 0.75, 5: 1.1} {
		x := r.Cells[i].Readers
		if x.FreshnessRatio == nil || *x.FreshnessRatio != want {
			t.Errorf("cell %d: %+v, want %v", i, x, want)
		}
	}
	if x := r.Cells[6].Readers; x.FreshnessRatio != nil {
		t.Errorf("compared with another plan: %v", *x.FreshnessRatio)
	}
	r.Cells[0].Valid = false
	r.Cells[1].Cut = true
	r.Cells = append(r.Cells, cell("none", "heavy", 1, 5, false))
	r.CompareReaders()
	for i := 3; i < 6; i++ {
		if x := r.Cells[i].Readers.FreshnessRatio; x != nil {
			t.Errorf("cell %d was compared with one that is invalid, cut, or not alone: %v", i, *x)
		}
	}
}
