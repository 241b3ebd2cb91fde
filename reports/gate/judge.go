package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// leastDetect is the change that must be visible of a count that varies by itself.
const leastDetect = 0.2

// judge finds the outcome of one metric at one point, but for the part that all metrics have in common (see settle):
// a noisy one is left with the outcome of its own interval.
func (p *point) judge(name string, rule Rule, rules *Rules) Finding {
	fig := mustFigure(name) // the rules are valid
	known := p.known(fig)
	if known == 0 && p.theirs() && rule.Else != "" {
		name, rule.Else = rule.Else, ""
		return p.judge(name, rule, rules)
	}
	f := Finding{
		Point: p.label, Name: name, Kind: rule.Kind, Unit: fig.unit, Higher: fig.better == result.Higher,
		Allow: float64(rule.Allow),
		Holm:  1, detect: float64(rule.Detect), fig: fig,
	}
	if known == 0 && rule.Optional && len(slices.Concat(p.cells[0], p.cells[1])) > 0 {
		f.Outcome, f.Why = NotJudged, "neither side knows it"
		return f
	}
	s, why := p.samples(fig)
	for i, side := range sides {
		if why == "" && !rule.MayBeZero && slices.ContainsFunc(s.sides[i], func(v float64) bool { return !(v > 0) }) {
			why = "0 in a cell of " + side + ", so not measured (mayBeZero: true says that it is)"
		}
	}
	if why != "" {
		f.Outcome, f.Why = Invalid, why
		return f
	}
	f.Base, f.New = stats.Median(s.sides[0]), stats.Median(s.sides[1])
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

func (f *Finding) compare(s samples, rules *Rules, apart int) {
	least, what := rules.Repeats, "repetitions of each side"
	f.N = min(len(s.sides[0]), len(s.sides[1]))
	if s.paired {
		least, what, f.N = rules.Blocks, "whole blocks", len(s.blocks)
	}
	r := s.ratio()
	if r.N > 0 {
		f.Ratio, f.Interval = &r, r.At(rules.level())
	}
	switch {
	case f.N < least:
		f.Outcome, f.Why = Inconclusive, because(f.Why, "%d %s, %d are needed", f.N, what, least)
		if apart > 0 {
			f.Why = because(f.Why, "%d more were not run in a row, A B B A, in one session", apart)
		}
	case r.N > 0:
		f.Holm, f.Outcome = f.harm(), Warn // settle has the last word
	case slices.Max(s.sides[0]) == 0 && slices.Max(s.sides[1]) == 0:
		f.Outcome, f.Why = Pass, "0 on both sides"
	default:
		f.Outcome, f.Why = Inconclusive, because(f.Why, "a value is 0, so the ratio is unknown")
	}
}

func (f *Finding) limit() float64 {
	if f.Higher {
		return 1 - f.Allow
	}
	return 1 + f.Allow
}

// harm is the p-value of "worse than allowed".
func (f *Finding) harm() float64 {
	if f.Higher {
		return f.Ratio.PBelow(f.limit())
	}
	return f.Ratio.PAbove(f.limit())
}

// noise is how far the interval reaches to one side, as a part.
func (f *Finding) noise() float64 { return math.Sqrt(f.Interval.High/f.Interval.Low) - 1 }

// beyond and within report where the whole interval lies: worse than a limit, or better.
func (f *Finding) beyond(limit float64) bool {
	return !f.Higher && f.Interval.Low > limit || f.Higher && f.Interval.High < limit
}

func (f *Finding) within(limit float64) bool {
	return !f.Higher && f.Interval.High < limit || f.Higher && f.Interval.Low > limit
}

// open reports whether a finding waits for settle.
func (f *Finding) open() bool { return f.Kind == KindNoisy && f.Outcome == Warn && f.Ratio != nil }

// settle corrects the p-values of all figures with noise by Holm's method, and decides.
func settle(all []Finding, alpha float64) {
	var noisy []*Finding
	for i := range all {
		if all[i].open() {
			noisy = append(noisy, &all[i])
		}
	}
	holm(noisy)
	for _, f := range noisy {
		switch raw := f.harm(); {
		case f.Holm <= alpha && f.beyond(f.limit()):
			f.Outcome = Fail
		case f.within(f.limit()):
			f.Outcome, f.Improved = Pass, f.within(1/f.limit())
		case raw > alpha && f.noise() > f.detect:
			f.Outcome = Inconclusive
			f.Why = because(f.Why, "too much noise: an interval of ±%.2g %% hides a change of %.2g %%",
				100*f.noise(), 100*f.detect)
		case raw <= alpha:
			f.Why = because(f.Why, "among %d figures, one is beyond by chance too often (p %.2g by Holm)", len(noisy), f.Holm)
		}
	}
}

// holm sets the p-values to be compared with alpha, by Holm's correction.
func holm(all []*Finding) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *Finding) int { return cmp.Compare(a.Holm, b.Holm) })
	least := 0.0
	for i, f := range sorted {
		least = max(least, min(1, f.Holm*float64(len(sorted)-i)))
		f.Holm = least
	}
}

// sharp reports whether a count is as exact as the rule takes it to be: BASE has the same in all repetitions, or,
// where each has a plan of its own, NEW differs from it by the same factor in each. spread is how far that is from so.
func (s samples) sharp(allow float64) (spread float64, ok bool) {
	var ratios []float64
	own := apart(s.sides[0]) <= allow+rounding
	for _, v := range s.same {
		switch {
		case v[0] == v[1]:
			ratios = append(ratios, 1)
		case v[0] > 0 && v[1] > 0:
			ratios = append(ratios, v[1]/v[0])
		default:
			return math.Inf(1), own
		}
	}
	spread = apart(ratios)
	return spread, own || spread <= allow+rounding
}

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

// rounding is the error of the six digits of results.json.
const rounding = 1e-5

// exact judges a count, each repetition of NEW by that of BASE with the same plan.
func (f *Finding) exact(s samples) {
	f.N, f.Outcome = len(s.same), Pass
	var ratios []float64
	worse, better, gone := 0, 0, 0
	for _, v := range s.same {
		by := v[1] - v[0]
		if f.Higher {
			by = -by
		}
		switch {
		case math.Abs(by) <= v[0]*(f.Allow+rounding):
		case by > 0:
			worse++
		default:
			better++
		}
		if v[0] > 0 && v[1] > 0 {
			ratios = append(ratios, v[1]/v[0])
		} else if v[0] > 0 {
			gone++
		}
	}
	if m := stats.Median(ratios); m != nil {
		f.Interval = stats.Interval{Low: *m, High: *m}
		f.Ratio = &stats.Ratio{Median: *m, N: f.N}
	}
	of := func(n int) string { return fmt.Sprintf("%d of %d repetitions", n, f.N) }
	switch {
	case worse == f.N:
		f.Outcome = Fail
	case 2*worse >= f.N:
		f.Outcome, f.Why = Fail, "worse in "+of(worse)
	case worse > 0:
		f.Outcome, f.Why = Warn, "worse in "+of(worse)
	case gone > 0:
		f.Outcome, f.Why = Warn, "0 in "+of(gone)+": better, or not measured"
	case 2*better > f.N:
		f.Improved = true
	}
}
