package render

import (
	"fmt"
	"path"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// floorProgram is the relay that moves the bytes and does nothing else.
const floorProgram = "watchfloor"

// isFloor reports whether the cell's watcher is the relay.
func isFloor(c *result.Cell) bool {
	return len(c.Watcher.Command) > 0 && path.Base(c.Watcher.Command[0]) == floorProgram
}

func (r *row) isFloor() bool { return slices.ContainsFunc(r.cells, isFloor) }

// floor says what the relay is, where it ran.
func (t *table) floor() string {
	if !t.any(isFloor) {
		return ""
	}
	return "The floor is a relay without store, order or judgement: what moving the same bytes costs on this machine. Its own checks say nothing about a watcher, and it is left out of comparisons of speed."
}

var cpuPerRequest = medianOf(func(c *result.Cell) *float64 { return c.Watcher.CPUMicrosPerReq })

// Floors compare, under each load, the CPU that a request costs a watcher with what it
// costs the relay. A row that may not be compared, or was cut, has none.
func (t *table) Floors() (lines []string) {
	for _, c := range t.contests() {
		rows := slices.DeleteFunc(c.rows, func(r *row) bool {
			return len(r.valid) == 0 || r.cut() || cpuPerRequest(r).number == nil || !r.isFloor() && !r.correct()
		})
		i := slices.IndexFunc(rows, (*row).isFloor)
		if i < 0 {
			continue
		}
		floor := *cpuPerRequest(rows[i]).number
		for _, r := range rows {
			if !r.isFloor() && floor > 0 {
				cpu := *cpuPerRequest(r).number
				lines = append(lines, fmt.Sprintf("%s: a request costs %s %.0f µs of CPU = %.1f × floor (%.0f µs).", clean(c.name), r.label(), cpu, cpu/floor, floor))
			}
		}
	}
	return lines
}
