package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// checkReferred refuses a point of repeatOnce or only that is not among the axes, as written or
// as chosen: it would be repeated, or not be run, without a word.
func (f *File) checkReferred(axes []axis) error {
	s, d, err := f.decode(f.merged(nil))
	if err != nil {
		return err
	}
	f.only = s.Only
	if err := checkPointsOf("repeatOnce", s.RepeatOnce, axes); err != nil {
		return d.Locate(err)
	}
	if err := checkPointsOf("only", s.Only, axes); err != nil {
		return d.Locate(err)
	}
	return nil
}

func checkPointsOf(field string, points []map[string]string, axes []axis) error {
	for i, point := range points {
		path := fmt.Sprintf("%s[%d]", field, i)
		if len(point) == 0 {
			return bad(path, "write for example {watcher.strategy: single}", "a point without an axis")
		}
		for _, name := range slices.Sorted(maps.Keys(point)) {
			var labels []string
			for _, a := range axes {
				for _, p := range a.points {
					if a.path == name && !slices.Contains(labels, p.label) {
						labels = append(labels, p.label)
					}
				}
			}
			if len(labels) == 0 {
				return bad(path, "name axes of the matrix", "%s is no axis of the matrix", name)
			}
			if !slices.Contains(labels, point[name]) {
				return bad(path, oneOf(labels), "%s has no point %q", name, point[name])
			}
		}
	}
	return nil
}

// checkPair refuses a pair that is no axis of two points, and what would break its blocks.
func (f *File) checkPair() error {
	s, d, err := f.decode(f.merged(nil))
	if err != nil || s.Pair == "" {
		return err
	}
	i := slices.IndexFunc(f.axes, func(a axis) bool { return a.path == s.Pair })
	var names []string
	for _, a := range f.axes {
		names = append(names, a.path)
	}
	switch {
	case len(names) == 0:
		err = bad("pair", "add matrix: {watcher: {base: {…}, new: {…}}} and pair: watcher", "the scenario has no matrix")
	case i < 0:
		err = bad("pair", oneOf(names), "%s is no axis of the matrix", s.Pair)
	case len(f.axes[i].points) != 2:
		err = bad("pair", "keep two, or drop pair", "a pair has two points, the axis %s has %d", s.Pair,
			len(f.axes[i].points))
	case s.Repeat%2 != 0:
		err = bad("repeat", fmt.Sprintf("use %d, so that the blocks A B B A are whole", s.Repeat+1),
			"%d is odd, and the axis %s is a pair", s.Repeat, s.Pair)
	case len(s.RepeatOnce) > 0:
		err = bad("repeatOnce", "drop it, or pair", "a point that is run once has no block A B B A")
	case s.Ladder:
		err = bad("pair", "drop it, or ladder", "the rungs of a ladder are run in the order in which they are written")
	}
	return d.Locate(err)
}

// checkSides refuses points of which only leaves one side of the pair.
func (f *File) checkSides() error {
	if len(f.only) == 0 || f.base.Pair == "" {
		return nil
	}
	side := func(p Param) bool { return p.Name == f.base.Pair }
	for _, c := range f.cells {
		others := slices.DeleteFunc(slices.Clone(c.Params), side)
		if !slices.ContainsFunc(f.cells, func(o Cell) bool {
			return o.ID != c.ID && slices.Equal(slices.DeleteFunc(slices.Clone(o.Params), side), others)
		}) {
			_, d, err := f.decode(f.merged(nil))
			return cmp.Or(err, d.Locate(bad("only", "name both points, or drop pair", "of the pair %s, %s has no other side",
				f.base.Pair, c.ID)))
		}
	}
	return nil
}

// among reports whether the cell is at one of the points.
func (c *Cell) among(points []map[string]string) bool {
	return slices.ContainsFunc(points, func(point map[string]string) bool {
		for name, value := range point {
			if !slices.Contains(c.Params, Param{name, value}) {
				return false
			}
		}
		return len(point) > 0
	})
}
