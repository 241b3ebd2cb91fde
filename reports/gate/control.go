package gate

import (
	"fmt"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// control compares the same with itself, for each figure with noise. If two halves of one
// thing differ by as much as would fail a change, either way, no figure with noise of this
// session can be believed. Exact ones can: they do not depend on the machine.
//
// again are the points with a second run of the base in place of the change; nil compares
// halves.
func (v *Verdict) control(what string, points, again []*point) {
	v.Control = Control{What: what, Outcome: NotJudged}
	alpha := float64(v.Rules.Alpha)
	byName := map[string]*point{}
	for _, p := range again {
		byName[p.name] = p
	}
	for _, p := range points {
		for i := range v.Metrics {
			f := &v.Metrics[i]
			if f.Point != p.name || f.Kind != KindNoisy || f.Ratio == nil {
				continue
			}
			fig := f.fig
			switch {
			case v.Blocked:
				r, ok := halves(fig, p.blocks, 0, 3)
				v.same(f, "BASE", r, ok)
				r, ok = halves(fig, p.blocks, 1, 2)
				v.same(f, "NEW", r, ok)
			case again != nil:
				r, ok := second(fig, byName[p.name])
				v.same(f, "BASE", r, ok)
			default:
				r, ok := parity(fig, p.base.valid())
				v.same(f, "BASE", r, ok)
			}
		}
	}
	var all []*Finding
	for i := range v.Control.Findings {
		if f := &v.Control.Findings[i]; f.Ratio != nil {
			all = append(all, f)
		}
	}
	holm(all)
	failed := ""
	for i := range v.Control.Findings {
		f := &v.Control.Findings[i]
		switch {
		case f.Ratio == nil:
			f.Outcome = Inconclusive
		case f.Holm <= alpha:
			f.Outcome = Invalid
			f.Why = fmt.Sprintf("%s differs from itself by %s, interval %s to %s, where %s would fail a change",
				f.Name, signed(f.Ratio.Median), signed(f.Interval.Low), signed(f.Interval.High), signed(f.limit()))
			failed = f.Why
		default:
			f.Outcome = Pass
		}
		v.Control.Outcome = worse(v.Control.Outcome, f.Outcome)
	}
	if failed == "" {
		return
	}
	for i := range v.Metrics {
		if f := &v.Metrics[i]; f.Kind == KindNoisy && f.Ratio != nil {
			f.Outcome, f.Improved, f.Why = Invalid, false, "the control failed: "+failed
		}
	}
}

// same adds the finding of one side against itself.
func (v *Verdict) same(of *Finding, side string, r stats.Ratio, ok bool) {
	f := Finding{Point: of.Point, Name: of.Name + " of " + side, Kind: KindNoisy, Unit: of.Unit, Better: of.Better, Allow: of.Allow, Holm: 1}
	if !ok {
		f.Why = fmt.Sprintf("too few cells to compare %s with itself; --control takes a second run of BASE", side)
	} else {
		f.Ratio, f.Interval, f.N = &r, r.At(1-2*float64(v.Rules.Alpha)), r.N
		// Either way, so twice; the mirrored limit makes both as far from 1.
		far := max(f.limit(), 1/f.limit())
		f.Holm = min(1, 2*min(r.PAbove(far), r.PBelow(1/far)))
	}
	v.Control.Findings = append(v.Control.Findings, f)
}

// halves compares the two cells of one side in each block, which all know the figure. Which one is first changes from
// block to block, so that a steady drift, which falls out of the gate's own figures, falls
// out here too.
func halves(fig figure, blocks [][4]*result.Cell, first, second int) (r stats.Ratio, ok bool) {
	var all [][4]float64
	for k, b := range blocks {
		x, y := fig.value(b[first]), fig.value(b[second])
		if k%2 == 1 {
			x, y = y, x
		}
		all = append(all, [4]float64{*x, *y, *y, *x})
	}
	return stats.PairedRatio(all)
}

// parity compares a run's odd repetitions with its even ones.
func parity(fig figure, cells []*result.Cell) (stats.Ratio, bool) {
	var half [2][]float64
	for _, c := range cells {
		if v := fig.value(c); v != nil {
			half[c.Repetition&1] = append(half[c.Repetition&1], *v)
		}
	}
	return stats.RatioOf(half[1], half[0])
}

// second compares a second run of the base with the first.
func second(fig figure, p *point) (stats.Ratio, bool) {
	if p == nil {
		return stats.Ratio{}, false
	}
	return p.ratio(fig)
}
