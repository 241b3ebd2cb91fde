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
	params    map[string]string
	base, new group
}

// at reports whether a rule with this condition, such as load=heavy, is about the point:
// if it has that parameter, or none has.
func (p *point) at(condition string, all []*point) bool {
	if condition == "" {
		return true
	}
	has := func(p *point) bool {
		k, v, _ := strings.Cut(condition, "=")
		return p.params[k] == v
	}
	return has(p) || !slices.ContainsFunc(all, has)
}

// group is the cells of one side at one point, in the order of repetition.
type group struct {
	cells []*result.Cell
	rules *Rules
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

// lags reports whether an open loop was behind its plan by more than the rules allow.
func (g group) lags(c *result.Cell) bool {
	lag := c.Load.LagMs
	return slices.Contains(g.rules.Invariants, invLag) && c.Load.Model == "open" && lag != nil && lag.P99 > float64(g.rules.Lag.Std().Milliseconds())
}

// blocks are the cells of each block of a paired run: those of repetitions 2k−1 and 2k.
// A block that lacks a cell, or has one that does not count, is nil.
func (g group) blocks() (all [][2]*result.Cell) {
	for _, c := range g.cells {
		k := (c.Repetition - 1) / 2
		if c.Repetition < 1 || k >= maxBlocks {
			continue
		}
		for len(all) <= k {
			all = append(all, [2]*result.Cell{})
		}
		if g.counts(c) && !c.Cut {
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
		if c.Calibrates {
			continue
		}
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
	return arrange(points), odd
}

// join puts the points of two runs side by side.
func join(base, changed *result.Results, rules *Rules) []*point {
	var points []*point
	by := map[string]*point{}
	for i, res := range []*result.Results{base, changed} {
		for j := range res.Cells {
			c := &res.Cells[j]
			if c.Calibrates {
				continue
			}
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
		p = &point{name: name, params: c.Params, base: group{rules: rules}, new: group{rules: rules}}
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

// stem is a cell's id without its repetition.
func stem(id string) string {
	if i := strings.LastIndex(id, "-r"); i > 0 {
		return id[:i]
	}
	return id
}
