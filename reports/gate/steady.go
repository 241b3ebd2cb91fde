package gate

import (
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// yardstick are the parties whose work the plan decides, the same on both sides. What slows the machine for a while
// slows them as it does the watcher.
var yardstick = []string{"generator", "storagemock"}

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
func (f figure) relative() figure {
	return figure{f.unit, f.better, func(c *result.Cell) *float64 { return stats.Quotient(f.value(c), beside(c)) }}
}

// steady judges a figure by its part of the yardstick as well. "Worse" may come from either, so the p-value is twice
// the smaller one. The interval is the relative one where that is narrower and the yardstick itself is not seen to
// differ between the sides: a change that makes storage work harder, as one connection for each request would, raises
// both, and would hide itself. In few blocks such a change goes unseen, so the relative interval decides only what
// the median of the figure itself agrees with.
func (f *Finding) steady(p *point, fig figure, rules *Rules) {
	own, yard := p.ratio(fig.relative()), p.ratio(figure{value: beside})
	if own.N == 0 || yard.N == 0 {
		return
	}
	raw, one := f.harm(), yard.At(rules.level())
	f.Holm = min(1, 2*raw)
	other := *f
	other.Ratio, other.Interval = &own, own.At(rules.level())
	flatters, blames := one.Low > 1, one.High < 1 // by the yardstick the part looks better, or worse, than it is
	if f.Higher {
		flatters, blames = blames, flatters
	}
	if blames || flatters && !other.beyond(f.limit()) || other.noise() >= f.noise() || !other.agrees(f.Ratio.Median) {
		return
	}
	f.Holm = min(1, 2*min(raw, other.harm()))
	f.Ratio, f.Interval, f.fig = &own, other.Interval, fig.relative()
	f.Why = because(f.Why, "relative to the CPU of %s, which differs by %s to %s",
		strings.Join(yardstick, " and "), signed(one.Low), signed(one.High))
}

// agrees reports whether another ratio of the same figure lets the interval decide: harm must be harm by both, and
// what is within the allowed must be so by both.
func (f *Finding) agrees(ratio float64) bool {
	limit := f.limit()
	if f.Higher {
		ratio, limit = 1/ratio, 1/limit
	}
	return !(f.beyond(f.limit()) && ratio <= 1 || f.within(f.limit()) && ratio >= limit)
}
