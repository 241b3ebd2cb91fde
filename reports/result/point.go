package result

import (
	"cmp"
	"fmt"
	"slices"
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

// PointOf is the same for an id without a cell, such as one that was not run. It mistakes a
// point whose own name ends like a repetition for one: for a cell, use Point.
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

// Group is one point of a run's matrix.
type Group struct {
	Name   string // the ids of its cells, without their repetition
	Params map[string]string
	Cells  []*Cell // by repetition
}

// Groups returns the run's points in the order of its cells: those with the same parameters are one.
func (r *Results) Groups() (all []*Group) {
	byKey := map[string]*Group{}
	for i := range r.Cells {
		c := &r.Cells[i]
		key := fmt.Sprintf("%q", c.Params) // in the order of names
		if byKey[key] == nil {
			byKey[key] = &Group{Name: c.Point(), Params: c.Params}
			all = append(all, byKey[key])
		}
		byKey[key].Cells = append(byKey[key].Cells, c)
	}
	for _, g := range all {
		slices.SortStableFunc(g.Cells, func(a, b *Cell) int { return cmp.Compare(a.Repetition, b.Repetition) })
	}
	return all
}
