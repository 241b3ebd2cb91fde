package assess

import (
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// asRecorded is what now is compared as: a file of before checks had evidence lacks nothing
// that a verdict depends on.
func asRecorded(recorded, now *result.Results) *result.Results {
	has := func(c result.Cell) bool {
		for _, x := range c.Checks {
			if len(x.Evidence) > 0 {
				return true
			}
		}
		return false
	}
	if recorded == nil || slices.ContainsFunc(recorded.Cells, has) {
		return now
	}
	like := *now
	like.Cells = slices.Clone(now.Cells)
	for i := range like.Cells {
		c := &like.Cells[i]
		c.Checks = maps.Clone(c.Checks)
		for g, x := range c.Checks {
			x.Evidence = nil
			c.Checks[g] = x
		}
	}
	return &like
}
