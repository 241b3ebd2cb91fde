package versus

import (
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// Point is one point of the matrix, with the cells of each run.
type Point struct {
	Name   string            // the ids of its cells in the first run that has it, without their repetition
	Params map[string]string // of that run
	// Cells are those that count, by run and repetition: valid, and not cut. A run without any has an empty list.
	Cells [][]*result.Cell
	all   [][]*result.Cell
}

// Match returns the points of all runs in the order of the runs. Points are the same if all their parameters are.
// If two runs have one watcher each, points left over on both sides are matched without the watcher's parameters.
func Match(runs ...*result.Results) (points []Point) {
	groups, taken := make([][]*result.Group, len(runs)), map[*result.Group]bool{}
	for i, res := range runs {
		groups[i] = res.Groups()
	}
	for i := range runs {
		for _, g := range groups[i] {
			if taken[g] {
				continue
			}
			p := Point{Name: g.Name, Params: g.Params}
			for j := range runs {
				other := g
				switch {
				case j < i:
					other = nil
				case j > i:
					if other = exact(groups[j], g); other == nil && oneWatcher(runs[i]) && oneWatcher(runs[j]) {
						other = similar(groups[j], g, groups[i])
					}
				}
				if other == nil || taken[other] {
					other = &result.Group{}
				}
				taken[other] = true
				p.add(other.Cells)
			}
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

// exact is the point with the same parameters, nil if there is none.
func exact(groups []*result.Group, p *result.Group) *result.Group {
	return first(groups, func(g *result.Group) bool { return maps.Equal(g.Params, p.Params) })
}

// similar is the point that differs from p in the watcher alone, if none of p's run has its parameters.
func similar(groups []*result.Group, p *result.Group, run []*result.Group) *result.Group {
	return first(groups, func(g *result.Group) bool {
		return exact(run, g) == nil && maps.Equal(ofWatcher(g.Params, false), ofWatcher(p.Params, false))
	})
}

func first(groups []*result.Group, is func(*result.Group) bool) *result.Group {
	if i := slices.IndexFunc(groups, is); i >= 0 {
		return groups[i]
	}
	return nil
}

// ofWatcher returns the parameters that are the watcher's, or the others.
func ofWatcher(params map[string]string, watcher bool) map[string]string {
	some := map[string]string{}
	for k, v := range params {
		if result.OfWatcher(k) == watcher {
			some[k] = v
		}
	}
	return some
}

func (p *Point) add(cells []*result.Cell) {
	var count []*result.Cell
	for _, c := range cells {
		if c.Valid && !c.Cut {
			count = append(count, c)
		}
	}
	p.Cells, p.all = append(p.Cells, count), append(p.all, cells)
}

// All returns a run's cells of the point, valid or not.
func (p *Point) All(run int) []*result.Cell { return p.all[run] }

// Has reports whether a run has cells of the point, valid or not.
func (p *Point) Has(run int) bool { return len(p.all[run]) > 0 }

// cut counts a run's valid cells that were cut at the drain limit.
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
