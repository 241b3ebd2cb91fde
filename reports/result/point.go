package result

import (
	"strconv"
	"strings"
)

// repetitionMark comes between a point and the number of the repetition in a cell's id. A run
// without repetitions has ids without it.
const repetitionMark = "-r"

// Point is the cell's id without its repetition, the same for all repetitions.
func (c *Cell) Point() string {
	return strings.TrimSuffix(c.ID, repetitionMark+strconv.Itoa(c.Repetition))
}

// PointOf is the same for an id of which there is no cell, such as one that was not run. It
// cannot tell a point whose own name ends like a repetition from one: of a cell, use Point.
func PointOf(id string) string {
	i := strings.LastIndex(id, repetitionMark)
	if i <= 0 {
		return id
	}
	if n, err := strconv.ParseUint(id[i+len(repetitionMark):], 10, 32); err != nil || n == 0 {
		return id
	}
	return id[:i]
}
