package gate

import (
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// Point is one point of the matrix, with the cells of both runs.
type Point struct {
	Name   string            // the ids of its cells in the first run that has it, without their repetition
	Params map[string]string // of that run
	// Cells are those that count, by run and repetition: valid, and not cut. A run without any has an empty list.
	Cells [2][]*result.Cell
	all   [2][]*result.Cell
}

// Match returns the points of two runs in the order of the runs. Points are the same if all their parameters are.
// If the runs have one watcher each, points left over on both sides are matched without the watcher's parameters.
func Match(base, now *result.Results) (points []Point) {
	ours, theirs, taken := base.Groups(), now.Groups(), map[*result.Group]bool{}
	alike := oneWatcher(base) && oneWatcher(now)
	for _, g := range ours {
		p := Point{Name: g.Name, Params: g.Params}
		p.add(0, g)
		other := exact(theirs, g)
		if i := slices.IndexFunc(theirs, func(o *result.Group) bool {
			return exact(ours, o) == nil && maps.Equal(ofWatcher(o.Params, false), ofWatcher(g.Params, false))
		}); other == nil && alike && i >= 0 {
			other = theirs[i]
		}
		if other != nil && !taken[other] {
			taken[other] = true
			p.add(1, other)
		}
		points = append(points, p)
	}
	for _, g := range theirs {
		if !taken[g] {
			p := Point{Name: g.Name, Params: g.Params}
			p.add(1, g)
			points = append(points, p)
		}
	}
	return points
}

// oneWatcher reports whether all cells have the same watcher under the same settings.
func oneWatcher(res *result.Results) bool {
	return !slices.ContainsFunc(res.Cells, func(c result.Cell) bool {
		first := &res.Cells[0]
		return c.Watcher.Name != first.Watcher.Name || c.Handler.Strategy != first.Handler.Strategy ||
			!maps.Equal(ofWatcher(c.Params, true), ofWatcher(first.Params, true))
	})
}

func exact(groups []*result.Group, p *result.Group) *result.Group {
	if i := slices.IndexFunc(groups, func(g *result.Group) bool { return maps.Equal(g.Params, p.Params) }); i >= 0 {
		return groups[i]
	}
	return nil
}

func ofWatcher(params map[string]string, watcher bool) map[string]string {
	some := maps.Clone(params)
	maps.DeleteFunc(some, func(k, _ string) bool { return result.OfWatcher(k) != watcher })
	return some
}

func (p *Point) add(run int, g *result.Group) {
	p.all[run] = g.Cells
	p.Cells[run] = slices.DeleteFunc(g.Valid(), func(c *result.Cell) bool { return c.Cut })
}

// All returns a run's cells of the point, valid or not.
func (p *Point) All(run int) []*result.Cell { return p.all[run] }

// Has reports whether a run has cells of the point, valid or not.
func (p *Point) Has(run int) bool { return len(p.all[run]) > 0 }

func (p *Point) cut(run int) (n int) {
	for _, c := range p.all[run] {
		if c.Valid && c.Cut {
			n++
		}
	}
	return n
}

// failing returns the core checks that a run fails at the point, allowed or not.
func (p *Point) failing(run int) (names []string) {
	for _, g := range result.Core {
		if slices.ContainsFunc(p.all[run], func(c *result.Cell) bool { return c.Violates(g) }) {
			names = append(names, g)
		}
	}
	return names
}

// open reports whether the load is an open loop.
func (p *Point) open() bool {
	return slices.ContainsFunc(p.all[0], func(c *result.Cell) bool { return c.Load.Model == result.ModelOpen })
}
