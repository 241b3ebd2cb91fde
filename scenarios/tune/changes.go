package tune

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
)

// whatIf is something that may turn out otherwise.
type whatIf struct {
	words string
	sets  []string // overrides that make it so
	not   string   // why it cannot be screened
	rate  float64  // times the rate of writes
}

// changes screens, with the strategy of the answer, what would be needed if the load or the
// storage were otherwise.
func (x *Search) changes(ctx context.Context, best Setting) (all []result.TuningChange, err error) {
	for _, w := range x.whatIfs() {
		c := result.TuningChange{If: w.words}
		if w.not == "" {
			c, err = x.otherwise(ctx, w, best)
		}
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		switch {
		case w.not != "":
			c.Answer = "not screened: " + w.not
		case err != nil:
			c = result.TuningChange{If: w.words, Answer: "not screened: " + err.Error()}
		}
		all = append(all, c)
	}
	return all, nil
}

// whatIfs are twice the rate, twice the latency, and larger bursts.
func (x *Search) whatIfs() (all []whatIf) {
	s := x.base
	rate := whatIf{words: "the rate doubles"}
	burst := whatIf{words: "the same changes come in bursts of 5 times the rate, for a tenth of the time"}
	switch {
	case s.Traced() && s.Speed().Limited() && s.Speed().Rate(2) <= units.MaxSpeed:
		rate.sets = []string{"cluster.replay.speed=" + units.Speed(s.Speed().Rate(2)).String()}
		burst.not = "the recording says when changes come"
	case s.Traced():
		rate.not, burst.not = "the recording is played as fast as it is read", "the recording says when changes come"
	case x.length == 0:
		rate = whatIf{words: "the burst is twice as large", sets: []string{"load.rate=" + number(2*s.Load.Rate)}}
		burst.words = ""
	default:
		rate.sets, rate.rate = []string{"load.rate=" + number(2*s.Load.Rate)}, 2
		burst = x.bursts(burst)
	}
	latency := whatIf{words: "storage takes twice the time"}
	if text, ok := scaled(s.Storage.Latency, 2); ok {
		latency.sets = []string{"storage.latency=" + strconv.Quote(text)}
	} else {
		latency.not = "storage.latency cannot be doubled by rule"
	}
	all = append(all, rate, latency)
	if burst.words != "" {
		all = append(all, burst)
	}
	return all
}

// bursts makes bursts of an even load, and longer ones of one that has them.
func (x *Search) bursts(w whatIf) whatIf {
	l := x.base.Load
	switch l.Arrival {
	case "", plan.ArrivalConstant, plan.ArrivalPoisson:
		length := l.Duration.Std()
		w.sets = []string{
			"load.arrival=" + plan.ArrivalBurst, "load.rate=" + number(5*l.Rate),
			fmt.Sprintf("load.burst={period: %s, length: %s, base: %s}", length/2, length/20, number(l.Rate*0.5/0.9)),
		}
	case plan.ArrivalBurst:
		w.words = "bursts last twice as long"
		w.sets = []string{"load.burst.length=" + time.Duration(min(2*l.Burst.Length, l.Burst.Period)).String()}
	default:
		w.not = "arrival " + l.Arrival + " has bursts of its own"
	}
	return w
}

// otherwise is the answer to another question.
func (x *Search) otherwise(ctx context.Context, w whatIf, best Setting) (result.TuningChange, error) {
	c := result.TuningChange{If: w.words}
	f, err := x.o.Scenario.With(w.sets...)
	if err != nil {
		return c, err
	}
	o := x.o
	o.Scenario, o.Strategies, o.Line, o.Known, o.Measurer = f, []string{best.Strategy}, nil, nil, nil
	if o.Objective.Rate > 0 {
		o.Objective.Bound = 0 // by its own load
	}
	if v, p := x.slowest(x.cand(best)), x.predicted(x.cand(best)); x.relative() && v != nil && p != nil {
		// The fastest setting of another load says little: the question is how to be as fast as now, with any plan.
		o.Objective.Bound = time.Duration(max(*v, *p*x.factor) * (1 + tolerance) / (1 - margin) * float64(time.Second))
	}
	o.Asked *= max(1, w.rate)
	other, err := New(o)
	if err != nil {
		return c, err
	}
	other.factor, other.memory = x.factor, x.memory
	defer func() { x.sims += other.sims }()
	if err := other.screen(ctx); err != nil {
		return c, err
	}
	found, err := other.answer(ctx, best.Strategy)
	if err != nil {
		return c, err
	}
	if found == nil {
		found = other.closest(best.Strategy)
		if found == nil {
			c.Answer = "no setting of " + best.Strategy + " is left within the limits"
			return c, nil
		}
		c.Answer = fmt.Sprintf("no setting of %s would hold; %s comes closest", best.Strategy, found.set.Name())
	} else {
		c.Answer = found.set.Name() + " instead of " + best.Name()
		if found.set.Queues == best.Queues {
			c.Answer = best.Name() + " would still do"
		}
		if n := found.set.HandlerLen; n > best.HandlerLen {
			c.Answer += fmt.Sprintf(" (handlerQueueLen %d)", n)
		}
	}
	c.Setting, c.Value = &found.set, other.value(found)
	c.Answer += ", with " + other.said(c.Value)
	return c, nil
}

// number is a number in YAML.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }
