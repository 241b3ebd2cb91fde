package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/loadgen/replay"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Options of a search.
type Options struct {
	Scenario   *spec.File
	Objective  Objective
	Limits     Limits
	Queues     Range
	Lengths    Range
	Strategies []string
	Repeat     int           // measurements of the recommendation
	Budget     time.Duration // of the whole search; 0: any
	Resolution float64       // of a search for rates: width of the last bracket as a part of its upper end, such as 0.05
	Simulate   Simulator
	Slower     time.Duration      // added to storage's latency in virtual time
	Asked      float64            // writes per second that a plan of a profile must have, within 5 %; 0: any
	Known      []result.TunedCell // of an earlier search for the same scenario
}

// Search finds the settings for a load: it decides what to screen and to measure next. It is not
// safe for concurrent use.
type Search struct {
	chooser
	bench bench

	options Options
	base    *spec.Scenario
	planned int64         // writes of the load
	length  time.Duration // of the load

	compared map[string]bool // strategies that were measured beside an answer
	notes    []string
}

// New prepares a search and refuses a scenario that cannot be searched.
func New(o Options) (*Search, error) {
	if len(o.Scenario.Cells()) != 1 {
		// The axes of the watcher are the search's own.
		f, err := o.Scenario.With(overrides(Setting{Strategy: keyed, Queues: 1, WriterLen: leastWriter,
			HandlerLen: leastWriter})...)
		if err != nil {
			return nil, err
		}
		o.Scenario = f
	}
	cells := o.Scenario.Cells()
	if err := onePoint(cells); err != nil {
		return nil, err
	}
	s := &cells[0].Scenario
	if s.Watcher.Command != "" || s.Watcher.Profile != "default" {
		return nil, badinput.New("drop watcher.command and watcher.profile", "tune searches the settings of k8s-watch")
	}
	x := &Search{chooser: chooser{late: map[string][]Setting{}}, options: o, base: s, compared: map[string]bool{}}
	x.screen.file, x.screen.simulate, x.screen.slower = o.Scenario, o.Simulate, o.Slower
	x.screen.plans = plans{load: s.Load.Load, first: s.Seed, asked: o.Asked}
	x.bench = bench{known: o.Known, budget: o.Budget, line: func(string, ...any) {}}
	if err := x.extent(); err != nil {
		return nil, err
	}
	x.space, x.judge = newSpace(&x.options, s), newJudge(&x.options)
	return x, nil
}

// onePoint refuses a scenario with several points besides the searched settings.
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

// extent sets the size and length of the load, and the bound that follows from it.
func (x *Search) extent() (err error) {
	s := x.base
	switch {
	case s.Traced():
		if x.planned, x.length, err = replay.Extent(s.Cluster.Replay.Trace); err != nil {
			return badinput.New("name a file of watchbench record", "%v", err)
		}
	case s.Load.Model != result.ModelOpen:
		return badinput.New("use a scenario with load.model: open, or --rate",
			"%s is a closed loop, whose rate follows the answers: there is nothing to tune for", s.Metadata.Name)
	default:
		seed, err := x.screen.plans.seed(0)
		if err != nil {
			return err
		}
		p, err := plan.New(s.Load.Plan("tune", seed))
		if err != nil {
			return badinput.New("see watchbench scenarios validate", "%v", err)
		}
		x.planned, x.length = p.Planned(), s.Load.Duration.Std()
	}
	if s.Simulated() {
		x.length = s.Speed().Length(x.length)
	}
	o := &x.options.Objective
	if o.Rate > 0 { // carried if the backlog at the end of the load is soon gone
		o.Bound = max(3*(s.Storage.LatencyFigures(podKind).P99+x.options.Slower), x.length/20)
	}
	if o.Metric == metricDrain && o.Bound > 0 && o.Bound <= x.length {
		return badinput.New("use a longer time, or drainAfterLoad="+o.Bound.String(),
			"--objective %s: the load alone lasts %s", o.Text, x.length)
	}
	return nil
}

// Run searches with a measurer, and reports progress line by line. On an error, which is the cause of
// ctx or that of a simulation or measurement, the tuning has the measurements so far.
func (x *Search) Run(ctx context.Context, m Measurer, line func(string)) (*result.Tuning, error) {
	x.bench.measurer, x.bench.began = m, time.Now()
	x.bench.line = func(format string, args ...any) { line(fmt.Sprintf(format, args...)) }
	t := &result.Tuning{
		Schema: result.TuningSchema, Started: x.bench.began, Scenario: x.base.Metadata.Name,
		Provider: x.base.Cluster.Provider, Objective: objectiveOf(x.judge.objective), Limits: x.options.Limits.Text,
		Identity: Identity(x.options), Asked: x.asked(),
	}
	var best *candidate
	err := x.screenInTime(ctx)
	if err == nil {
		best, err = x.confirm(ctx)
	}
	if errors.Is(err, errBudget) {
		x.note("measuring ended after %s, its --budget", time.Since(x.bench.began).Round(time.Second))
		err = nil
		if c := x.measured(x.space.strategies...); c != nil && !x.judge.confirmed(best) {
			best = c
		}
	}
	if err == nil && best != nil {
		t.Changes, err = x.changes(ctx, best)
	}
	if ctx.Err() != nil && best == nil {
		best = x.measured(x.space.strategies...)
	}
	x.fill(t, best)
	t.Interrupted, t.Finished = ctx.Err() != nil, time.Now()
	return t, err
}

// Identity must be equal for cells of one search to be reused in another: it covers everything but
// the searched settings and the objective.
func Identity(o Options) string {
	name, data, sets := o.Scenario.Source()
	return fmt.Sprintf("%s\n%s\n%s", name, strings.Join(sets, "\n"), data)
}

func (x *Search) note(format string, args ...any) {
	x.notes = append(x.notes, fmt.Sprintf(format, args...))
}

// screenInTime is the first screening; it stops when the budget ends.
func (x *Search) screenInTime(ctx context.Context) error {
	if b := &x.bench; b.budget > 0 {
		var done context.CancelFunc
		ctx, done = context.WithDeadlineCause(ctx, b.began.Add(b.budget), errBudget)
		defer done()
	}
	err := x.screenAll(ctx)
	x.bench.screened = time.Since(x.bench.began)
	return err
}

// screenAll plays every rung of every strategy.
func (x *Search) screenAll(ctx context.Context) error {
	var all []*candidate
	for _, strategy := range x.space.strategies {
		for _, s := range x.space.rungs(strategy) {
			all = append(all, x.judge.cand(s))
		}
	}
	if len(all) == 0 {
		return badinput.New("raise the limit", "no setting is within --limit %v", x.options.Limits.Text)
	}
	began := time.Now()
	if err := x.screen.play(ctx, 1, all...); err != nil {
		return err
	}
	// The lowest prediction of one plan is luck; with all plans it is higher, which brings others
	// near it.
	for x.judge.objective.relative() {
		bound := x.bound()
		again := slices.DeleteFunc(slices.Clone(all), func(c *candidate) bool {
			return len(c.by) >= seeds || !x.judge.near(c, bound)
		})
		if len(again) == 0 {
			break
		}
		if err := x.screen.play(ctx, seeds, again...); err != nil {
			return err
		}
	}
	x.bench.line("screened %d settings in virtual time in %s", len(all), time.Since(began).Round(100*time.Millisecond))
	return nil
}

// measure runs the next repetition of a candidate and corrects the predictions by it.
func (x *Search) measure(ctx context.Context, c *candidate) error {
	seed, err := x.screen.plans.seed(len(c.cells))
	if err != nil {
		return err
	}
	drain := x.expectedDrain(c)
	f, err := x.screen.variant(c.set, fmt.Sprintf("seed=%d", seed), "repeat=1", "drainTimeout="+x.patience(drain).String())
	if err != nil {
		return err
	}
	cell, err := x.bench.measure(ctx, order{c.set, seed, f, x.length + drain})
	if err != nil && cell.Run == "" {
		return err
	}
	c.cells = append(c.cells, cell)
	x.judge.learn(x.screen.plans.found)
	what := x.judge.verdict(c) + ", " + x.said(x.judge.of(&cell.Figures))
	if !cell.Valid { // its figures prove nothing
		what = "no valid measurement: " + cell.Reason
	}
	left := ""
	if x.bench.budget > 0 {
		left = fmt.Sprintf(", at most %s left", max(0, x.bench.left()).Round(time.Second))
	}
	x.bench.line("%s: %s (%s measured in %s%s)", c.set.Name(), what, units.Count(x.bench.measured, "cell"),
		x.bench.spent.Round(time.Second), left)
	return err
}

// patience is the drain timeout of a cell: long enough for any setting that can still hold the
// objective.
func (x *Search) patience(expected time.Duration) time.Duration {
	const least, most = 5 * time.Second, 10 * time.Minute
	d, b := least+2*expected, x.judge.objective.Bound
	switch {
	case x.judge.objective.relative():
	case x.judge.objective.Metric == metricDrain:
		d = max(least+expected, b-x.length+b/2)
	default:
		d = max(d, least+2*b)
	}
	return min(d, most).Round(time.Millisecond)
}

// expectedDrain is the predicted drain after the load.
func (x *Search) expectedDrain(c *candidate) time.Duration {
	v := highest(c.by, func(f *Figures) *float64 { return f.DrainAfter })
	if v == nil {
		return 0
	}
	return time.Duration(*v * x.judge.factor * float64(time.Second))
}

// said formats a value of the objective's metric.
func (x *Search) said(v *float64) string {
	if v == nil {
		return "– (" + x.judge.objective.Metric + " is not known)"
	}
	return figure(*v) + " s"
}
