package gate

import (
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// yardstick are the parties whose work the plan decides, the same on both sides. What slows
// the machine down for a while slows them as it does the watcher.
var yardstick = []string{"generator", "storagemock"}

// beside is the CPU time of the yardstick in a cell, nil where it is not known.
func beside(c *result.Cell) *float64 {
	sum := 0.0
	for _, name := range yardstick {
		p, ok := c.Parties[name]
		if !ok || p.CPUSeconds == nil || !(*p.CPUSeconds > 0) {
			return nil
		}
		sum += *p.CPUSeconds
	}
	return &sum
}

// relative is the figure ÷ the CPU time of the yardstick in the same cell.
func (f figure) relative() figure { f.beside = true; return f }

// yards is the yardstick itself.
func yards() figure {
	return figure{name: "CPU of " + yardstick[0] + " and " + yardstick[1], own: beside}
}

// steady judges a figure by its part of the yardstick as well. "Worse" may come from either,
// so the p-value is twice the smaller one. The interval is the relative one where that is
// narrower and the yardstick itself is not seen to differ between the sides: a change that
// makes storage work harder, as one connection for each request would, raises both, and would
// hide itself.
func (f *Finding) steady(p *point, fig figure, blocked bool, rules *Rules) {
	level := 1 - 2*float64(rules.Alpha)
	own, okOwn := p.ratio(fig.relative(), blocked)
	yard, okYard := p.ratio(yards(), blocked)
	if !okOwn || !okYard {
		return
	}
	raw := f.harm()
	one := yard.At(level)
	whole, part := f.Interval, own.At(level)
	other := *f
	other.Ratio, other.Interval = &own, part
	f.Holm = min(1, 2*min(raw, other.harm()))
	if part.High/part.Low >= whole.High/whole.Low || one.Low > 1 || one.High < 1 {
		return
	}
	f.Ratio, f.Interval, f.fig = &own, part, fig.relative()
	f.Why = because(f.Why, "relative to the %s, which differs by %s to %s", yards().name, signed(one.Low), signed(one.High))
}

// ratio of NEW ÷ BASE of a figure that all cells know.
func (p *point) ratio(fig figure, blocked bool) (stats.Ratio, bool) {
	s, why := p.samples(fig, blocked)
	switch {
	case why != "":
		return stats.Ratio{}, false
	case blocked:
		return stats.PairedRatio(s.blocks)
	}
	return stats.RatioOf(s.base, s.new)
}
