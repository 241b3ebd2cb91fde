package search

import (
	"context"
	"fmt"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/reports/result"
)

// changes screens, with the strategy of the answer, what would be needed if the rate doubled, or
// storage took twice its mean latency.
func (x *Search) changes(ctx context.Context, best *candidate) (all []result.TuningChange, err error) {
	double, slower := x.options, x.options
	words, set := "the rate doubles", "load.rate="+number(2*x.base.Load.Rate)
	switch s := x.base; {
	case s.Traced():
		set = "cluster.replay.speed=" + units.Speed(s.Speed().Rate(2)).String()
	case x.length == 0:
		words = "the burst is twice as large"
	default:
		double.Asked *= 2
	}
	mean := x.base.Storage.MeanLatency(podKind)
	slower.Slower += mean
	if double.Scenario, err = x.options.Scenario.With(set); err != nil || x.base.Traced() && !x.base.Speed().Limited() {
		all = append(all, result.TuningChange{If: words, Answer: "not screened: it cannot be played faster"})
	} else {
		all = append(all, x.otherwise(ctx, words, double, best))
	}
	all = append(all, x.otherwise(ctx, fmt.Sprintf("each request takes %s ms longer", ms(mean)), slower, best))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return all, nil
}

// otherwise is the answer to another question.
func (x *Search) otherwise(ctx context.Context, words string, o Options, best *candidate) result.TuningChange {
	c := result.TuningChange{If: words}
	if err := x.screenOther(ctx, o, best, &c); err != nil {
		c.Answer = "not screened: " + err.Error()
	}
	return c
}

func (x *Search) screenOther(ctx context.Context, o Options, best *candidate, c *result.TuningChange) error {
	strategy := best.set.Strategy
	o.Strategies, o.Known = []string{strategy}, nil
	if v, p := x.judge.worst(best), x.judge.predicted(best); x.judge.objective.relative() && v != nil && p != nil {
		// The fastest setting of another load says little: the question is how to be as fast as now, with any plan.
		bound := max(*v, *p*x.judge.factor) * (1 + tolerance) / (1 - margin)
		o.Objective.Bound = time.Duration(bound * float64(time.Second))
	}
	other, err := New(o)
	if err != nil {
		return err
	}
	other.judge.factor = x.judge.factor
	defer func() { x.screen.played.Add(other.screen.played.Load()) }()
	if err := other.screenAll(ctx); err != nil {
		return err
	}
	found, err := other.answer(ctx, strategy)
	if err != nil {
		return err
	}
	closest := found == nil
	if closest {
		found = other.closest(strategy)
	}
	switch {
	case found == nil:
		c.Answer = "no setting of " + strategy + " is left within the limits"
		return nil
	case closest:
		c.Answer = fmt.Sprintf("no setting of %s would hold; %s comes closest", strategy, found.set.Name())
	case found.set.Queues == best.set.Queues:
		c.Answer = best.set.Name() + " would still do"
	default:
		c.Answer = found.set.Name() + " instead of " + best.set.Name()
	}
	if n := found.set.HandlerLen; n > best.set.HandlerLen && !closest {
		c.Answer += fmt.Sprintf(" (handlerQueueLen %d)", n)
	}
	c.Setting, c.Value = &found.set, other.judge.value(found)
	c.Answer += ", with " + other.said(c.Value)
	return nil
}
