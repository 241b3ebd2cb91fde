package spec

import (
	"fmt"
	"maps"
	"slices"
)

// checkNamed refuses a point of repeatOnce or only that is not among the axes, as written or
// as chosen: it would be repeated, or not be run, without a word.
func (f *File) checkNamed(axes []axis) error {
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
