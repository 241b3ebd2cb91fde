package gate

import (
	"maps"

	"github.com/watchbench/watchbench/reports/result"
)

// Side is one side of a paired run as a run of its own, or with side "" a whole run; without
// what the sides are called, so that a tool that goes by names, such as benchstat, holds
// them against each other.
func Side(res *result.Results, side string) *result.Results {
	one := *res
	one.Cells = nil
	for _, c := range res.Cells {
		if side != "" && c.Params[Axis] != side {
			continue
		}
		if side != "" {
			c.Params = maps.Clone(c.Params)
			delete(c.Params, Axis)
		}
		c.Watcher.Name, c.Watcher.Command = "", nil
		one.Cells = append(one.Cells, c)
	}
	return &one
}
