package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/stats"
)

// judge finds the outcome of one metric at one point, but for the part that all metrics
// have in common (see settle): a noisy one is left with the outcome of its own interval.
func (p *point) judge(name string, rule Rule, rules *Rules) Finding {
	f := Finding{Point: p.name, Name: name, Kind: rule.Kind, Better: rule.Better, Allow: float64(rule.Allow), Holm: 1, detect: float64(rule.Detect)}
	fig, err := figureOf(name)
	if err != nil {
		f.Outcome, f.Why = Invalid, err.Error()
		return f
	}
	f.Unit, f.fig = fig.unit, fig
	known, cells := p.known(fig)
	if known == 0 && p.theirs() && rule.Else != "" {
		name, rule.Else = rule.Else, ""
		return p.judge(name, rule, rules)
	}
	switch {
	case cells == 0:
		f.Outcome, f.Why = Invalid, "no cell of either side is valid and drained"
		return f
	case known == 0 && rule.Optional:
		f.Outcome, f.Why = NotJudged, "neither side knows it"
		return f
	}
	s, why := p.samples(fig)
	if why == "" && !rule.MayBeZero {
		why = s.zero()
	}
	if why != "" {
		f.Outcome, f.Why = Invalid, why
		return f
	}
	f.Base, f.New = median(s.base), median(s.new)
	if rule.Kind == KindExact {
		spread, sharp := s.sharp(f.Allow)
		if sharp {
			f.exact(s)
			return f
		}
		f.Kind, f.detect = KindNoisy, max(2*f.Allow, leastDetect)
		f.Why = fmt.Sprintf("not exact here: repetitions of one plan differ by up to %.2g %%", 100*spread)
	}
	f.compare(s, rules, p.apart)
	if rule.Relative && f.open() {
		f.steady(p, fig, rules)
	}
	return f
}

// leastDetect is what must be visible of a count that varies by itself.
const leastDetect = 0.2

// known counts the cells that know a figure, among those that could.
func (p *point) known(fig figure) (known, cells int) {
	for _, c := range slices.Concat(p.base.valid(), p.new.valid()) {
		cells++
		if fig.value(c) != nil {
			known++
		}
	}
	return known, cells
}

// because adds a reason to another.
func because(why, format string, args ...any) string {
	return strings.TrimPrefix(why+"; "+fmt.Sprintf(format, args...), "; ")
}

// compare judges a figure with noise by its own interval.
func (f *Finding) compare(s samples, rules *Rules, apart int) {
	least, what := rules.Repeats, "repetitions of each side"
	f.N = min(len(s.base), len(s.new))
	if s.paired {
		least, what, f.N = rules.Blocks, "whole blocks", len(s.blocks)
	}
	r, ok := s.ratio()
	if ok {
		f.Ratio, f.Interval = &r, r.At(1-2*float64(rules.Alpha))
	}
	switch {
	case f.N < least:
		f.Outcome, f.Why = Inconclusive, because(f.Why, "%d %s, %d are needed", f.N, what, least)
		if apart > 0 {
			f.Why = because(f.Why, "%d more were not run in a row, A B B A, in one session", apart)
		}
		return
	case !ok && slices.Max(s.base) == 0 && slices.Max(s.new) == 0:
		f.Outcome, f.Why = Pass, "0 on both sides"
		return
	case !ok:
		f.Outcome, f.Why = Inconclusive, because(f.Why, "a value is 0, so there is no ratio")
		return
	}
	f.Holm = f.harm()
	f.Outcome = Warn // settle has the last word
}

// limit is the ratio of what is just allowed.
func (f *Finding) limit() float64 {
	if f.Better == lower {
		return 1 + f.Allow
	}
	return 1 - f.Allow
}

// harm is the p-value of "worse than allowed".
func (f *Finding) harm() float64 {
	if f.Better == lower {
		return f.Ratio.PAbove(f.limit())
	}
	return f.Ratio.PBelow(f.limit())
}

// noise is how far the interval reaches to one side, as a part.
func (f *Finding) noise() float64 { return math.Sqrt(f.Interval.High/f.Interval.Low) - 1 }

// beyond and within report where the interval lies.
func (f *Finding) beyond() bool {
	return f.Better == lower && f.Interval.Low > f.limit() || f.Better == higher && f.Interval.High < f.limit()
}

func (f *Finding) within() bool {
	return f.Better == lower && f.Interval.High < f.limit() || f.Better == higher && f.Interval.Low > f.limit()
}

func median(values []float64) *float64 {
	if m, ok := stats.Median(values); ok {
		return &m
	}
	return nil
}
