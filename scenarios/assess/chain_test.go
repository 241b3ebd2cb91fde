package assess

import (
	"testing"

	"github.com/watchbench/watchbench/reports/result"
)

// TestCapacityIsThatOfTheCalibration: what a cell says of its capacity is what its
// calibration's record gives, all of it, and only a calibration that may be believed
// gives one.
func TestCapacityIsThatOfTheCalibration(t *testing.T) {
	rate, share := 36.0, 0.8
	of := func(change func(cal, part *result.Cell)) []result.Cell {
		cells := []result.Cell{
			{ID: "cal", Valid: true, Checks: map[string]result.Check{}, Capacity: &result.Capacity{Cell: "cal", QPS: 45, AtLeast: true}},
			{ID: "part", Valid: true, Capacity: &result.Capacity{Cell: "cal", QPS: 45, AtLeast: true}, Load: result.Load{OfferedQPS: &rate, OfCapacity: &share}},
		}
		change(&cells[0], &cells[1])
		return cells
	}
	for name, change := range map[string]func(cal, part *result.Cell){
		"another figure":                      func(_, part *result.Cell) { part.Capacity.QPS = 999 },
		"no lower bound":                      func(_, part *result.Cell) { part.Capacity.AtLeast = false },
		"an invalid calibration":              func(cal, _ *result.Cell) { cal.Valid = false },
		"one that fails":                      func(cal, _ *result.Cell) { cal.Checks["G2"] = result.Check{Verdict: result.Fail, Violations: 1} },
		"a cell that measured nothing itself": func(cal, _ *result.Cell) { cal.Capacity.Cell = "other" },
	} {
		cells := of(change)
		capacities(cells)
		if cells[1].Valid {
			t.Errorf("%s: the part of it is valid", name)
		}
	}
}
