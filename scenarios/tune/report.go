package tune

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// Run searches. What was measured is in the tuning whatever the error, which is nil, the
// cause of ctx, or that of a simulation or a measurement.
func (x *Search) Run(ctx context.Context) (*result.Tuning, error) {
	t := &result.Tuning{
		Schema: result.TuningSchema, Started: time.Now(), Scenario: x.base.Metadata.Name, Provider: x.base.Cluster.Provider,
		Objective: objectiveOf(x.o.Objective), Limits: x.o.Limits.Text, Identity: Identity(x.o), Best: -1, RunnerUp: -1, Original: -1,
		Asked: x.asked(),
	}
	var best *candidate
	x.began = t.Started
	err := x.screenInTime(ctx)
	if err == nil {
		best, err = x.confirm(ctx)
	}
	if errors.Is(err, errBudget) {
		x.notes, err = append(x.notes, fmt.Sprintf("measuring ended after %s, its --budget", time.Since(x.began).Round(time.Second))), nil
		if best == nil || !x.confirmed(best) {
			if c := x.cheapest(); c != nil {
				best = c
			}
		}
	}
	if err == nil && best != nil {
		t.Changes, err = x.changes(ctx, best.set)
	}
	if ctx.Err() != nil && best == nil {
		best = x.cheapest()
	}
	if err == nil && best != nil {
		t.Lengths, err = x.lengths(ctx, best, x.runnerUp(best))
	}
	x.fill(t, best)
	t.Interrupted, t.Finished = ctx.Err() != nil, time.Now()
	return t, err
}

// Identity is what cells of one search must share to be used in another: all but the
// settings that are searched, and the objective.
func Identity(o Options) string {
	name, data, sets := o.Scenario.Source()
	return fmt.Sprintf("%s\n%s\n%s", name, strings.Join(sets, "\n"), data)
}

// asked is the question in figures.
func (x *Search) asked() []result.TuningFact {
	s := x.base
	facts := []result.TuningFact{{Name: "load", Value: load(s, x.planned)}, {Name: "storage", Value: x.storage()}}
	if c := s.Storage.Capacity.Text(); c != "" {
		facts = append(facts, result.TuningFact{Name: "storage capacity", Value: c})
	}
	if len(x.kinds) > 1 {
		facts = append(facts, result.TuningFact{Name: "kinds", Value: strings.Join(x.kinds, ", ")})
	}
	return append(facts, result.TuningFact{Name: "when a queue is full", Value: s.Watcher.QueueFull})
}

func (x *Search) storage() string {
	f := x.base.Storage.LatencyFigures(podKind)
	if f.Mean == 0 {
		return x.base.Storage.Latency
	}
	return fmt.Sprintf("answers in %s ms at the median, %s ms at the 99th percentile, %s ms on average", ms(f.P50), ms(f.P99), ms(f.Mean))
}

func ms(d time.Duration) string { return figure(float64(d) / 1e6) }

// fill puts all that was found into the tuning.
func (x *Search) fill(t *result.Tuning, best *candidate) {
	if t.Met = best != nil && x.confirmed(best); t.Met && x.valid(best) < x.o.Repeat {
		x.notes = append(x.notes, fmt.Sprintf("%s was measured %s instead of %d", best.set.Name(), units.Count(x.valid(best), "time"), x.o.Repeat))
	}
	all := x.all()
	original := x.original(x.ranked())
	var runner *candidate
	if best != nil {
		runner = x.runnerUp(best)
	}
	for i, c := range all {
		t.Candidates = append(t.Candidates, x.entry(c))
		for at, which := range map[*int]*candidate{&t.Best: best, &t.RunnerUp: runner, &t.Original: original} {
			if which == c {
				*at = i
			}
		}
	}
	t.Simulations, t.Measured, t.Reused = x.sims, x.measured, x.reused
	for _, strategy := range x.o.Strategies {
		t.Exhaustive += len(x.rungs(strategy)) * max(1, x.o.Repeat)
	}
	t.Notes = x.notes
	if best != nil {
		t.Sentence, t.Why = x.sentence(best, t.Met), x.why(best, runner)
	} else {
		t.Sentence = "Nothing was measured, so nothing is recommended."
	}
	t.Fragments = x.fragments(t.At(t.Best), t.At(t.Original), t.Met)
}

// all are the candidates of which anything is known, in order.
func (x *Search) all() (all []*candidate) {
	for _, s := range slices.SortedFunc(maps.Keys(x.cands), bySize) {
		if c := x.cands[s]; len(c.by) > 0 || len(c.cells) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// ranked are those that were measured and hold, cheapest first. What holds below a larger one that does not was lucky.
func (x *Search) ranked() []*candidate {
	held := slices.DeleteFunc(x.all(), func(c *candidate) bool {
		failed, _ := x.floor(c.set.Strategy)
		return !x.confirmed(c) || x.wrong(c.set.Strategy) || c.set.Queues <= failed
	})
	slices.SortStableFunc(held, x.cost)
	return held
}

// runnerUp is the cheapest of another strategy that was measured and holds, else what was
// measured of one.
func (x *Search) runnerUp(best *candidate) *candidate {
	for _, c := range x.ranked() {
		if c.set.Strategy != best.set.Strategy {
			return c
		}
	}
	return x.least(x.slowest, func(c *candidate) bool { return c.set.Strategy != best.set.Strategy })
}

func (x *Search) entry(c *candidate) result.TunedCandidate {
	e := result.TunedCandidate{Setting: c.set, Seeds: len(c.by), Excluded: c.excluded, Cells: c.cells, Value: x.predicted(c), Verdict: x.verdict(c)}
	for i := range c.by {
		v := x.o.Objective.of(&c.by[i])
		if i == 0 || v != nil && e.Value != nil && *v == *e.Value {
			e.Predicted = c.by[i]
		}
	}
	e.Measured, _ = x.worst(c)
	if k, ok := stats.Median(x.ratios(c)); ok {
		e.Error = new(k - 1)
	}
	if e.Verdict == result.TunedWrong {
		for _, t := range c.cells {
			if len(t.Failed) > 0 {
				e.Excluded = "fails " + strings.Join(t.Failed, " ")
			}
		}
	}
	return e
}
