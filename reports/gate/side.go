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
	paired    bool
	blocks    [][4]*result.Cell // of a paired run, those that are whole: base, new, new, base
	apart     int               // blocks that were not run in a row
}

// group is the cells of one side at one point, in the order of repetition.
type group struct {
	cells []*result.Cell
	rules *Rules
}

// valid are the cells that may be measured: whole, valid, and within the rules' lag.
func (g group) valid() (all []*result.Cell) {
	for _, c := range g.cells {
		if g.measures(c) {
			all = append(all, c)
		}
	}
	return all
}

// measures reports whether a cell has figures that may be judged.
func (g group) measures(c *result.Cell) bool { return g.counts(c) && !c.Cut }

// counts reports whether a cell is one that may be judged.
func (g group) counts(c *result.Cell) bool { return c.Valid && !g.lags(c) }

// lags reports whether an open loop was behind its plan by more than the rules allow, or
// nobody knows by how much.
func (g group) lags(c *result.Cell) bool {
	lag := c.Load.LagMs
	return slices.Contains(g.rules.Invariants, invLag) && c.Load.Model == "open" && (lag == nil || lag.P99 > float64(g.rules.Lag.Std().Milliseconds()))
}

// split divides one run into its points, each with both sides. The cells of one side only,
// or of another watcher, are in the second result.
func split(res *result.Results, rules *Rules) (points []*point, odd []string) {
	var sides [2][]*result.Cell
	for i := range res.Cells {
		c := &res.Cells[i]
		switch side := c.Params[Axis]; side {
		case BaseSide:
			sides[0] = append(sides[0], c)
		case NewSide:
			sides[1] = append(sides[1], c)
		default:
			odd = append(odd, c.ID+" is of neither side: its "+Axis+" is "+cmp.Or(side, "not named"))
		}
	}
	at := map[string]int{}
	for i, id := range res.Run.Order {
		at[id] = i
	}
	points = gather(rules, Axis, sides)
	for _, p := range points {
		p.arrange(at)
	}
	return points, odd
}

// arrange finds the blocks: a drift falls out only of four cells that were run one after the
// other, in one session, A B B A. at is each cell's place in the run's order.
func (p *point) arrange(at map[string]int) {
	p.paired = true
	blocks := map[int][]*result.Cell{}
	for _, c := range slices.Concat(p.base.cells, p.new.cells) {
		blocks[(c.Repetition-1)/2] = append(blocks[(c.Repetition-1)/2], c)
	}
	for _, k := range slices.Sorted(maps.Keys(blocks)) {
		cells := blocks[k]
		if len(cells) != 4 {
			continue
		}
		block := [4]*result.Cell{cells[0], cells[2], cells[3], cells[1]} // each side's are in order of repetition
		slices.SortFunc(cells, func(a, b *result.Cell) int { return cmp.Compare(at[a.ID], at[b.ID]) })
		row, whole := true, true
		for i, c := range cells {
			inner := i == 1 || i == 2
			row = row && at[c.ID] == at[cells[0].ID]+i && c.Resumed == cells[0].Resumed && (c.Params[Axis] == cells[0].Params[Axis]) != inner
			whole = whole && p.base.measures(c)
		}
		switch {
		case !row:
			p.apart++
		case whole:
			p.blocks = append(p.blocks, block)
		}
	}
}

// join puts the points of two runs side by side.
func join(base, changed *result.Results, rules *Rules) []*point {
	var sides [2][]*result.Cell
	for i, res := range []*result.Results{base, changed} {
		for j := range res.Cells {
			sides[i] = append(sides[i], &res.Cells[j])
		}
	}
	return gather(rules, "", sides)
}

// gather finds the points of both sides' cells, by their parameters but for one.
func gather(rules *Rules, but string, sides [2][]*result.Cell) []*point {
	by := map[string]*point{}
	for i, cells := range sides {
		slices.SortStableFunc(cells, func(a, b *result.Cell) int { return cmp.Compare(a.Repetition, b.Repetition) })
		for _, c := range cells {
			var parts []string
			for _, k := range slices.Sorted(maps.Keys(c.Params)) {
				if k != but {
					parts = append(parts, k+"="+c.Params[k])
				}
			}
			name := strings.Join(parts, ", ")
			if by[name] == nil {
				by[name] = &point{name: name, base: group{rules: rules}, new: group{rules: rules}}
			}
			g := []*group{&by[name].base, &by[name].new}[i]
			g.cells = append(g.cells, c)
		}
	}
	return slices.SortedFunc(maps.Values(by), func(a, b *point) int { return cmp.Compare(a.name, b.name) })
}

// theirs reports whether some cell of the point is of a watcher that is not k8s-watch,
// which may not tell its own account.
func (p *point) theirs() bool {
	other := func(c *result.Cell) bool { return c.Handler.Strategy == result.External }
	return slices.ContainsFunc(p.base.cells, other) || slices.ContainsFunc(p.new.cells, other)
}
