package assess

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
)

// notRunCell has a reason and no figures.
func notRunCell(c *history.Cell) result.Cell {
	cell := refusedCell(c)
	cell.Handler.Workers = 0
	cell.Valid, cell.InvalidReasons = false, []string{c.NotRun}
	if of := c.Scenario.Load.OfCapacity; of > 0 {
		cell.Load.OfCapacity = new(float64(of))
	}
	return cell
}

// capacities holds the rates that cells were run at against the capacities of which they
// were to be a part, as their calibrations' records give them now.
func capacities(cells []result.Cell) {
	for i := range cells {
		c := &cells[i]
		if c.Load.OfCapacity == nil || c.Load.OfferedQPS == nil {
			continue
		}
		if why := ofCapacity(c, cells); why != "" {
			c.Valid, c.InvalidReasons = false, append(c.InvalidReasons, why)
		}
	}
}

// sameRate is how far two rates may differ that were rounded to six digits.
const sameRate = 1e-4

func ofCapacity(c *result.Cell, cells []result.Cell) string {
	if c.Capacity == nil {
		return "its load is a part of a capacity that the record does not have"
	}
	of := slices.IndexFunc(cells, func(o result.Cell) bool { return o.ID == c.Capacity.Cell })
	if of < 0 || cells[of].Capacity == nil {
		return fmt.Sprintf("its load is a part of the capacity of %s, which has measured none", c.Capacity.Cell)
	}
	cal := &cells[of]
	for _, g := range slices.Sorted(maps.Keys(cal.Checks)) {
		if cal.Checks[g].Verdict == result.Fail {
			return fmt.Sprintf("its load is a part of the capacity of %s, which fails %s", cal.ID, g)
		}
	}
	if !cal.Valid || cal.Capacity.Cell != cal.ID {
		return fmt.Sprintf("its load is a part of the capacity of %s, which is no valid calibration", cal.ID)
	}
	if *c.Capacity != *cal.Capacity {
		return fmt.Sprintf("it takes the capacity of %s for %+v; its record now gives %+v", cal.ID, *c.Capacity, *cal.Capacity)
	}
	want := *c.Load.OfCapacity * cal.Capacity.QPS
	if got := *c.Load.OfferedQPS; math.Abs(got-want) > sameRate*want {
		return fmt.Sprintf("%.2f writes/s were offered; %.0f%% of the capacity that %s measured are %.2f", got, 100**c.Load.OfCapacity, c.Capacity.Cell, want)
	}
	return ""
}
