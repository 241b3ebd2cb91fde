package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

const (
	// seeds is the number of plans that a candidate near the answer is played with.
	seeds = 3
	// step: the next candidate after a failed one is larger by at least 1/step, which doubles with
	// each failure.
	step = 16
	// mergedMore is the share of requests that shorter queues may save by merging. A strategy that
	// sends every change is chosen for doing so.
	mergedMore = 0.001
	// maxLate is the number of unmeasurable settings after which a strategy is left out.
	maxLate = 2
)

// chooser picks the settings that are worth a measurement, from predictions and measurements.
type chooser struct {
	space  space
	judge  judge
	screen screen
	late   map[string][]Setting // could not be measured, by strategy
}

// bound is the limit for predictions that are worth a measurement: the objective's bound, or the lowest prediction
// with tolerance. 0 if nothing is known.
func (x *chooser) bound() float64 {
	if !x.judge.objective.relative() {
		return x.judge.objective.Bound.Seconds()
	}
	low := math.Inf(1)
	for _, strategy := range x.space.strategies {
		if !x.judge.wrong(strategy) && !x.out(strategy) {
			low = min(low, x.lowest(strategy))
		}
	}
	if math.IsInf(low, 1) {
		return 0
	}
	return low * x.judge.factor * (1 + tolerance)
}

// lowest is the lowest prediction among a strategy's rungs that the next rung confirms, so that a
// lucky one does not set the bound. Infinite without any.
func (x *chooser) lowest(strategy string) float64 {
	low, next := math.Inf(1), 0.0
	for _, s := range slices.Backward(x.space.rungs(strategy)) {
		c, v := x.judge.cand(s), math.Inf(1)
		if p := x.judge.predicted(c); p != nil && c.excluded == "" {
			v = *p
		}
		low, next = min(low, max(v, next)), v/(1+tolerance)
	}
	return low
}

// answer is the smallest setting of a strategy that is measured, or else predicted, to hold the objective; nil if none
// is. Its larger neighbour holds it, too. Measurements take precedence, except that with a relative objective a smaller
// setting above one that was too slow may do.
func (x *chooser) answer(ctx context.Context, strategy string) (*candidate, error) {
	if x.judge.wrong(strategy) || x.out(strategy) {
		return nil, nil
	}
	proven, bound := x.proven(strategy), x.bound()
	_, least := x.floor(strategy)
	if proven != nil && (!x.judge.objective.relative() || least == 0) {
		return proven, nil
	}
	var all []*candidate
	for _, s := range x.space.rungs(strategy) {
		if s.Queues >= least && (proven == nil || s.Queues < proven.set.Queues) {
			all = append(all, x.judge.cand(s))
		}
	}
	for i, c := range all {
		if !x.judge.holds(c, bound) || i+1 < len(all) && !x.judge.near(all[i+1], bound) {
			continue
		}
		if err := x.screen.play(ctx, seeds, c); err != nil {
			return nil, err
		}
		if !x.judge.holds(c, bound) {
			continue
		}
		low := max(least, x.space.queues.Low) - 1
		if i > 0 {
			low = all[i-1].set.Queues
		}
		c, err := x.refine(ctx, low, c, bound)
		if err != nil {
			return nil, err
		}
		if c, err = x.fitted(ctx, c.set); err != nil {
			return nil, err
		}
		if len(c.cells) > 0 || x.judge.holds(c, bound) {
			return c, nil
		}
		break
	}
	return proven, nil
}

// refine bisects between a number of queues that is too small and a candidate that holds.
func (x *chooser) refine(ctx context.Context, low int, c *candidate, bound float64) (*candidate, error) {
	if !numbered(c.set.Strategy) {
		return c, nil
	}
	for c.set.Queues-low > 1 {
		mid := x.judge.cand(x.space.roomy(c.set.Strategy, (low+c.set.Queues)/2))
		if err := x.screen.play(ctx, seeds, mid); err != nil {
			return c, err
		}
		if x.judge.holds(mid, bound) {
			c = mid
		} else {
			low = mid.set.Queues
		}
	}
	return c, nil
}

// fitted is a setting with queues that hold twice the events that wait in virtual time, or more if shorter queues drop
// or merge events that the longest keep.
func (x *chooser) fitted(ctx context.Context, s Setting) (*candidate, error) {
	long := x.judge.cand(x.space.roomy(s.Strategy, s.Queues))
	if err := x.screen.play(ctx, seeds, long); err != nil {
		return nil, err
	}
	for s = x.space.fit(long); ; s.HandlerLen *= 2 {
		s.HandlerLen = min(s.HandlerLen, long.set.HandlerLen)
		c := x.judge.cand(s)
		if err := x.screen.play(ctx, seeds, c); err != nil {
			return nil, err
		}
		fewer := long.requests() - c.requests()
		if s.HandlerLen == long.set.HandlerLen ||
			c.excluded == "" && (merges(s.Strategy) || float64(fewer) <= mergedMore*float64(long.requests())) {
			return c, nil
		}
	}
}

// ranked lists the measured settings that hold, cheapest first. One that holds below a larger one that fails was lucky.
func (x *chooser) ranked() []*candidate {
	held := slices.DeleteFunc(x.judge.known(), func(c *candidate) bool {
		failed, _ := x.floor(c.set.Strategy)
		return !x.judge.confirmed(c) || x.judge.wrong(c.set.Strategy) || c.set.Queues <= failed
	})
	slices.SortStableFunc(held, x.cost)
	return held
}

// proven is the smallest measured setting of a strategy that holds.
func (x *chooser) proven(strategy string) *candidate {
	for _, c := range x.ranked() {
		if c.set.Strategy == strategy {
			return c
		}
	}
	return nil
}

// floor returns the largest number of queues that failed when measured, -1 without any, and the smallest that is still
// worth trying: a step above that, and above settings that could not be measured.
func (x *chooser) floor(strategy string) (most, least int) {
	most = -1
	fails := 0
	for _, c := range x.judge.cands {
		if c.set.Strategy != strategy || len(c.cells) == 0 {
			continue
		}
		if v := x.judge.verdict(c); v != result.TunedHolds && v != result.TunedInvalid {
			most, fails = max(most, c.set.Queues), fails+1
		}
	}
	if fails > 0 {
		least = most + max(1, most*min(step/2, 1<<(fails-1))/step)
	}
	for _, s := range x.late[strategy] { // the next one may be measured
		least = max(least, s.Queues+max(1, s.Queues/step))
	}
	return most, least
}

// finalists lists the answers of all strategies, cheapest first.
func (x *chooser) finalists(ctx context.Context) (all []*candidate, err error) {
	for _, strategy := range x.space.strategies {
		c, err := x.answer(ctx, strategy)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, x.cost)
	return all, nil
}

// closest is the cheapest setting near the lowest value of the strategies; nil without any.
func (x *chooser) closest(strategies ...string) *candidate {
	var all []*candidate
	low := math.Inf(1)
	for _, c := range x.judge.known() {
		if v := x.judge.value(c); v != nil && x.among(c, strategies) {
			all, low = append(all, c), min(low, *v)
		}
	}
	slices.SortStableFunc(all, x.cost)
	for _, c := range all {
		if *x.judge.value(c) <= low*(1+tolerance) {
			return c
		}
	}
	return nil
}

// measured is the cheapest measured setting of the strategies that holds, else the lowest; nil without any.
func (x *chooser) measured(strategies ...string) *candidate {
	for _, c := range x.ranked() {
		if x.among(c, strategies) {
			return c
		}
	}
	return x.judge.least(x.judge.worst, func(c *candidate) bool { return x.among(c, strategies) })
}

// among reports whether a candidate is of one of the strategies, and that is not ruled out.
func (x *chooser) among(c *candidate, strategies []string) bool {
	return slices.Contains(strategies, c.set.Strategy) && !x.judge.wrong(c.set.Strategy)
}

// cost orders settings: fewer requests in flight first, then fewer requests, then shorter queues.
func (x *chooser) cost(a, b *candidate) int {
	return cmp.Or(cmp.Compare(x.inFlight(a), x.inFlight(b)), cmp.Compare(a.requests(), b.requests()),
		cmp.Compare(a.set.HandlerLen, b.set.HandlerLen), bySize(a.set, b.set))
}

// inFlight is the number of requests that a setting can have in flight, or had if it sets none.
func (x *chooser) inFlight(c *candidate) (peak float64) {
	if n := x.space.most(c.set); n > 0 {
		return float64(n)
	}
	for _, f := range slices.Concat(c.by, c.valid()) {
		if f.InFlight != nil {
			peak = max(peak, *f.InFlight)
		}
	}
	return peak
}

// out reports whether a strategy is left out because its settings could not be measured.
func (x *chooser) out(strategy string) bool {
	n := len(x.late[strategy])
	return n >= maxLate || n > 0 && !numbered(strategy)
}
