package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// samples are one metric's values of both sides at a point.
type samples struct {
	base, new []float64
	same      [][2]float64 // base and new of one repetition, which have one plan
	blocks    [][4]float64 // of a paired run
	apart     int          // blocks that were not run in a row
	blocked   bool
}

// judge finds the outcome of one metric at one point, but for the part that all metrics
// have in common (see settle): a noisy one is left with the outcome of its own interval.
func (p *point) judge(name string, rule Rule, rules *Rules, blocked bool) Finding {
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
		return p.judge(name, rule, rules, blocked)
	}
	switch {
	case cells == 0:
		f.Outcome, f.Why = Invalid, "no cell of either side is valid and drained"
		return f
	case known == 0 && rule.Optional:
		f.Outcome, f.Why = NotJudged, "neither side knows it"
		return f
	}
	s, why := p.samples(fig, blocked)
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
	f.compare(s, rules)
	if rule.Relative && f.open() {
		f.steady(p, fig, blocked, rules)
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

// samples collects the values; why says what is missing.
func (p *point) samples(fig figure, blocked bool) (s samples, why string) {
	s.blocked = blocked
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
	if blocked {
		s.blocks, s.apart = pair(fig, p.base.blocks(), p.new.blocks()), len(p.apart)
	}
	return s, ""
}

// pair puts the blocks that both sides have whole into the order A B B A.
func pair(fig figure, base, changed [][2]*result.Cell) (blocks [][4]float64) {
	for k := range min(len(base), len(changed)) {
		cells := [4]*result.Cell{base[k][0], changed[k][0], changed[k][1], base[k][1]}
		var values [4]float64
		whole := true
		for i, c := range cells {
			if c == nil {
				whole = false
				break
			}
			v := fig.value(c)
			if v == nil {
				whole = false
				break
			}
			values[i] = *v
		}
		if whole {
			blocks = append(blocks, values)
		}
	}
	return blocks
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

// sharp reports whether a count is as exact as the rule takes it to be: BASE has the same in
// all repetitions, or, where each has a plan of its own, NEW differs from it by the same
// factor in each. spread is how far that is from so.
func (s samples) sharp(allow float64) (spread float64, ok bool) {
	if len(s.same) == 0 {
		return math.Inf(1), false
	}
	var ratios []float64
	for _, v := range s.same {
		switch {
		case v[0] == v[1]:
			ratios = append(ratios, 1)
		case v[0] > 0 && v[1] > 0:
			ratios = append(ratios, v[1]/v[0])
		default:
			return math.Inf(1), apart(s.base) <= allow+rounding
		}
	}
	spread = apart(ratios)
	return spread, min(spread, apart(s.base)) <= allow+rounding
}

// apart is how far values spread, as a part of the lowest.
func apart(values []float64) float64 {
	low, high := slices.Min(values), slices.Max(values)
	switch {
	case low == high:
		return 0
	case low <= 0:
		return math.Inf(1)
	}
	return high/low - 1
}

// rounding is what the six digits of results.json may add.
const rounding = 1e-5

// exact judges a count, each repetition of NEW by that of BASE with the same plan.
func (f *Finding) exact(s samples) {
	direction := func(base, changed float64) int { // 1 is worse, -1 better, by more than is allowed
		by := cmp.Compare(changed, base)
		if within := base * (f.Allow + rounding); math.Abs(changed-base) <= within {
			by = 0
		}
		if f.Better == higher {
			by = -by
		}
		return by
	}
	f.N, f.Outcome = len(s.same), Pass
	var ratios []float64
	worse, better, gone := 0, 0, 0
	for _, v := range s.same {
		switch direction(v[0], v[1]) {
		case 1:
			worse++
		case -1:
			better++
		}
		if v[0] > 0 && v[1] > 0 {
			ratios = append(ratios, v[1]/v[0])
		} else if v[0] > 0 {
			gone++
		}
	}
	if m := median(ratios); m != nil {
		f.Ratio, f.Interval = &stats.Ratio{Median: *m, Interval: stats.Interval{Low: *m, High: *m}, N: f.N}, stats.Interval{Low: *m, High: *m}
	}
	switch {
	case 2*worse >= f.N:
		f.Outcome, f.Why = Fail, "worse in "+of(worse, f.N)
	case worse > 0:
		f.Outcome, f.Why = Warn, "worse in "+of(worse, f.N)
	case gone > 0:
		f.Outcome, f.Why = Warn, "went to 0 in "+of(gone, f.N)+", which is better, or no measurement"
	case 2*better > f.N:
		f.Improved, f.Why = true, "improved"
	}
}

// because adds a reason to another.
func because(why, format string, args ...any) string {
	return strings.TrimPrefix(why+"; "+fmt.Sprintf(format, args...), "; ")
}

func of(n, all int) string { return fmt.Sprintf("%d of %d repetitions", n, all) }

// compare judges a figure with noise by its own interval.
func (f *Finding) compare(s samples, rules *Rules) {
	least, what := rules.Repeats, "repetitions of each side"
	f.N = min(len(s.base), len(s.new))
	var r stats.Ratio
	var ok bool
	if s.blocked {
		least, what, f.N = rules.Blocks, "whole blocks", len(s.blocks)
		r, ok = stats.PairedRatio(s.blocks)
	} else {
		r, ok = stats.RatioOf(s.base, s.new)
	}
	if ok {
		f.Ratio, f.Interval = &r, r.At(1-2*float64(rules.Alpha))
	}
	switch {
	case f.N < least:
		f.Outcome, f.Why = Inconclusive, because(f.Why, "%d %s, %d are needed", f.N, what, least)
		if s.apart > 0 {
			f.Why = because(f.Why, "%d more were not run in a row, A B B A, in one session", s.apart)
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
