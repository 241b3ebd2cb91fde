package versus

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
)

// Point is one point of the matrix that several runs have.
type Point struct {
	// Name is the id of its cells in the first run, without their repetition.
	Name   string
	Params map[string]string // of the first run
	// Cells are those that count, by run and in the order of repetition: valid, and not cut.
	// A run without any has an empty list.
	Cells [][]*result.Cell
	Left  []int // by run: cells left out, because they are invalid or were cut
	Cut   []int // by run: those among them that are valid and were cut
	all   [][]*result.Cell
}

// Match finds the points that the first run has in common with others, in the first run's
// order. Points are the same when all their parameters are. Where that leaves some over on
// both sides, and each run has one watcher only, those are matched whose other parameters
// are the same. The second result says what could not be
// matched, and why.
func Match(runs ...*result.Results) (points []Point, left []string) {
	if len(runs) == 0 {
		return nil, nil
	}
	var sides []*side
	for _, res := range runs {
		sides = append(sides, newSide(res))
	}
	base := sides[0]
	for _, p := range base.points {
		point := Point{Name: p.name, Params: p.params}
		point.add(p)
		found := false
		for _, s := range sides[1:] {
			other := s.exact(p)
			if other == nil && base.oneWatcher && s.oneWatcher {
				other = s.but(p, base)
			}
			if other != nil {
				other.taken, found = true, true
			}
			point.add(other)
		}
		if p.taken = found; found {
			points = append(points, point)
		}
	}
	several := false
	for i, s := range sides {
		for _, p := range s.points {
			switch {
			case p.taken:
			case s == base:
				left = append(left, p.name+": in "+Name(0)+" only")
			default:
				left = append(left, fmt.Sprintf("%s: in %s, not in %s", p.name, Name(i), Name(0)))
				several = several || !s.oneWatcher || !base.oneWatcher
			}
		}
	}
	if several {
		left = append(left, oneWatcherEach)
	}
	return points, left
}

// oneWatcherEach is why points that could have been matched are left.
const oneWatcherEach = "points that differ in the watcher alone are matched only where each run has one watcher"

// add appends a run's cells; nil is a run that does not have the point.
func (p *Point) add(g *group) {
	var cells []*result.Cell
	left, cut := 0, 0
	if g == nil {
		g = &group{}
	}
	for _, c := range g.cells {
		switch {
		case !c.Valid:
			left++
		case c.Cut:
			left, cut = left+1, cut+1
		default:
			cells = append(cells, c)
		}
	}
	p.Cells, p.Left, p.Cut, p.all = append(p.Cells, cells), append(p.Left, left), append(p.Cut, cut), append(p.all, g.cells)
}

// All are a run's cells of the point, be they valid or not.
func (p *Point) All(run int) []*result.Cell { return p.all[run] }

// Has reports whether a run has cells of the point, be they valid or not.
func (p *Point) Has(run int) bool { return len(p.all[run]) > 0 }

// group are the cells of one point of one run.
type group struct {
	name   string
	params map[string]string
	cells  []*result.Cell
	taken  bool
}

// side is a run by its points.
type side struct {
	points []*group
	// oneWatcher is whether all cells have the same watcher under the same settings.
	oneWatcher bool
}

func newSide(res *result.Results) *side {
	s := &side{}
	byKey := map[string]*group{}
	watchers := map[string]bool{}
	for i := range res.Cells {
		c := &res.Cells[i]
		k := key(c.Params, false)
		g := byKey[k]
		if g == nil {
			g = &group{name: c.Point(), params: c.Params}
			byKey[k] = g
			s.points = append(s.points, g)
		}
		g.cells = append(g.cells, c)
		watchers[key(c.Params, true)+"\x00"+c.Watcher.Name+"\x00"+c.Handler.Strategy] = true
	}
	for _, g := range s.points {
		slices.SortStableFunc(g.cells, func(a, b *result.Cell) int { return cmp.Compare(a.Repetition, b.Repetition) })
	}
	s.oneWatcher = len(watchers) == 1
	return s
}

// exact is the point with the same parameters, nil if there is none.
func (s *side) exact(p *group) *group {
	i := slices.IndexFunc(s.points, func(g *group) bool { return maps.Equal(g.params, p.params) })
	if i < 0 {
		return nil
	}
	return s.points[i]
}

// but is the point that differs from p in the watcher alone, if neither has an exact
// partner on the other side.
func (s *side) but(p *group, of *side) *group {
	for _, g := range s.points {
		if of.exact(g) == nil && maps.Equal(without(g.params), without(p.params)) {
			return g
		}
	}
	return nil
}

// without are the parameters but for the watcher's.
func without(params map[string]string) map[string]string {
	rest := maps.Clone(params)
	maps.DeleteFunc(rest, func(k, _ string) bool { return result.OfWatcher(k) })
	if rest == nil {
		rest = map[string]string{}
	}
	return rest
}

// key is a text that is the same for the same parameters: all, or the watcher's alone.
func key(params map[string]string, watcher bool) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(params)) {
		if !watcher || result.OfWatcher(k) {
			fmt.Fprintf(&b, "%q=%q;", k, params[k])
		}
	}
	return b.String()
}
