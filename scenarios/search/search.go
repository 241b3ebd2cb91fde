package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const (
	// seeds is the number of plans that a candidate is played with.
	seeds = 3
	// margin by which a prediction must stay below the bound: fresh seeds differ.
	margin = 0.05
	// hopeless is the multiple of the bound beyond which a prediction is not worth a measurement.
	hopeless = 1.25
)

// Options of a search.
type Options struct {
	Scenario   *spec.File
	Objective  Objective
	Queues     Range
	Strategies []string
	Repeat     int           // measurements of the answer
	Budget     time.Duration // of the whole search; 0: any
	Simulate   Simulator
}

// Search decides what to play and to measure next. It is not safe for concurrent use.
type Search struct {
	options Options
	of      func(*Figures) *float64 // the objective's figure
	file    *spec.File              // what the candidates override
	base    spec.Scenario
	kinds   []string // that are watched
	planned int64    // writes of the load
	length  time.Duration
	ladders []*ladder // the most promising first, once they are played

	measurer                  Measurer
	line                      func(format string, args ...any)
	began                     time.Time
	spent                     time.Duration // on measuring
	factor                    float64       // measured ÷ predicted, so far
	played, measured, retries int
	notes                     []string
}

// New prepares a search and refuses a scenario that cannot be searched.
func New(o Options) (*Search, error) {
	x := &Search{options: o, factor: 1}
	x.of, _ = o.Objective.figure()
	first := Setting{Strategy: o.Strategies[0], Queues: 1, WriterLen: leastWriter, HandlerLen: leastWriter}
	var err error
	if x.file, err = o.Scenario.With(append(overrides(first), "repeat=1", "thresholds=")...); err != nil {
		return nil, err
	}
	x.base = x.file.Base()
	if err = onePoint(x.file.Cells()); err == nil {
		err = refuse(&x.base)
	}
	if err != nil {
		return nil, err
	}
	for _, strategy := range o.Strategies {
		x.ladders = append(x.ladders, settings(strategy, o.Queues))
	}
	return x, x.extent()
}

// onePoint refuses a scenario with several points besides what is searched.
func onePoint(cells []spec.Cell) error {
	if len(cells) == 1 {
		return nil
	}
	axis := spec.Param{Name: "AXIS", Value: "POINT"}
	for _, p := range cells[0].Params {
		if slices.ContainsFunc(cells, func(c spec.Cell) bool { return !slices.Contains(c.Params, p) }) {
			axis = p
			break
		}
	}
	return badinput.New(fmt.Sprintf("choose one, for example --set matrix.%s=%s", axis.Name, axis.Value),
		"%s has %d points besides what is searched: tune needs one", cells[0].Scenario.Metadata.Name, len(cells))
}

// refuse names what cannot be searched.
func refuse(s *spec.Scenario) error {
	switch {
	case s.Traced():
		return badinput.New("use a scenario with a load", "tune does not search with a trace")
	case s.Load.Model != plan.ModelOpen:
		return badinput.New("use --set load.model=open, another scenario, or --rate",
			"%s is a closed loop, whose rate follows the answers: there is nothing to tune for", s.Metadata.Name)
	case s.Watcher.Command != "" || s.Watcher.Profile != "default":
		return badinput.New("drop watcher.command and watcher.profile", "tune searches the settings of k8s-watch")
	}
	return nil
}

// extent sets the size and the length of the load.
func (x *Search) extent() error {
	s := &x.base
	p, err := plan.New(s.Load.Plan("tune", s.Seed))
	if err != nil {
		return badinput.New("see watchbench scenarios validate", "%v", err)
	}
	x.kinds, x.planned, x.length = s.Kinds(), p.Planned(), s.Load.Duration.Std()
	if s.Simulated() {
		x.length = s.Speed().Length(x.length)
	}
	if o := &x.options.Objective; o.Metric == metricDrain && o.Bound <= x.length {
		return badinput.New("use a longer time, or drainAfterLoad="+o.Bound.String(),
			"--objective %s: the load alone lasts %s", o.Text, x.length)
	}
	return nil
}

// Run searches and reports its steps in lines; after an error or interruption it returns what was found so far.
func (x *Search) Run(ctx context.Context, m Measurer, line func(string)) (*result.Tuning, error) {
	x.measurer, x.began = m, time.Now()
	x.line = func(format string, args ...any) { line(fmt.Sprintf(format, args...)) }
	err := x.screen(ctx)
	if err == nil {
		err = x.decide(ctx)
	}
	if errors.Is(err, errBudget) {
		x.note("the search ended after %s, its --budget", time.Since(x.began).Round(time.Second))
		err = nil
	}
	t := x.report()
	t.Interrupted = ctx.Err() != nil
	return t, err
}

func (x *Search) note(format string, args ...any) {
	x.notes = append(x.notes, fmt.Sprintf(format, args...))
	x.line(format, args...)
}

// screen finds by simulation where each ladder is to be measured first.
func (x *Search) screen(ctx context.Context) error {
	for _, l := range x.ladders {
		at, err := edge(len(l.rungs), l.start, func(i int) (bool, error) {
			if err := x.play(ctx, l.rungs[i]); err != nil {
				return false, err
			}
			v := x.predicted(l.rungs[i])
			return v != nil && *v <= x.bound()*(1-margin), nil
		})
		if err != nil {
			return err
		}
		l.start = at
	}
	slices.SortStableFunc(x.ladders, func(a, b *ladder) int {
		return cmp.Or(cmp.Compare(a.unreachable(), b.unreachable()), x.cost(a.first(), b.first()))
	})
	took := time.Since(x.began).Round(100 * time.Millisecond)
	x.line("played %s in virtual time in %s", units.Count(x.played, "cell"), took)
	return nil
}

// decide climbs the ladders, cheapest first, until no other can be cheaper, and measures the best of another strategy
// and of bcs-k8s-watch's beside it; without an answer, what comes closest.
func (x *Search) decide(ctx context.Context) error {
	for _, l := range x.ladders {
		if best := x.best(); best != nil && (l.start < 0 || x.cost(best, l.rungs[l.start]) <= 0) {
			break
		}
		if err := x.climb(ctx, l); err != nil {
			return err
		}
	}
	best := x.best()
	if best == nil {
		if c := x.closest(x.options.Strategies); c != nil && len(c.cells) == 0 {
			x.line("nothing is predicted to hold the objective; to be measured: %s, which comes closest", c.set.Name())
			return x.measure(ctx, c)
		}
		return nil
	}
	for _, group := range [][]string{x.others(best.set.Strategy), originals} {
		i := slices.IndexFunc(x.ladders, func(l *ladder) bool { return slices.Contains(group, l.strategy) })
		if i < 0 || slices.Contains(group, best.set.Strategy) || x.ladders[i].start < 0 || x.ladders[i].measured() {
			continue
		}
		if err := x.measure(ctx, x.ladders[i].first()); err != nil {
			return err
		}
	}
	return nil
}

// others are the strategies but one.
func (x *Search) others(strategy string) []string {
	return slices.DeleteFunc(slices.Clone(x.options.Strategies), func(s string) bool { return s == strategy })
}

// climb measures the candidates of a ladder around its start, and the last one that holds as often as is asked for.
func (x *Search) climb(ctx context.Context, l *ladder) error {
	for {
		at, err := edge(len(l.rungs), max(0, l.start), func(i int) (bool, error) { return x.holds(ctx, l, l.rungs[i]) })
		if err != nil || at < 0 {
			return err
		}
		c := l.rungs[at]
		if len(c.valid()) >= x.options.Repeat || len(c.cells) > 2*x.options.Repeat {
			return nil
		}
		if err := x.measure(ctx, c); err != nil {
			return err
		}
	}
}

// holds reports whether a candidate holds the objective; it is measured, unless it is far off or its strategy is out.
func (x *Search) holds(ctx context.Context, l *ladder, c *candidate) (bool, error) {
	if l.wrong() {
		return false, nil
	}
	if len(c.cells) == 0 {
		if err := x.play(ctx, c); err != nil {
			return false, err
		}
		if v := x.predicted(c); v == nil || *v > hopeless*x.bound() {
			return false, nil
		}
		if err := x.measure(ctx, c); err != nil {
			return false, err
		}
	}
	return x.verdict(c) == result.TunedHolds, nil
}

func (x *Search) bound() float64 { return x.options.Objective.Bound.Seconds() }

// predicted is the worst prediction, corrected by former errors; nil if not known, or if events would be dropped.
func (x *Search) predicted(c *candidate) *float64 {
	if v := highest(c.by, x.of); v != nil && c.excluded == "" {
		return new(*v * x.factor)
	}
	return nil
}

// why says why a cell does not hold the objective; empty if it does.
func (x *Search) why(t *result.TunedCell) string {
	switch v := x.of(&t.Figures); {
	case len(t.Failed) > 0: // lateness explains no loss
		return strings.Join(t.Failed, ", ")
	case !t.Valid:
		return t.Reason
	case t.Cut:
		return "it was not drained when it was cut"
	case v == nil:
		return x.options.Objective.Metric + " is not known"
	case *v > x.bound():
		return fmt.Sprintf("%s was %s s", strings.Replace(x.options.Objective.Metric, ".", " ", 1), figure(*v))
	case !t.Safe:
		return "it is not known whether anything was lost"
	}
	return ""
}

// verdict by measurements alone.
func (x *Search) verdict(c *candidate) string {
	switch {
	case c.failed() != nil:
		return result.TunedWrong
	case len(c.cells) == 0:
		return result.TunedUnmeasured
	case len(c.valid()) == 0:
		return result.TunedInvalid
	case slices.ContainsFunc(c.cells, func(t result.TunedCell) bool { return t.Valid && x.why(&t) != "" }):
		return result.TunedFails
	}
	return result.TunedHolds
}

// answer is the last candidate of a ladder that was measured and holds, before the first that does not; nil without one.
func (x *Search) answer(l *ladder) (held *candidate) {
	if l.wrong() {
		return nil
	}
	for _, c := range l.rungs {
		switch v := x.verdict(c); {
		case v == result.TunedHolds:
			held = c
		case v != result.TunedUnmeasured && held != nil:
			return held
		}
	}
	return held
}

// best is the cheapest answer; nil without one.
func (x *Search) best() (best *candidate) {
	for _, l := range x.ladders {
		if c := x.answer(l); c != nil && (best == nil || x.cost(c, best) < 0) {
			best = c
		}
	}
	return best
}

// value is the objective's figure as far as known: the worst valid cell, else the prediction.
func (x *Search) value(c *candidate) *float64 {
	if len(c.valid()) > 0 {
		return highest(c.valid(), x.of)
	}
	return x.predicted(c)
}

// closest is the cheapest candidate expected to hold, else within 5 % of the lowest value; nil without one.
func (x *Search) closest(strategies []string) (best *candidate) {
	low := math.Inf(1)
	each := func(do func(*candidate, float64)) {
		for _, l := range x.ladders {
			for _, c := range l.rungs {
				if v := x.value(c); v != nil && !l.wrong() && slices.Contains(strategies, l.strategy) {
					do(c, *v)
				}
			}
		}
	}
	each(func(_ *candidate, v float64) { low = min(low, v) })
	each(func(c *candidate, v float64) {
		if v <= max(1.05*low, (1-margin)*x.bound()) && (best == nil || x.cost(c, best) < 0) {
			best = c
		}
	})
	return best
}
