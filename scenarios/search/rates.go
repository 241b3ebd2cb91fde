package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// RatesSchema names the format of Rates as JSON.
const RatesSchema = "watchbench/rates/v1"

// Rates holds the highest rate of each strategy.
type Rates struct {
	Schema     string    `json:"schema"`
	Scenario   string    `json:"scenario"`
	Objective  string    `json:"objective"`
	Limit      float64   `json:"limitSeconds"`
	Resolution float64   `json:"resolution"`
	Unit       string    `json:"unit"` // of rates
	Provider   string    `json:"provider"`
	LoadS      float64   `json:"loadSeconds"` // of each cell
	Started    time.Time `json:"started"`
	Finished   time.Time `json:"finished"`
	Command    []string  `json:"command,omitempty"`
	// Interrupted says that the search ended early; what was found so far is there.
	Interrupted bool           `json:"interrupted,omitempty"`
	Strategies  []StrategyRate `json:"strategies"`
}

// StrategyRate is the result for one strategy.
type StrategyRate struct {
	Strategy string   `json:"strategy"`
	Rate     *float64 `json:"rate,omitempty"` // the highest that was carried; nil if none was
	// Above is the lowest rate above it that was not carried or could not be measured, and Why says why; nil if no
	// higher one was tried.
	Above *float64 `json:"above,omitempty"`
	Why   string   `json:"why,omitempty"`
	// AtLeast says that the strategy may carry more: above Rate the generator or the machine was the limit, or
	// nothing was tried.
	AtLeast  bool       `json:"atLeast,omitempty"`
	Complete bool       `json:"complete"` // Rate and Above are as close as the resolution asks
	Cells    []RateCell `json:"cells"`
	Remarks  []string   `json:"remarks,omitempty"`
}

// Verdicts on a rate and on a cell at it.
const (
	Carried    = "carried"
	NotCarried = "not carried"
	Invalid    = "invalid"
)

// RateCell is a measured cell.
type RateCell struct {
	Rate    float64  `json:"rate"`
	Seed    uint64   `json:"seed"`
	Verdict string   `json:"verdict"`
	Why     string   `json:"why,omitempty"`     // for all verdicts but Carried
	Reached *float64 `json:"reached,omitempty"` // of the objective's metric, in seconds
	QPS     float64  `json:"writesQPS,omitempty"`
	Lost    *int64   `json:"lost,omitempty"`
	Run     string   `json:"run,omitempty"` // its id, which names its folder

	paced bool // it is known whether the backlog grew
}

// Bounds of the rates that are tried.
const (
	leastRate = 0.1
	// mostHalved: with nothing carried, the search gives up below the first rate ÷ this.
	mostHalved = 100
)

// RateSearch finds the highest rate of an open loop that each strategy carries.
type RateSearch struct {
	options Options
	climbs  []*climb
	rates   Rates

	bench bench
	line  func(string)
}

// NewRates reads what is to be searched, and refuses what has no rate to be found.
func NewRates(o Options) (*RateSearch, error) {
	if !(o.Resolution >= 0.005 && o.Resolution <= 0.5) {
		return nil, badinput.New("use 0.5% to 50%", "a resolution of %g%% is out of range", 100*o.Resolution)
	}
	x := &RateSearch{options: o}
	names := o.Strategies
	if len(names) == 0 {
		names = []string{""} // another watcher
	}
	for _, name := range names {
		sets := []string{"repeat=1", "thresholds="}
		if name != "" {
			sets = append(sets, "watcher.strategy="+name)
		}
		f, err := o.Scenario.With(sets...)
		if err != nil {
			return nil, err
		}
		c, err := newClimb(f, name, o.Resolution)
		if err != nil {
			return nil, err
		}
		x.climbs = append(x.climbs, c)
	}
	base := x.climbs[0].base
	x.rates = Rates{
		Schema: RatesSchema, Scenario: base.Metadata.Name, Resolution: o.Resolution,
		Objective: o.Objective.limit(), Limit: o.Objective.Bound.Seconds(),
		Unit: "writes/s", Provider: base.Cluster.Provider, LoadS: base.Load.Duration.Std().Seconds(),
	}
	if base.Load.Profile != "" {
		x.rates.Unit = "pods/s"
	}
	return x, nil
}

// Run searches with a measurer, and reports each cell in a line. The strategies take turns, a rate each, so that an
// end of the budget leaves all as far. After an error, or an interruption, it returns what was found so far.
func (x *RateSearch) Run(ctx context.Context, m Measurer, line func(string)) (*Rates, error) {
	x.line, x.rates.Started = line, time.Now()
	x.bench = bench{measurer: m, budget: x.options.Budget, began: x.rates.Started}
	var err error
	for open := len(x.climbs); open > 0 && err == nil; {
		open = 0
		for _, c := range x.climbs {
			rate, done := c.next()
			if done || err != nil {
				continue
			}
			open++
			err = x.decide(ctx, c, rate)
		}
	}
	for _, c := range x.climbs {
		if _, done := c.next(); !done && errors.Is(err, errBudget) {
			c.remark("the search ended after %s, its --budget", x.options.Budget)
		}
		x.rates.Strategies = append(x.rates.Strategies, c.result())
	}
	if errors.Is(err, errBudget) {
		err = nil
	}
	x.rates.Finished, x.rates.Interrupted = time.Now(), ctx.Err() != nil
	return &x.rates, err
}

// climb is the search for one strategy: it doubles the rate until one is not carried or halves it until one is, and
// then halves the bracket, by the geometric mean, until it is as narrow as the resolution asks.
type climb struct {
	file       *spec.File // one point, repeated once
	base       spec.Scenario
	resolution float64

	low, high float64 // the highest rate that was carried, the lowest that was not; 0: none
	why       string  // of the latter
	invalid   bool    // the latter could not be measured
	found     StrategyRate
}

func newClimb(f *spec.File, strategy string, resolution float64) (*climb, error) {
	c := &climb{file: f, base: f.Base(), resolution: resolution}
	if err := onePoint(f.Cells()); err != nil {
		return nil, err
	}
	switch load := &c.base.Load; {
	case c.base.Traced():
		return nil, badinput.New("use a scenario with a load", "a trace has no rate to search")
	case strategy != "" && c.base.Watcher.Strategy != strategy:
		return nil, badinput.New("drop watcher.strategy from the matrix", "the matrix overrides the strategy %s", strategy)
	case load.Model != plan.ModelOpen:
		return nil, badinput.New("use --set load.model=open, or another scenario", "a closed loop has no rate to search")
	case len(load.Steps) > 0:
		return nil, badinput.New("write load.rate", "load.steps do not have one rate")
	case c.base.Simulated() && c.base.Speed() != 0 && c.base.Speed().Rate(1) != 1:
		return nil, badinput.New("use cluster.replay.speed 1x", "at the speed %s a load has another rate", c.base.Speed())
	case len(c.base.Events) > 0 || c.base.Fault != nil:
		return nil, badinput.New("use a scenario without", "faults leave no steady rate to find")
	}
	c.found.Strategy = cmp.Or(c.base.Watcher.Label(), c.base.Watcher.Strategy)
	return c, nil
}

// first is the rate at which a strategy that sends each event keeps up by Little's law, with room for the variability
// of latencies; for a profile, whose rate counts pods, the scenario's. Starting far above would take long to drain.
func (c *climb) first() float64 {
	l, most := c.base.Storage.MeanLatency(podKind), c.base.Storage.Capacity
	if c.base.Load.Profile != "" || l <= 0 {
		return rounded(c.base.Load.Rate)
	}
	inFlight := c.base.Watcher.Concurrency()
	if most.Inflight > 0 {
		inFlight = min(inFlight, most.Inflight)
	}
	rate := float64(inFlight) / l.Seconds()
	if most.Rate > 0 {
		rate = min(rate, float64(most.Rate))
	}
	return rounded(0.7 * rate)
}

// next returns the rate to try, or that the search is done.
func (c *climb) next() (rate float64, done bool) {
	switch {
	case c.low == 0 && c.high == 0:
		return c.first(), false
	case c.low == 0:
		rate = rounded(c.high / 2)
		return rate, rate >= c.high || rate < c.first()/mostHalved
	case c.high == 0:
		rate = rounded(c.low * 2)
		return rate, rate <= c.low
	}
	rate = rounded(math.Sqrt(c.low * c.high))
	return rate, c.narrow() || rate <= c.low || rate >= c.high
}

// narrow reports whether the bracket is as narrow as the resolution asks.
func (c *climb) narrow() bool {
	return c.low > 0 && c.high > 0 && (c.high-c.low)/c.high <= c.resolution
}

// ahead estimates how many rates remain to be tried.
func (c *climb) ahead() int {
	ratio, more := 2.0, 1
	switch _, done := c.next(); {
	case done:
		return 0
	case c.low > 0 && c.high > 0:
		ratio, more = c.high/c.low, 0
	}
	// how often a bracket must be halved, by the geometric mean
	return more + max(0, int(math.Ceil(math.Log2(math.Log(ratio)/-math.Log(1-c.resolution)))))
}

func (c *climb) result() StrategyRate {
	if c.high > 0 {
		c.found.Above, c.found.Why = &c.high, c.why
	}
	if c.low > 0 {
		c.found.Rate, c.found.AtLeast = &c.low, c.high == 0 || c.invalid
		c.found.Complete = c.narrow() || c.low >= MaxRate
		untold := func(k RateCell) bool { return k.Rate == c.low && k.Verdict == Carried && !k.paced }
		if slices.ContainsFunc(c.found.Cells, untold) {
			c.remark("whether the backlog grows was not judged: the load is short or has no steady rate")
		}
	}
	return c.found
}

func (c *climb) remark(format string, args ...any) {
	c.found.Remarks = append(c.found.Remarks, fmt.Sprintf(format, args...))
}

// decide measures a rate, with one plan after another, until two valid cells agree. For loss and violations one cell is
// enough. A rate whose first two cells are invalid, or three in all, cannot be measured.
func (x *RateSearch) decide(ctx context.Context, c *climb, rate float64) error {
	n, first := map[string]int{}, len(c.found.Cells)
	verdict := ""
	for seed := c.base.Seed; verdict == ""; seed++ {
		cell, final, err := x.measure(ctx, c, rate, seed)
		if err != nil {
			return err
		}
		c.found.Cells = append(c.found.Cells, cell)
		n[cell.Verdict]++
		switch {
		case final, cell.Verdict != Invalid && n[cell.Verdict] == 2, n[Invalid] == 2 && len(n) == 1, n[Invalid] == 3:
			verdict = cell.Verdict
		}
		x.say(c, cell)
	}
	if n[Carried] > 0 && n[NotCarried] > 0 {
		c.remark("%s %s: %d of %d cells carried it", figure(rate), x.rates.Unit, n[Carried], n[Carried]+n[NotCarried])
	}
	if verdict == Carried {
		c.low = rate
		return nil
	}
	i := slices.IndexFunc(c.found.Cells[first:], func(k RateCell) bool { return k.Verdict == verdict })
	c.high, c.invalid, c.why = rate, verdict == Invalid, c.found.Cells[first+i].Why
	return nil
}

// measure runs one cell; final says that its verdict stands whatever others show.
func (x *RateSearch) measure(ctx context.Context, c *climb, rate float64, seed uint64) (
	cell RateCell, final bool, err error,
) {
	f, err := c.file.With("load.rate="+number(rate), "seed="+strconv.FormatUint(seed, 10))
	if err != nil {
		return cell, false, err
	}
	res, err := x.bench.run(ctx, f, c.base.Load.Duration.Std())
	switch {
	case res != nil && res.Crashes() != "" && ctx.Err() == nil:
		cell, final = RateCell{Verdict: NotCarried, Why: res.Crashes()}, true
	case err != nil:
		return cell, false, fmt.Errorf("%s at %s %s: %w", c.found.Strategy, figure(rate), x.rates.Unit, err)
	default:
		cell, final = x.options.Objective.carried(&res.Cells[0])
	}
	cell.Rate, cell.Seed, cell.Run = rate, seed, res.Run.ID
	return cell, final, nil
}

// carried judges a cell; an unknown figure counts as not carried.
func (o Objective) carried(cell *result.Cell) (c RateCell, final bool) {
	t := fromCell(cell)
	of, _ := o.figure()
	c = RateCell{Verdict: NotCarried, QPS: cell.Load.QPS, Reached: of(&t.Figures), Lost: t.Figures.Lost,
		paced: cell.Pace != nil}
	switch why := violation(cell); {
	case why != "": // lateness explains no loss
		c.Why, final = why, true
	case !cell.Valid:
		c.Verdict, c.Why = Invalid, t.Reason
	case cell.Cut:
		c.Why = fmt.Sprintf("the drain was cut at %.0f%%", 100*cell.CutFraction)
	case c.Reached == nil:
		c.Why = "freshness is not known"
	case *c.Reached > o.Bound.Seconds():
		c.Why = fmt.Sprintf("%s was %s s", strings.Replace(o.Metric, ".", " ", 1), figure(*c.Reached))
	case cell.Pace != nil && !cell.Pace.KeepsUp:
		c.Why = fmt.Sprintf("the backlog grew by %s writes/s", figure(cell.Pace.GrowthQPS))
	case c.Lost == nil:
		c.Why = "it is not known whether anything was lost"
	default:
		c.Verdict = Carried
	}
	return c, final
}

// violation describes a loss or a violated guarantee; empty without one. G1 and G6, the guarantees against loss, must
// hold even if the scenario allows them to fail.
func violation(c *result.Cell) string {
	if e := c.Events; e != nil && e.Lost != nil && *e.Lost > 0 {
		return units.Count(*e.Lost, "object") + " lost"
	}
	if e := c.Events; e != nil && e.Dropped > 0 {
		return units.Count(e.Dropped, "event") + " dropped"
	}
	all := guarantees(c, func(g, verdict string) bool {
		return verdict == result.Fail && c.Counts(g) || verdict == result.Allowed && (g == "G1" || g == "G6")
	})
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, " ") + " failed"
}

// say reports a cell, the bracket and the estimated time left: two cells for each rate ahead.
func (x *RateSearch) say(c *climb, cell RateCell) {
	line := fmt.Sprintf("%s: %s %s %s", c.found.Strategy, figure(cell.Rate), x.rates.Unit, cell.Verdict)
	if cell.Why != "" {
		line += " (" + cell.Why + ")"
	}
	if c.low > 0 && c.high > 0 {
		line += fmt.Sprintf("; between %s and %s", figure(c.low), figure(c.high))
	}
	done, ahead := 0, 0
	for _, c := range x.climbs {
		done, ahead = done+len(c.found.Cells), ahead+2*c.ahead()
	}
	left := x.bench.spent / time.Duration(done) * time.Duration(ahead)
	x.line(fmt.Sprintf("%s; cell %d, about %s left", line, done, left.Round(time.Second)))
}
