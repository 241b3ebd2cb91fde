package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// checkSequence refuses points of repeatOnce and only that no axis has, and a pair without two sides.
func (f *File) checkSequence(axes []axis) error {
	s, d, err := f.decode(f.merged(nil))
	if err != nil {
		return err
	}
	f.only = s.Only
	return d.Locate(cmp.Or(checkPointsOf("repeatOnce", s.RepeatOnce, axes), checkPointsOf("only", s.Only, axes),
		f.checkPair(&s)))
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
				return bad(path, "name axes of the matrix", "the matrix has no axis %s", name)
			}
			if !slices.Contains(labels, point[name]) {
				return bad(path, oneOf(labels), "%s has no point %q", name, point[name])
			}
		}
	}
	return nil
}

// checkPair refuses a pair that does not name an axis of two points, and what would break its blocks.
func (f *File) checkPair(s *Scenario) error {
	if s.Pair == "" {
		return nil
	}
	i := slices.IndexFunc(f.axes, func(a axis) bool { return a.path == s.Pair })
	switch {
	case i < 0:
		return bad("pair", "write for example matrix: {watcher: {base: {…}, new: {…}}} and pair: watcher",
			"the matrix has no axis %s", s.Pair)
	case len(f.axes[i].points) != 2:
		return bad("pair", "keep two, or drop pair", "a pair has two points, the axis %s has %d", s.Pair,
			len(f.axes[i].points))
	case s.Repeat%2 != 0:
		return bad("repeat", fmt.Sprintf("use %d, so that the blocks A B B A are whole", s.Repeat+1),
			"%d is odd, and the axis %s is a pair", s.Repeat, s.Pair)
	case len(s.RepeatOnce)+len(s.Only) > 0 || s.Ladder:
		return bad("pair", "drop it, or repeatOnce, only and ladder",
			"both points of a pair are run, as often as repeat says")
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

// Decide ends the repetitions of a run when they have an answer; see result.Decided.
type Decide struct {
	Figure string   `json:"figure" jsonschema:"enum=freshness.p99,enum=handler.drainSeconds" jsonschema_description:"Figure that ranks points differing only in their watcher. From the third repetition on, the run ends once each neighboring pair is known to differ, or to be equal within 10 %."`
	Budget Duration `json:"budget" range:"10s.." jsonschema_description:"No repetition is started that would end later."`
}

// On reports whether the scenario asks for it.
func (d Decide) On() bool { return d.Figure != "" || d.Budget != 0 }

func (s *Scenario) checkDecide() error {
	switch d := s.Decide; {
	case !d.On():
	case s.Pair != "":
		return bad("decide", "drop it, or pair", "a pair has blocks of its own")
	case s.Ladder:
		return bad("decide", "drop it, or ladder", "the rungs of a ladder are run once each")
	}
	return nil
}
