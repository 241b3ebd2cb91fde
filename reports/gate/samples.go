package gate

import (
	"fmt"
	"slices"

	"github.com/watchbench/watchbench/reports/stats"
)

// samples are one metric's values of both sides at a point.
type samples struct {
	base, new []float64
	same      [][2]float64 // base and new of one repetition, which have one plan
	blocks    [][4]float64 // of a paired run
	paired    bool
}

// samples collects the values; why says what is missing.
func (p *point) samples(fig figure) (s samples, why string) {
	s.paired = p.paired
	for _, side := range []struct {
		name string
		g    group
		into *[]float64
	}{{"BASE", p.base, &s.base}, {"NEW", p.new, &s.new}} {
		cells := side.g.valid()
		if len(cells) == 0 {
			return s, side.name + " has no cell that is valid and drained"
		}
		missing := 0
		for _, c := range cells {
			if v := fig.value(c); v == nil {
				missing++
			} else {
				*side.into = append(*side.into, *v)
			}
		}
		if missing > 0 {
			return s, fmt.Sprintf("missing in %d of %d cells of %s", missing, len(cells), side.name)
		}
	}
	for _, a := range p.base.valid() {
		for _, b := range p.new.valid() {
			if a.Repetition == b.Repetition {
				s.same = append(s.same, [2]float64{*fig.value(a), *fig.value(b)})
			}
		}
	}
	if len(s.same) == 0 {
		return s, "BASE and NEW have no repetition in common"
	}
	for _, b := range p.blocks {
		s.blocks = append(s.blocks, [4]float64{*fig.value(b[0]), *fig.value(b[1]), *fig.value(b[2]), *fig.value(b[3])})
	}
	return s, ""
}

// zero says where a value is zero or below that was expected to be above.
func (s samples) zero() string {
	for _, side := range []struct {
		name   string
		values []float64
	}{{"BASE", s.base}, {"NEW", s.new}} {
		if slices.ContainsFunc(side.values, func(v float64) bool { return !(v > 0) }) {
			return "0 in a cell of " + side.name + ", which is no measurement (mayBeZero: true, if it is one)"
		}
	}
	return ""
}

// ratio of NEW ÷ BASE of a figure that all cells know.
func (p *point) ratio(fig figure) (stats.Ratio, bool) {
	s, why := p.samples(fig)
	if why != "" {
		return stats.Ratio{}, false
	}
	return s.ratio()
}

// ratio is NEW ÷ BASE, within the blocks where there are any.
func (s samples) ratio() (stats.Ratio, bool) {
	if s.paired {
		return stats.PairedRatio(s.blocks)
	}
	return stats.RatioOf(s.base, s.new)
}
