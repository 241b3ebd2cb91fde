package tune

import (
	"cmp"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// predicted is the worst of the seeds, nil where one is not known.
func (x *Search) predicted(c *candidate) *float64 {
	var worst *float64
	for i := range c.by {
		v := x.o.Objective.of(&c.by[i])
		if v == nil {
			return nil
		}
		if worst == nil || *v > *worst {
			worst = v
		}
	}
	return worst
}

// value is what is to be expected of a candidate: what was measured, else what was
// predicted, corrected by how wrong predictions were. nil if it is out or not known.
func (x *Search) value(c *candidate) *float64 {
	if c.excluded != "" {
		return nil
	}
	if m, measured := x.worst(c); measured {
		return m
	}
	if p := x.predicted(c); p != nil {
		return new(*p * x.factor)
	}
	return nil
}

// worst is the worst of the valid cells, nil if that is not known; known says that there are.
func (x *Search) worst(c *candidate) (worst *float64, known bool) {
	for i := range c.cells {
		if !c.cells[i].Valid {
			continue
		}
		v := x.o.Objective.of(&c.cells[i].Figures)
		if v == nil {
			return nil, true
		}
		if known = true; worst == nil || *v > *worst {
			worst = v
		}
	}
	return worst, known
}

// relative reports whether the objective is the fastest setting that was measured, not a bound.
func (x *Search) relative() bool { return x.o.Objective.Bound == 0 }

// values are those of the valid cells.
func (x *Search) values(c *candidate) (all []float64) {
	for i := range c.cells {
		if v := x.o.Objective.of(&c.cells[i].Figures); c.cells[i].Valid && v != nil {
			all = append(all, *v)
		}
	}
	return all
}

// slower reports whether a measured setting is slower than another beyond chance: its median by more than tolerance
// and, where both have enough repetitions, shown to differ, or more than what counts as the same.
func (x *Search) slower(c, than *candidate) bool {
	base, mine := x.values(than), x.values(c)
	low, known := stats.Median(base)
	v, ok := stats.Median(mine)
	if !known || !ok || v <= low*(1+tolerance) {
		return false
	}
	r := stats.Against([][]float64{base}, [][]float64{mine})[0]
	return r.N == 0 || r.Differs() || r.Median > stats.Same
}

// least is the candidate of those that are wanted whose value is lowest; nil if none has one.
func (x *Search) least(value func(*candidate) *float64, want func(*candidate) bool) (best *candidate) {
	low := math.Inf(1)
	for _, c := range x.all() {
		if v := value(c); v != nil && *v < low && c.excluded == "" && want(c) {
			best, low = c, *v
		}
	}
	return best
}

// slowest is the worst of the valid cells, nil if that is not known.
func (x *Search) slowest(c *candidate) *float64 {
	v, _ := x.worst(c)
	return v
}

// fastest is the setting with the lowest median of those that were measured without fault; nil if there is none.
func (x *Search) fastest() *candidate {
	return x.least(func(c *candidate) *float64 {
		if v, ok := stats.Median(x.values(c)); ok {
			return &v
		}
		return nil
	}, x.sound)
}

// lucky is the fastest setting if it would rule out one with more valid cells; it is repeated before that counts.
func (x *Search) lucky() *candidate {
	f := x.fastest()
	if !x.relative() || f == nil || x.valid(f) >= x.o.Repeat || len(f.cells) > 2*x.o.Repeat {
		return nil
	}
	for _, c := range x.cands {
		if x.valid(c) > x.valid(f) && x.slower(c, f) {
			return f
		}
	}
	return nil
}

// bound is what a prediction must stay within to be worth a measurement: the objective's bound, or what is as good as
// the lowest prediction. 0 if nothing is known.
func (x *Search) bound() float64 {
	if !x.relative() {
		return x.o.Objective.Bound.Seconds()
	}
	low := math.Inf(1)
	for _, strategy := range x.o.Strategies {
		if !x.wrong(strategy) && !x.out(strategy) {
			low = min(low, x.lowest(strategy))
		}
	}
	if math.IsInf(low, 1) {
		return 0
	}
	return low * x.factor * (1 + tolerance)
}

// lowest is the lowest prediction of a strategy's rungs whose next one comes near it, so that
// one that was lucky does not set the bound. Infinite if there is none.
func (x *Search) lowest(strategy string) float64 {
	low := math.Inf(1)
	rungs := x.rungs(strategy)
	for i, s := range rungs {
		v := x.allowed(s)
		if i+1 < len(rungs) {
			v = max(v, x.allowed(rungs[i+1])/(1+tolerance))
		}
		low = min(low, v)
	}
	return low
}

// allowed is what a setting is predicted to come to, infinite if it is out or not known.
func (x *Search) allowed(s Setting) float64 {
	if c := x.cand(s); c.excluded == "" {
		if v := x.predicted(c); v != nil {
			return *v
		}
	}
	return math.Inf(1)
}

// holds judges a candidate: by its valid cells where it has some, else by prediction.
func (x *Search) holds(c *candidate, bound float64) bool {
	if _, measured := x.worst(c); measured {
		return x.verdict(c) == result.TunedHolds
	}
	v := x.value(c)
	if v == nil {
		return false
	}
	if !x.relative() {
		bound *= 1 - margin
	}
	return *v <= bound
}

// confirmed reports whether a setting was measured and may be recommended.
func (x *Search) confirmed(c *candidate) bool {
	return c.excluded == "" && len(c.cells) > 0 && x.verdict(c) == result.TunedHolds
}

// verdict is that of the measurements alone.
func (x *Search) verdict(c *candidate) string {
	v, measured := x.worst(c)
	switch {
	case slices.ContainsFunc(c.cells, func(t result.TunedCell) bool { return len(t.Failed) > 0 }):
		return result.TunedWrong
	case !measured && len(c.cells) > 0:
		return result.TunedInvalid
	case !measured:
		return result.TunedUnmeasured
	case !x.sound(c):
		return result.TunedFails
	case !x.relative() && *v > x.o.Objective.Bound.Seconds():
		return result.TunedFails
	}
	if f := x.fastest(); x.relative() && f != nil && x.slower(c, f) {
		return result.TunedFails
	}
	return result.TunedHolds
}

// sound reports whether every valid cell lost nothing, kept up, is within the limits and has a figure.
func (x *Search) sound(c *candidate) bool {
	v, _ := x.worst(c)
	return v != nil && !x.tooBig(c) && !slices.ContainsFunc(c.cells, func(t result.TunedCell) bool {
		return len(t.Failed) > 0 || t.Valid && (!t.Safe || x.o.Objective.Rate > 0 && t.KeepsUp != nil && !*t.KeepsUp)
	})
}

// tooBig reports whether a cell took more memory than allowed, or a number that is not known.
func (x *Search) tooBig(c *candidate) bool {
	limit := float64(x.o.Limits.Memory) / (1 << 20)
	return limit > 0 && slices.ContainsFunc(c.cells, func(t result.TunedCell) bool {
		return t.Valid && (t.Figures.RSSMiB == nil || *t.Figures.RSSMiB > limit)
	})
}

// cost orders settings: fewer requests in flight first, of those that have none to be set
// what they came to; then fewer requests, then shorter queues.
func (x *Search) cost(a, b *candidate) int {
	return cmp.Or(cmp.Compare(x.inFlight(a), x.inFlight(b)), cmp.Compare(x.requests(a), x.requests(b)),
		cmp.Compare(a.set.HandlerLen, b.set.HandlerLen), bySize(a.set, b.set))
}

// inFlight is what a setting may have in flight, or came to.
func (x *Search) inFlight(c *candidate) float64 {
	if n := most(c.set, x.kinds); n > 0 {
		return float64(n)
	}
	peak := 0.0
	for _, f := range c.by {
		if f.InFlight != nil {
			peak = max(peak, *f.InFlight)
		}
	}
	for i := range c.cells {
		if v := c.cells[i].Figures.InFlight; v != nil {
			peak = max(peak, *v)
		}
	}
	return peak
}

func (x *Search) requests(c *candidate) int64 {
	if len(c.by) == 0 {
		return 0
	}
	return c.by[0].Requests
}
