package search

import (
	"maps"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

const (
	// margin by which a prediction must stay below a bound: fresh seeds differ.
	margin = 0.05
	// tolerance within which values count as equally low if the objective has no bound.
	tolerance = 0.05
)

// judge turns predictions and measurements into verdicts.
type judge struct {
	objective Objective
	of        func(*Figures) *float64 // the objective's figure
	memory    float64                 // MiB that a watcher may take; 0: any
	repeat    int
	factor    float64 // measured ÷ predicted, so far
	cands     map[Setting]*candidate
}

func newJudge(o *Options) judge {
	of, _ := o.Objective.figure()
	return judge{o.Objective, of, float64(o.Limits.Memory) / (1 << 20), o.Repeat, 1, map[Setting]*candidate{}}
}

func (j *judge) cand(s Setting) *candidate {
	if j.cands[s] == nil {
		j.cands[s] = &candidate{set: s}
	}
	return j.cands[s]
}

// known lists the candidates with a prediction or a cell, in order.
func (j *judge) known() (all []*candidate) {
	for _, s := range slices.SortedFunc(maps.Keys(j.cands), bySize) {
		if c := j.cands[s]; len(c.by) > 0 || len(c.cells) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// predicted is the worst prediction over the plans.
func (j *judge) predicted(c *candidate) *float64 { return highest(c.by, j.of) }

// worst is the worst value of the valid cells.
func (j *judge) worst(c *candidate) *float64 { return highest(c.valid(), j.of) }

// value is the expected value of a candidate: measured, else predicted and corrected by the error
// of predictions so far. nil if it is excluded or unknown.
func (j *judge) value(c *candidate) *float64 {
	if c.excluded != "" {
		return nil
	}
	if len(c.valid()) > 0 {
		return j.worst(c)
	}
	if p := j.predicted(c); p != nil {
		return new(*p * j.factor)
	}
	return nil
}

// values of the valid cells.
func (j *judge) values(c *candidate) (all []float64) {
	for _, f := range c.valid() {
		if v := j.of(&f); v != nil {
			all = append(all, *v)
		}
	}
	return all
}

// slower reports whether a measured setting is slower than another beyond chance: its median by more than tolerance
// and, where both have enough repetitions, shown to differ, or more than what counts as the same.
func (j *judge) slower(c, than *candidate) bool {
	base, mine := j.values(than), j.values(c)
	low, known := stats.Median(base)
	v, ok := stats.Median(mine)
	if !known || !ok || v <= low*(1+tolerance) {
		return false
	}
	r := stats.Against([][]float64{base}, [][]float64{mine})[0]
	return r.N == 0 || r.Differs() || r.Median > stats.Same
}

// least is the wanted candidate with the lowest value; nil if none has one.
func (j *judge) least(value func(*candidate) *float64, want func(*candidate) bool) (best *candidate) {
	low := math.Inf(1)
	for _, c := range j.known() {
		if v := value(c); v != nil && *v < low && c.excluded == "" && want(c) {
			best, low = c, *v
		}
	}
	return best
}

// fastest is the setting with the lowest median among those that were measured without fault; nil without any.
func (j *judge) fastest() *candidate {
	return j.least(func(c *candidate) *float64 {
		if v, ok := stats.Median(j.values(c)); ok {
			return &v
		}
		return nil
	}, j.sound)
}

// lucky is the fastest setting if it would rule out one with more valid cells; it is repeated before that counts.
func (j *judge) lucky() *candidate {
	f := j.fastest()
	if !j.objective.relative() || f == nil || len(f.valid()) >= j.repeat || len(f.cells) > 2*j.repeat {
		return nil
	}
	for _, c := range j.cands {
		if len(c.valid()) > len(f.valid()) && j.slower(c, f) {
			return f
		}
	}
	return nil
}

// holds judges a candidate by its valid cells if it has any, else by prediction.
func (j *judge) holds(c *candidate, bound float64) bool {
	if len(c.valid()) > 0 {
		return j.verdict(c) == result.TunedHolds
	}
	if !j.objective.relative() {
		bound *= 1 - margin
	}
	v := j.value(c)
	return v != nil && *v <= bound
}

// near reports whether a candidate holds the bound within tolerance.
func (j *judge) near(c *candidate, bound float64) bool {
	v := j.value(c)
	return v != nil && *v <= bound*(1+tolerance)
}

// confirmed reports whether a setting was measured and may be recommended.
func (j *judge) confirmed(c *candidate) bool {
	return c != nil && c.excluded == "" && j.verdict(c) == result.TunedHolds
}

// verdict by measurements alone.
func (j *judge) verdict(c *candidate) string {
	switch v := j.worst(c); {
	case c.failed() != nil:
		return result.TunedWrong
	case len(c.cells) == 0:
		return result.TunedUnmeasured
	case len(c.valid()) == 0:
		return result.TunedInvalid
	case !j.sound(c), !j.objective.relative() && *v > j.objective.Bound.Seconds():
		return result.TunedFails
	}
	if f := j.fastest(); j.objective.relative() && f != nil && j.slower(c, f) {
		return result.TunedFails
	}
	return result.TunedHolds
}

// sound reports whether every valid cell lost nothing, kept up, is within the memory limit and has a figure.
func (j *judge) sound(c *candidate) bool {
	return j.worst(c) != nil && c.failed() == nil && !slices.ContainsFunc(c.cells, func(t result.TunedCell) bool {
		m := t.Figures.RSSMiB
		return t.Valid && (!t.Safe || j.objective.Rate > 0 && t.KeepsUp != nil && !*t.KeepsUp ||
			j.memory > 0 && (m == nil || *m > j.memory))
	})
}

// wrong reports whether a check failed in any cell of a strategy, which rules it out.
func (j *judge) wrong(strategy string) bool {
	for _, c := range j.cands {
		if c.set.Strategy == strategy && c.failed() != nil {
			return true
		}
	}
	return false
}

// ratios returns measured ÷ predicted of the valid cells whose plan was simulated as well.
func (j *judge) ratios(c *candidate, plans []uint64) (all []float64) {
	for i := range c.cells {
		t := &c.cells[i]
		rep := slices.Index(plans, t.Seed)
		if !t.Valid || rep < 0 || rep >= len(c.by) {
			continue
		}
		if m, p := j.of(&t.Figures), j.of(&c.by[rep]); m != nil && p != nil && *p > 0 {
			all = append(all, *m / *p)
		}
	}
	return all
}

// learn updates the correction of predictions from all measurements.
func (j *judge) learn(plans []uint64) {
	var ratios []float64
	for _, c := range j.cands {
		if c.excluded == "" {
			ratios = append(ratios, j.ratios(c, plans)...)
		}
	}
	if k, ok := stats.Median(ratios); ok {
		j.factor = min(max(k, 0.25), 4)
	}
}
