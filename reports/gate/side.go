package gate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Axis is the one of the matrix that holds both sides of a paired run, and BaseSide and
// NewSide its points.
const (
	Axis     = "watcher"
	BaseSide = "base"
	NewSide  = "new"
)

// point is one combination of the matrix, with the cells of both sides.
type point struct {
	name      string // its parameters; empty where there is one only
	base, new group
	apart     map[int]bool // blocks of a paired run whose cells were not run in a row
}

// group is the cells of one side at one point, in the order of repetition.
type group struct {
	cells []*result.Cell
	rules *Rules
	apart map[int]bool // as the point's
}

// valid are the cells that may be measured: whole, valid, and within the rules' lag.
func (g group) valid() (all []*result.Cell) {
	for _, c := range g.cells {
		if g.counts(c) && !c.Cut {
			all = append(all, c)
		}
	}
	return all
}

// counts reports whether a cell is one that may be judged.
func (g group) counts(c *result.Cell) bool { return c.Valid && !g.lags(c) }

// lags reports whether an open loop was behind its plan by more than the rules allow, or
// nobody knows by how much.
func (g group) lags(c *result.Cell) bool {
	lag := c.Load.LagMs
	return slices.Contains(g.rules.Invariants, invLag) && c.Load.Model == "open" && (lag == nil || lag.P99 > float64(g.rules.Lag.Std().Milliseconds()))
}

// blocks are the cells of each block of a paired run: those of repetitions 2k−1 and 2k.
// A block that lacks a cell, or has one that does not count, has nil there; one whose cells
// were not run in a row has two.
func (g group) blocks() (all [][2]*result.Cell) {
	for _, c := range g.cells {
		k := (c.Repetition - 1) / 2
		if c.Repetition < 1 || k >= maxBlocks {
			continue
		}
		for len(all) <= k {
			all = append(all, [2]*result.Cell{})
		}
		if g.counts(c) && !c.Cut && !g.apart[k] {
			all[k][(c.Repetition-1)%2] = c
		}
	}
	return all
}

// maxBlocks bounds what a record may claim.
const maxBlocks = 10_000

// split divides one run into its points, each with both sides. The cells of one side only,
// or of another watcher, are in the second result.
func split(res *result.Results, rules *Rules) (points []*point, odd []string) {
	by := map[string]*point{}
	for i := range res.Cells {
		c := &res.Cells[i]
		side := c.Params[Axis]
		if side != BaseSide && side != NewSide {
			odd = append(odd, c.ID+" is of neither side: its "+Axis+" is "+cmp.Or(side, "not named"))
			continue
		}
		p := place(&points, by, c, nameOf(c, Axis), rules)
		if side == BaseSide {
			p.base.cells = append(p.base.cells, c)
		} else {
			p.new.cells = append(p.new.cells, c)
		}
	}
	at := map[string]int{}
	for i, id := range res.Run.Order {
		at[id] = i
	}
	for _, p := range arrange(points) {
		p.separate(at)
	}
	return points, odd
}

// separate finds the blocks that are none: a drift falls out only of four cells that were run
// one after the other, in one session, A B B A. at is each cell's place in the run's order.
func (p *point) separate(at map[string]int) {
	p.apart = map[int]bool{}
	blocks := map[int][]*result.Cell{}
	for _, c := range slices.Concat(p.base.cells, p.new.cells) {
		blocks[(c.Repetition-1)/2] = append(blocks[(c.Repetition-1)/2], c)
	}
	for k, cells := range blocks {
		if len(cells) != 4 {
			continue // not whole anyway
		}
		slices.SortFunc(cells, func(a, b *result.Cell) int { return cmp.Compare(at[a.ID], at[b.ID]) })
		for i, c := range cells {
			inner := i == 1 || i == 2
			if at[c.ID] != at[cells[0].ID]+i || c.Resumed != cells[0].Resumed || (c.Params[Axis] == cells[0].Params[Axis]) == inner {
				p.apart[k] = true
			}
		}
	}
	p.base.apart, p.new.apart = p.apart, p.apart
}

// join puts the points of two runs side by side.
func join(base, changed *result.Results, rules *Rules) []*point {
	var points []*point
	by := map[string]*point{}
	for i, res := range []*result.Results{base, changed} {
		for j := range res.Cells {
			c := &res.Cells[j]
			p := place(&points, by, c, nameOf(c, ""), rules)
			if i == 0 {
				p.base.cells = append(p.base.cells, c)
			} else {
				p.new.cells = append(p.new.cells, c)
			}
		}
	}
	return arrange(points)
}

// place is the point of that name, which a cell may be the first of.
func place(points *[]*point, by map[string]*point, c *result.Cell, name string, rules *Rules) *point {
	p := by[name]
	if p == nil {
		p = &point{name: name, base: group{rules: rules}, new: group{rules: rules}}
		by[name] = p
		*points = append(*points, p)
	}
	return p
}

func arrange(points []*point) []*point {
	for _, p := range points {
		for _, g := range []*group{&p.base, &p.new} {
			slices.SortStableFunc(g.cells, func(a, b *result.Cell) int { return cmp.Compare(a.Repetition, b.Repetition) })
		}
	}
	slices.SortFunc(points, func(a, b *point) int { return cmp.Compare(a.name, b.name) })
	return points
}

// nameOf is a cell's parameters but for one.
func nameOf(c *result.Cell, but string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(c.Params)) {
		if k != but {
			parts = append(parts, k+"="+c.Params[k])
		}
	}
	return strings.Join(parts, ", ")
}

// theirs reports whether some cell of the point is of a watcher that is not k8s-watch,
// which may not tell its own account.
func (p *point) theirs() bool {
	other := func(c *result.Cell) bool { return c.Handler.Strategy == result.External }
	return slices.ContainsFunc(p.base.cells, other) || slices.ContainsFunc(p.new.cells, other)
}
