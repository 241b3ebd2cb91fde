package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// Axis is the axis of the matrix that holds both sides of a paired run; BaseSide and NewSide are its points.
const (
	Axis     = "watcher"
	BaseSide = "base"
	NewSide  = "new"
)

// Paired judges one run that holds both sides: the axis watcher of its matrix has the points base and new.
func Paired(res *result.Results, rules Rules) (*Verdict, error) {
	if err := rules.Validate(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	v := &Verdict{Base: BaseSide, New: NewSide, Blocked: true, Rules: rules}
	v.Reasons = alone("the run", res, rules.MayDiffer)
	if res == nil {
		return v.finish(), nil
	}
	v.Scenario = res.Run.Scenario
	for _, c := range res.Cells {
		if side := c.Params[Axis]; side != BaseSide && side != NewSide {
			v.Reasons = append(v.Reasons, c.ID+" is of neither side: its "+Axis+" is "+cmp.Or(side, "not named"))
			break
		}
	}
	res = rules.believed(res)
	points := match(Side(res, BaseSide), Side(res, NewSide))
	for _, p := range points {
		p.arrange(res.Run.Order)
	}
	v.judge(points)
	for _, c := range res.Run.Crashed {
		v.crash(sideOf(points, c.ID), c)
	}
	v.control("BASE, and NEW, each against itself: the first of its two cells in each block against the second", points,
		func(p *point, fig figure) []half { return []half{p.half(fig, 0, 0, 3), p.half(fig, 1, 1, 2)} })
	return v.finish(), nil
}

// Side is one side of a paired run as a run of its own, or with side "" a whole run; without the names of the sides,
// so that benchstat compares them.
func Side(res *result.Results, side string) *result.Results {
	one := *res
	one.Cells = nil
	for _, c := range res.Cells {
		if side != "" && c.Params[Axis] != side {
			continue
		}
		if side != "" {
			c.Params = maps.Clone(c.Params)
			delete(c.Params, Axis)
		}
		c.Watcher.Name, c.Watcher.Command = "", nil
		one.Cells = append(one.Cells, c)
	}
	return &one
}

// sideOf is the side of a cell that has no record, by its id: that of the cells whose ids differ in the repetition
// only, else the one that the id names.
func sideOf(points []*point, id string) int {
	for _, p := range points {
		for side := range sides {
			if slices.ContainsFunc(p.all[side], func(c *result.Cell) bool { return c.Point() == result.PointOf(id) }) {
				return side
			}
		}
	}
	if slices.Contains(strings.Split(result.PointOf(id), "-"), BaseSide) {
		return 0
	}
	return 1
}

// Saved judges two saved runs; control is a second run of the base, or nil.
func Saved(base, changed, control *result.Results, rules Rules) (*Verdict, error) {
	if err := rules.Validate(); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	v := &Verdict{Base: "base", New: "new", Rules: rules}
	v.Reasons = slices.Concat(alone("BASE", base, rules.MayDiffer), alone("NEW", changed, rules.MayDiffer))
	if base == nil || changed == nil {
		return v.finish(), nil
	}
	v.Base, v.New, v.Scenario = base.Run.ID, changed.Run.ID, cmp.Or(changed.Run.Scenario, base.Run.Scenario)
	v.Reasons = append(v.Reasons, unlike("NEW", base, changed, rules.MayDiffer)...)
	if sameRun(base, changed) {
		v.Reasons = append(v.Reasons, "BASE and NEW are the same run")
	}
	what := "BASE against itself, odd repetitions against even ones, which misses what changed between BASE and NEW; " +
		"--control takes a second run of BASE"
	compare := parity
	if control != nil {
		v.Reasons = slices.Concat(v.Reasons, alone("the control", control, rules.MayDiffer),
			unlike("the control", base, control, rules.MayDiffer))
		if sameRun(control, base) || sameRun(control, changed) {
			v.Reasons = append(v.Reasons, "the control is not a second run of BASE, but BASE or NEW itself")
		}
		what = "a second run of BASE against BASE"
		again := match(rules.believed(base), rules.believed(control))
		compare = func(p *point, fig figure) []half {
			if i := slices.IndexFunc(again, func(a *point) bool { return a.label == p.label }); i >= 0 {
				return []half{{0, again[i].ratio(fig)}}
			}
			return []half{{}}
		}
	}
	points := match(rules.believed(base), rules.believed(changed))
	v.judge(points)
	for side, res := range []*result.Results{base, changed} {
		for _, c := range res.Run.Crashed {
			v.crash(side, c)
		}
	}
	v.control(what, points, compare)
	return v.finish(), nil
}

func sameRun(a, b *result.Results) bool {
	return a.Run.ID == b.Run.ID && a.Run.Started.Equal(b.Run.Started)
}

// Unread is the verdict on runs that cannot be read.
func Unread(rules Rules, reasons ...string) *Verdict {
	return (&Verdict{Base: "base", New: "new", Rules: rules, Reasons: reasons}).finish()
}

// Unbuilt is the verdict where a side does not build; base and changed say why, or are empty. A change that does not
// build is worse than a base that does. Without a base nothing can be said of the change: what is missing may be
// missing on this machine.
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
		for _, name := range slices.Sorted(maps.Keys(v.Rules.Metrics)) {
			if len(v.Reasons) == 0 {
				v.Metrics = append(v.Metrics, p.judge(name, v.Rules.Metrics[name], &v.Rules))
			}
		}
	}
	settle(v.Metrics, float64(v.Rules.Alpha))
	for i := range v.Metrics {
		if f := &v.Metrics[i]; f.Outcome == Fail && f.Unit == "s" {
			at := slices.IndexFunc(points, func(p *point) bool { return p.label == f.Point })
			f.Why = because(f.Why, "slower: %s", points[at].slower())
		}
	}
}

func because(why, format string, args ...any) string {
	return strings.TrimPrefix(why+"; "+fmt.Sprintf(format, args...), "; ")
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
		if r := p.ratio(mustFigure(s.metric)); r.N > 0 && r.Median > 1 && r.Differs() && !r.Same() {
			all = append(all, s.name+" "+signed(r.Median))
		}
	}
	return cmp.Or(units.List(all), "waiting in the watcher's queues")
}

func (v *Verdict) crash(side int, c result.Crash) {
	v.Invariants = append(v.Invariants, Finding{
		Name: "crash", Outcome: []Outcome{Invalid, Fail}[side],
		Why: fmt.Sprintf("the watcher of %s ended by itself in %s: %s", sides[side], c.ID, c.Why),
	})
}

type half struct {
	side  int
	ratio stats.Ratio // of N 0 where it is not known
}

// half compares two cells of a side in each block. Which one is first changes from block to block, so that a steady
// drift, which falls out of the gate's own figures, falls out here too.
func (p *point) half(fig figure, side, first, second int) half {
	var all [][4]float64
	for k, b := range p.blocks {
		x, y := *fig.value(b[first]), *fig.value(b[second])
		if k%2 == 1 {
			x, y = y, x
		}
		all = append(all, [4]float64{x, y, y, x})
	}
	return half{side, stats.PairedRatio(all)}
}

// parity compares a run's odd repetitions with its even ones.
func parity(p *point, fig figure) []half {
	halves := make([][]float64, 2)
	for _, c := range p.cells[0] {
		if v := fig.value(c); v != nil {
			halves[c.Repetition&1] = append(halves[c.Repetition&1], *v)
		}
	}
	return []half{{0, stats.Against(halves[1:], halves[:1])[0]}}
}

// control compares the same with itself, for each figure with noise. If two halves of one thing differ by as much as
// would fail a change, either way, no figure with noise of this session can be believed. Exact ones can: they do not
// depend on the machine.
func (v *Verdict) control(what string, points []*point, compare func(*point, figure) []half) {
	if len(v.Reasons) > 0 {
		return
	}
	v.Control = Control{What: what, Outcome: NotJudged}
	var judged []*Finding
	for _, p := range points {
		for _, of := range v.Metrics {
			if of.Point != p.label || of.Kind != KindNoisy || of.Ratio == nil {
				continue
			}
			for _, h := range compare(p, of.fig) {
				f := Finding{
					Point: of.Point, Name: of.Name + " of " + sides[h.side], Kind: KindNoisy, Unit: of.Unit,
					Higher: of.Higher, Allow: of.Allow, Holm: 1, Outcome: Inconclusive,
					Why: fmt.Sprintf("too few cells to compare %s with itself; --control takes a second run of BASE", sides[h.side]),
				}
				if h.ratio.N > 0 {
					f.Ratio, f.Interval, f.N, f.Outcome, f.Why = &h.ratio, h.ratio.At(v.Rules.level()), h.ratio.N, Pass, ""
					// Either way, so twice; the mirrored limit makes both as far from 1.
					far := max(f.limit(), 1/f.limit())
					f.Holm = min(1, 2*min(h.ratio.PAbove(far), h.ratio.PBelow(1/far)))
				}
				v.Control.Findings = append(v.Control.Findings, f)
			}
		}
	}
	for i := range v.Control.Findings {
		if f := &v.Control.Findings[i]; f.Ratio != nil {
			judged = append(judged, f)
		}
	}
	holm(judged)
	failed := ""
	for i := range v.Control.Findings {
		f := &v.Control.Findings[i]
		if f.Holm <= float64(v.Rules.Alpha) {
			f.Outcome, f.Why = Invalid, "the same differs from itself"
			failed = fmt.Sprintf("the control failed: %s differs from itself by %s", f.Name, signed(f.Ratio.Median))
		}
		v.Control.Outcome = worse(v.Control.Outcome, f.Outcome)
	}
	for i := range v.Metrics {
		if f := &v.Metrics[i]; failed != "" && f.Kind == KindNoisy && f.Ratio != nil {
			f.Outcome, f.Improved, f.Why = Invalid, false, failed
		}
	}
}

func (v *Verdict) finish() *Verdict {
	v.Outcome = NotJudged
	for _, f := range slices.Concat(v.Metrics, v.Invariants) {
		v.Outcome = worse(v.Outcome, f.Outcome)
	}
	judged := slices.ContainsFunc(v.Metrics, func(f Finding) bool { return f.Outcome != NotJudged })
	if !judged && len(v.Reasons) == 0 {
		v.Reasons = []string{"no metric was judged"}
	}
	if len(v.Reasons) > 0 {
		v.Outcome = worse(v.Outcome, Invalid)
	}
	if v.Control.Outcome != "" {
		v.Outcome = worse(v.Outcome, v.Control.Outcome)
	}
	return v
}
