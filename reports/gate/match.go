package gate

import (
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// point is one point of the matrix, with the cells of both runs: BASE and NEW of a gate, A and B of a comparison.
type point struct {
	id    string // of its cells in the first run that has it, without their repetition
	label string // its parameters in that run; empty where there is one point only
	// cells are those that count, by run and repetition: valid, and not cut. A run without any has an empty list.
	cells [2][]*result.Cell
	all   [2][]*result.Cell // valid or not

	paired bool
	blocks [][4]*result.Cell // of a paired run, those that are whole: base, new, new, base
	apart  int               // blocks that were not run in a row
}

func newPoint(g *result.Group) *point {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(g.Params)) {
		parts = append(parts, k+"="+g.Params[k])
	}
	return &point{id: g.Name, label: strings.Join(parts, ", ")}
}

// match returns the points of two runs in the order of the runs. Points are the same if all their parameters are.
// If the runs have one watcher each, points left over on both sides are matched without the watcher's parameters.
func match(base, now *result.Results) (points []*point) {
	ours, theirs, taken := base.Groups(), now.Groups(), map[*result.Group]bool{}
	alike := oneWatcher(base) && oneWatcher(now)
	for _, g := range ours {
		p := newPoint(g)
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
			p := newPoint(g)
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

func (p *point) add(run int, g *result.Group) {
	p.all[run] = g.Cells
	p.cells[run] = slices.DeleteFunc(g.Valid(), func(c *result.Cell) bool { return c.Cut })
}

func (p *point) cut(run int) (n int) {
	for _, c := range p.all[run] {
		if c.Valid && c.Cut {
			n++
		}
	}
	return n
}

// failing returns the core checks that a run fails at the point, allowed or not.
func (p *point) failing(run int) (names []string) {
	for _, g := range result.Core {
		if slices.ContainsFunc(p.all[run], func(c *result.Cell) bool { return c.Violates(g) }) {
			names = append(names, g)
		}
	}
	return names
}

// open reports whether the load is an open loop.
func (p *point) open() bool {
	return slices.ContainsFunc(p.all[0], func(c *result.Cell) bool { return c.Load.Model == result.ModelOpen })
}
