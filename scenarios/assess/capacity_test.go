package assess

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/assess/assesstest"
	"github.com/watchbench/watchbench/scenarios/history"
)

// TestRatesFollowFromCalibrations: a rate that is not the part of what the calibration's
// record gives now is named, so that a chain of figures cannot be changed in its middle.
func TestRatesFollowFromCalibrations(t *testing.T) {
	const measured = 45.0
	for _, tc := range []struct {
		name     string
		rate     float64
		capacity *result.Capacity
		want     string
	}{
		{"as measured", 36, &result.Capacity{Cell: "cal", QPS: measured}, ""},
		{"another rate", 40, &result.Capacity{Cell: "cal", QPS: measured}, "40.00 writes/s were offered; 80% of the capacity that cal measured are 36.00"},
		{"another calibration", 36, &result.Capacity{Cell: "lac", QPS: measured}, "its load is a part of the capacity of lac, which has measured none"},
		{"no capacity", 36, nil, "its load is a part of a capacity that the record does not have"},
	} {
		cells := []result.Cell{
			{ID: "cal", Valid: true, Capacity: &result.Capacity{Cell: "cal", QPS: measured}},
			{ID: "part", Valid: true, Capacity: tc.capacity, Load: result.Load{OfferedQPS: &tc.rate, OfCapacity: new(0.8)}},
		}
		capacities(cells)
		got := strings.Join(cells[1].InvalidReasons, "; ")
		if got != tc.want || cells[1].Valid != (tc.want == "") || !cells[0].Valid {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestCapacityFromTheRecord: the capacity of a calibration comes from its logs, whoever
// reads them.
func TestCapacityFromTheRecord(t *testing.T) {
	dir := t.TempDir()
	assesstest.Run(t, dir, assesstest.Scenario(t, "plain", ""), 30, nil)
	path := history.CellDir(dir, "only")
	c, err := history.LoadCell(path)
	must(t, err)
	c.Calibrates = true
	must(t, history.SaveJSON(path, history.FileCell, c))
	checked, err := Check(t.Context(), dir)
	must(t, err)
	// Nine of ten writes are of Pods, 100/s in all; storage has each after 30 ms.
	got := checked.Results.Cells[0].Capacity
	if got == nil || got.QPS < 85 || got.QPS > 95 || got.Cell != "only" || !got.AtLeast {
		t.Errorf("%s: %+v", filepath.Base(dir), got)
	}
}
