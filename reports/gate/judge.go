package gate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// Paired judges one run that holds both sides: the axis watcher of its matrix has the points
// base and new. An error is a record that has no such axis.
func Paired(res *result.Results, rules Rules) (*Verdict, error) {
	if err := rules.Validate(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	v := &Verdict{Base: BaseSide, New: NewSide, Blocked: true, Rules: rules, Reasons: alone("the run", res, rules.MayDiffer)}
	if res == nil {
		return v.finish(), nil
	}
	v.Scenario = res.Run.Scenario
	points, odd := split(res, &rules)
	if len(odd) > 0 {
		v.Reasons = append(v.Reasons, odd[0])
	}
	v.judge(points)
	v.Invariants = append(v.Invariants, crashes(res, func(id string) bool { return sideOf(points, id) == NewSide })...)
	if len(v.Reasons) == 0 {
		v.control("BASE, and NEW, each against itself: the first of its two cells in each block against the second", points, nil)
	}
	return v.finish(), nil
}

// sideOf is the side of a cell that has no record, by its id: that of the cells whose ids
// differ in the repetition only, else the one that the id names.
func sideOf(points []*point, id string) string {
	for _, p := range points {
		for side, g := range map[string]group{BaseSide: p.base, NewSide: p.new} {
			if slices.ContainsFunc(g.cells, func(c *result.Cell) bool { return c.Point() == result.PointOf(id) }) {
				return side
			}
		}
	}
	if slices.Contains(strings.Split(result.PointOf(id), "-"), BaseSide) {
		return BaseSide
	}
	return NewSide
}

// Saved judges two saved runs; control is a second run of the base, or nil.
func Saved(base, changed, control *result.Results, rules Rules) (*Verdict, error) {
	if err := rules.Validate(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	v := &Verdict{Base: "base", New: "new", Rules: rules, Reasons: slices.Concat(alone("BASE", base, rules.MayDiffer), alone("NEW", changed, rules.MayDiffer))}
	if base == nil || changed == nil {
		return v.finish(), nil
	}
	v.Base, v.New, v.Scenario = base.Run.ID, changed.Run.ID, cmp.Or(changed.Run.Scenario, base.Run.Scenario)
	v.Reasons = append(v.Reasons, differences(base, changed, rules.MayDiffer)...)
	if sameRun(base, changed) {
		v.Reasons = append(v.Reasons, "NEW is BASE itself: one run cannot be held against itself")
	}
	if control != nil {
		v.Reasons = append(v.Reasons, alone("the control", control, rules.MayDiffer)...)
		for _, r := range differences(base, control, rules.MayDiffer) {
			v.Reasons = append(v.Reasons, "the control is of "+r)
		}
		switch {
		case sameRun(control, base):
			v.Reasons = append(v.Reasons, "the control is BASE itself, not a second run of it")
		case sameRun(control, changed):
			v.Reasons = append(v.Reasons, "the control is NEW itself, not a second run of BASE")
		}
	}
	points := join(base, changed, &rules)
	v.judge(points)
	v.Invariants = append(v.Invariants, crashes(changed, func(string) bool { return true })...)
	v.Invariants = append(v.Invariants, crashes(base, func(string) bool { return false })...)
	switch {
	case len(v.Reasons) > 0:
	case control != nil:
		v.control("a second run of BASE against BASE", points, join(base, control, &rules))
	default:
		v.control("BASE against itself: its odd repetitions against its even ones, which says nothing of what changed between the sessions of BASE and NEW; --control takes a second run of BASE", points, nil)
	}
	return v.finish(), nil
}

// sameRun reports whether two records are of one run.
func sameRun(a, b *result.Results) bool {
	return a.Run.ID == b.Run.ID && a.Run.Started.Equal(b.Run.Started)
}

// Unread is the verdict on runs that cannot be read.
func Unread(rules Rules, reasons ...string) *Verdict {
	return (&Verdict{Base: "base", New: "new", Rules: rules, Reasons: reasons}).finish()
}

// Unbuilt is the verdict where a side does not build; base and changed say why, or are empty.
// A change that does not build is worse than a base that does. Without a base nothing can be
// said of the change: whatever is missing may be missing on this machine.
func Unbuilt(rules Rules, base, changed string) *Verdict {
	switch {
	case base != "" && changed != "":
		return Unread(rules, "neither side builds: BASE "+base, "NEW "+changed)
	case base != "":
		return Unread(rules, "BASE does not build: "+base)
	}
	v := &Verdict{Base: "base", New: "new", Rules: rules}
	v.Invariants = []Finding{{Name: "build", Outcome: Fail, Why: "NEW does not build: " + changed}}
	return v.finish()
}

// judge fills in invariants and, unless the whole cannot be judged, metrics.
func (v *Verdict) judge(points []*point) {
	for _, p := range points {
		v.Invariants = append(v.Invariants, p.invariants(&v.Rules)...)
		if len(v.Reasons) > 0 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(v.Rules.Metrics)) {
			v.Metrics = append(v.Metrics, p.judge(name, v.Rules.Metrics[name], &v.Rules))
		}
	}
	settle(v.Metrics, float64(v.Rules.Alpha))
	for i := range v.Metrics {
		if f := &v.Metrics[i]; f.Outcome == Fail && f.Unit == "s" {
			at := slices.IndexFunc(points, func(p *point) bool { return p.name == f.Point })
			f.Stage = points[at].slower()
			f.Why = because(f.Why, "slower: %s", f.Stage)
		}
	}
}

// stages are the parts of a change's path, except waiting in the watcher.
var stages = []struct{ metric, name string }{
	{"load.latencyActualMs.p50", "the API server's answer to a write"},
	{"handler.gapSeconds", "the watcher, from storage's answer to its next request"},
	{"storage.latencyMs.p50", "storage's answer"},
}

// slower says which stage got slower; where none did, what is left.
func (p *point) slower() string {
	var all []string
	for _, s := range stages {
		fig, err := figureOf(s.metric)
		if err != nil {
			panic(err) // a test goes through them
		}
		if r, ok := p.ratio(fig); ok && r.Median > 1 && r.Differs() && !r.Same() {
			all = append(all, s.name+" "+signed(r.Median))
		}
	}
	return cmp.Or(units.List(all), "waiting in the watcher's queues")
}

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
		raw := f.harm()
		switch {
		case f.Holm <= alpha && f.beyond():
			f.Outcome, f.Why = Fail, because(f.Why, "the whole interval is beyond what is allowed")
		case f.within():
			f.Outcome = Pass
			if f.Improved = f.improved(); f.Improved {
				f.Why = because(f.Why, "improved")
			}
		case raw > alpha && f.noise() > f.detect:
			f.Outcome, f.Why = Inconclusive, because(f.Why, "too much noise: an interval of ±%.2g %% hides a change of %.2g %%", 100*f.noise(), 100*f.detect)
		case raw <= alpha:
			f.Outcome, f.Why = Warn, because(f.Why, "the interval is beyond what is allowed, but one of %d figures is that by chance too often (p %.2g by Holm)", len(noisy), f.Holm)
		default:
			f.Outcome, f.Why = Warn, because(f.Why, "the interval overlaps what is allowed")
		}
	}
}

// open reports whether a finding waits for settle.
func (f *Finding) open() bool { return f.Kind == KindNoisy && f.Outcome == Warn && f.Ratio != nil }

// improved reports whether the whole interval is better by as much as would be allowed the
// other way.
func (f *Finding) improved() bool {
	return f.Better == lower && f.Interval.High < 1/f.limit() || f.Better == higher && f.Interval.Low > 1/f.limit()
}

// holm sets the p-values that are compared with alpha.
func holm(all []*Finding) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *Finding) int { return cmp.Compare(a.Holm, b.Holm) })
	least := 0.0
	for i, f := range sorted {
		least = max(least, min(1, f.Holm*float64(len(sorted)-i)))
		f.Holm = least
	}
}

// finish sums up.
func (v *Verdict) finish() *Verdict {
	v.Outcome = NotJudged
	if len(v.Reasons) > 0 {
		v.Outcome = Invalid
	}
	judged := false
	for _, f := range v.Metrics {
		v.Outcome, judged = worse(v.Outcome, f.Outcome), judged || f.Outcome != NotJudged
	}
	for _, f := range v.Invariants {
		v.Outcome = worse(v.Outcome, f.Outcome)
	}
	if !judged && len(v.Reasons) == 0 {
		v.Reasons = []string{"no metric was judged"}
		v.Outcome = worse(v.Outcome, Invalid)
	}
	v.Outcome = worse(v.Outcome, v.Control.Outcome)
	return v
}

// signed is a ratio as a change in percent.
func signed(ratio float64) string {
	c := 100 * (ratio - 1)
	switch {
	case c == 0:
		return "0 %"
	case math.Abs(c) < 0.05:
		return fmt.Sprintf("%+.2g %%", c)
	}
	return fmt.Sprintf("%+.1f %%", c)
}
