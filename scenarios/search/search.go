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
	Rate       bool // find the highest rate of each strategy, with the scenario's settings
	Queues     Range
	Strategies []string      // of a search for rates; none means another watcher
	Repeat     int           // measurements of the answer
	Budget     time.Duration // of the whole search; 0: any
	Simulate   Simulator
}

// Search decides what to play and to measure next. It is not safe for concurrent use.
type Search struct {
	options Options
	of      func(*Figures) *float64 // the objective's figure
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
	strategies := o.Strategies
	if len(strategies) == 0 {
		strategies = []string{""}
	}
	for _, strategy := range strategies {
		sets := []string{"repeat=1", "thresholds="}
		switch {
		case !o.Rate: // the axes of the watcher are the search's own
			sets = append(sets, overrides(Setting{Strategy: strategy, Queues: 1, WriterLen: leastWriter,
				HandlerLen: leastWriter})...)
		case strategy != "":
			sets = append(sets, "watcher.strategy="+strategy)
		}
		f, err := o.Scenario.With(sets...)
		if err != nil {
			return nil, err
		}
		if err := onePoint(f.Cells()); err != nil {
			return nil, err
		}
		x.base = f.Base()
		if o.Rate && strategy != "" && x.base.Watcher.Strategy != strategy {
			return nil, badinput.New("drop watcher.strategy from the matrix", "the matrix overrides the strategy %s", strategy)
		}
		if err := refuse(&x.base, o.Rate); err != nil {
			return nil, err
		}
		if o.Rate {
			x.ladders = append(x.ladders, rates(f))
		} else {
			x.ladders = append(x.ladders, settings(f, strategy, o.Queues))
		}
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
func refuse(s *spec.Scenario, rate bool) error {
	switch load := &s.Load; {
	case s.Traced():
		return badinput.New("use a scenario with a load", "tune does not search with a trace")
	case load.Model != plan.ModelOpen:
		return badinput.New("use --set load.model=open, another scenario, or --rate",
			"%s is a closed loop, whose rate follows the answers: there is nothing to tune for", s.Metadata.Name)
	case !rate && (s.Watcher.Command != "" || s.Watcher.Profile != "default"):
		return badinput.New("drop watcher.command and watcher.profile", "tune searches the settings of k8s-watch")
	case !rate:
		return nil
	case len(load.Steps) > 0:
		return badinput.New("write load.rate", "load.steps do not have one rate")
	case s.Simulated() && s.Speed() != 0 && s.Speed().Rate(1) != 1:
		return badinput.New("use cluster.replay.speed 1x", "at the speed %s a load has another rate", s.Speed())
	case len(s.Events) > 0 || s.Fault != nil:
		return badinput.New("use a scenario without", "faults leave no steady rate to find")
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
	switch {
	case err != nil:
	case x.options.Rate:
		for _, l := range x.ladders {
			if err = x.climb(ctx, l); err != nil {
				break
			}
		}
	default:
		err = x.settings(ctx)
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

// screen finds by simulation where each ladder is to be measured first. What cannot be simulated, such as another
// watcher, begins where it stands.
func (x *Search) screen(ctx context.Context) error {
	for _, l := range x.ladders {
		at, err := edge(len(l.rungs), l.start, func(i int) (bool, error) {
			if err := x.play(ctx, l, l.rungs[i]); err != nil {
				return false, err
			}
			v := x.predicted(l.rungs[i])
			return v != nil && *v <= x.bound()*(1-margin), nil
		})
		switch {
		case err == nil:
			l.start = at
		case !x.options.Rate || !badinput.Is(err):
			return err
		}
	}
	if !x.options.Rate {
		slices.SortStableFunc(x.ladders, func(a, b *ladder) int {
			return cmp.Or(cmp.Compare(a.unreachable(), b.unreachable()), x.cost(a.first(), b.first()))
		})
	}
	took := time.Since(x.began).Round(100 * time.Millisecond)
	x.line("played %s in virtual time in %s", units.Count(x.played, "cell"), took)
	return nil
}

// settings climbs the ladders, the cheapest prediction first, until no other can have a cheaper answer, and measures
// the best of another strategy and the best that bcs-k8s-watch has beside it. If none has an answer, it measures what
// comes closest.
func (x *Search) settings(ctx context.Context) error {
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
		if l, c := x.closest(x.options.Strategies); c != nil && len(c.cells) == 0 {
			x.line("nothing is predicted to hold the objective; to be measured: %s, which comes closest", c.set.Name())
			return x.measure(ctx, l, c)
		}
		return nil
	}
	for _, group := range [][]string{x.others(best.set.Strategy), originals} {
		i := slices.IndexFunc(x.ladders, func(l *ladder) bool { return slices.Contains(group, l.strategy) })
		if i < 0 || slices.Contains(group, best.set.Strategy) || x.ladders[i].start < 0 || x.ladders[i].measured() {
			continue
		}
		if err := x.measure(ctx, x.ladders[i], x.ladders[i].first()); err != nil {
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
		if err := x.measure(ctx, l, c); err != nil {
			return err
		}
	}
}

// holds reports whether a candidate holds the objective. It is measured, unless that was done. When settings are
// searched, it does not hold without a measurement if it is predicted to be far off, or its strategy is out.
func (x *Search) holds(ctx context.Context, l *ladder, c *candidate) (bool, error) {
	if !x.options.Rate && l.wrong() {
		return false, nil
	}
	if len(c.cells) == 0 {
		if err := x.play(ctx, l, c); err != nil && (!x.options.Rate || !badinput.Is(err)) {
			return false, err
		}
		if v := x.predicted(c); !x.options.Rate && (v == nil || *v > hopeless*x.bound()) {
			return false, nil
		}
		if err := x.measure(ctx, l, c); err != nil {
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
	case x.options.Rate && t.KeepsUp != nil && !*t.KeepsUp:
		return "the backlog grew"
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

// answer is the last candidate of a ladder that was measured and holds, and the first one measured above it, which
// does not; nil without one.
func (x *Search) answer(l *ladder) (held, above *candidate) {
	for _, c := range l.rungs {
		switch x.verdict(c) {
		case result.TunedUnmeasured:
		case result.TunedHolds:
			held, above = c, nil
		default:
			if above == nil {
				above = c
			}
			if held != nil {
				return held, above
			}
		}
	}
	return held, above
}

// best is the cheapest answer; nil without one.
func (x *Search) best() (best *candidate) {
	for _, l := range x.ladders {
		if c, _ := x.answer(l); c != nil && !l.wrong() && (best == nil || x.cost(c, best) < 0) {
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

// closest is the cheapest candidate of the strategies that is expected to hold, else within 5 % of the lowest value;
// nil without one.
func (x *Search) closest(strategies []string) (in *ladder, best *candidate) {
	low := math.Inf(1)
	each := func(do func(*ladder, *candidate, float64)) {
		for _, l := range x.ladders {
			for _, c := range l.rungs {
				if v := x.value(c); v != nil && !l.wrong() && slices.Contains(strategies, l.strategy) {
					do(l, c, *v)
				}
			}
		}
	}
	each(func(_ *ladder, _ *candidate, v float64) { low = min(low, v) })
	each(func(l *ladder, c *candidate, v float64) {
		if v <= max(1.05*low, (1-margin)*x.bound()) && (best == nil || x.cost(c, best) < 0) {
			in, best = l, c
		}
	})
	return in, best
}
