package tune

import (
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

// Rates are the highest rates that strategies carry.
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

// StrategyRate is what was found of one strategy.
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

// FindRates searches the highest rate of each strategy, one after another. After an error, or an interruption, it
// returns what was found so far.
func FindRates(ctx context.Context, o Options) (*Rates, error) {
	all, err := o.rateSearches()
	if err != nil {
		return nil, err
	}
	base, began := all[0].base, time.Now()
	r := &Rates{
		Schema: RatesSchema, Scenario: base.Metadata.Name, Resolution: o.Resolution,
		Objective: o.Objective.limit(), Limit: o.Objective.Bound.Seconds(),
		Unit: "writes/s", Provider: base.Cluster.Provider, LoadS: base.Load.Duration.Std().Seconds(), Started: began,
	}
	if base.Load.Profile != "" {
		r.Unit = "pods/s"
	}
	cells := 0
	for i, s := range all {
		s.unit, s.began, s.cells, s.later = r.Unit, began, &cells, len(all)-i-1
		err = s.run(ctx)
		if errors.Is(err, errBudget) {
			s.remark("the search ended after %s, its --budget", o.Budget)
			err = nil
		}
		r.Strategies = append(r.Strategies, s.result())
		if err != nil {
			break
		}
	}
	r.Finished, r.Interrupted = time.Now(), ctx.Err() != nil
	return r, err
}

// CheckRates refuses what has no rate to be found, before anything is measured.
func CheckRates(o Options) error {
	_, err := o.rateSearches()
	return err
}

// rateSearches are those of the strategies.
func (o *Options) rateSearches() (all []*rateSearch, err error) {
	if !(o.Resolution >= 0.005 && o.Resolution <= 0.5) {
		return nil, badinput.New("use 0.5% to 50%", "a resolution of %g%% cannot be used", 100*o.Resolution)
	}
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
		s := &rateSearch{Options: *o, file: f, base: f.Base()}
		if err := s.check(name); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// rateSearch is the search for one strategy.
type rateSearch struct {
	Options
	file  *spec.File // one point, repeated once
	base  spec.Scenario
	unit  string
	began time.Time // of all strategies
	cells *int      // of all strategies
	later int       // strategies after this one

	low, high float64 // the highest rate that was carried, the lowest that was not; 0: none
	why       string  // of the latter
	invalid   bool    // the latter could not be measured
	found     StrategyRate
}

func (s *rateSearch) check(strategy string) error {
	if err := onePoint(s.file.Cells()); err != nil {
		return err
	}
	switch load := &s.base.Load; {
	case s.base.Traced():
		return badinput.New("use a scenario with a load", "a trace has no rate to search")
	case strategy != "" && s.base.Watcher.Strategy != strategy:
		return badinput.New("drop watcher.strategy from the matrix", "the matrix overrides the strategy %s", strategy)
	case load.Model != plan.ModelOpen:
		return badinput.New("use --set load.model=open, or another scenario", "a closed loop has no rate to search")
	case !slices.Contains([]string{"", plan.ArrivalConstant, plan.ArrivalPoisson}, load.Arrival):
		return badinput.New("use constant or poisson", "load.arrival %s does not have one rate", load.Arrival)
	case s.base.Simulated() && s.base.Speed() != 0 && s.base.Speed().Rate(1) != 1:
		return badinput.New("use cluster.replay.speed 1x", "at the speed %s a load has another rate", s.base.Speed())
	case len(s.base.Events) > 0 || s.base.Fault != nil:
		return badinput.New("use a scenario without", "faults leave no steady rate to find")
	}
	if s.found.Strategy = s.base.Watcher.Label(); s.found.Strategy == "" {
		s.found.Strategy = s.base.Watcher.Strategy
	}
	return nil
}

// run doubles the rate until one is not carried or halves it until one is, and then halves the bracket, by the
// geometric mean, until it is as narrow as the resolution asks.
func (s *rateSearch) run(ctx context.Context) error {
	for rate, done := s.first(), false; !done; rate, done = s.next() {
		if err := s.decide(ctx, rate); err != nil {
			return err
		}
	}
	return nil
}

// first is what a strategy keeps up with that sends a request for each event, by Little's law, with room for the
// variability of latencies; of a profile, whose rate counts pods, the scenario's. A strategy that begins far above
// what it carries takes long to drain.
func (s *rateSearch) first() float64 {
	l, c := s.base.Storage.MeanLatency(podKind), s.base.Storage.Capacity
	if s.base.Load.Profile != "" || l <= 0 {
		return rounded(s.base.Load.Rate)
	}
	inFlight := s.base.Watcher.Concurrency()
	if c.Inflight > 0 {
		inFlight = min(inFlight, c.Inflight)
	}
	rate := float64(inFlight) / l.Seconds()
	if c.Rate > 0 {
		rate = min(rate, float64(c.Rate))
	}
	return rounded(0.7 * rate)
}

// next is the rate to try, or that there is none.
func (s *rateSearch) next() (rate float64, done bool) {
	switch {
	case s.low == 0:
		rate = rounded(s.high / 2)
		return rate, rate >= s.high || rate < s.first()/mostHalved
	case s.high == 0:
		rate = rounded(s.low * 2)
		return rate, rate <= s.low
	}
	rate = rounded(math.Sqrt(s.low * s.high))
	return rate, s.narrow() || rate <= s.low || rate >= s.high
}

// narrow reports whether the bracket is as narrow as the resolution asks.
func (s *rateSearch) narrow() bool {
	return s.low > 0 && s.high > 0 && (s.high-s.low)/s.high <= s.Resolution
}

// decide measures a rate, with one plan after another, until two valid cells agree. Loss and a violated guarantee are
// no noise: one cell is enough. A rate of which the first two cells are invalid, or three of all, cannot be measured.
func (s *rateSearch) decide(ctx context.Context, rate float64) error {
	n := map[string]int{}
	verdict, first := "", len(s.found.Cells)
	for seed := s.base.Seed; verdict == ""; seed++ {
		c, final, err := s.measure(ctx, rate, seed)
		if err != nil {
			return err
		}
		s.found.Cells = append(s.found.Cells, c)
		n[c.Verdict]++
		switch {
		case final, c.Verdict != Invalid && n[c.Verdict] == 2, n[Invalid] == 2 && len(n) == 1, n[Invalid] == 3:
			verdict = c.Verdict
		}
		s.say(c)
	}
	if n[Carried] > 0 && n[NotCarried] > 0 {
		s.remark("%s %s: %d of %d cells carried it", figure(rate), s.unit, n[Carried], n[Carried]+n[NotCarried])
	}
	if verdict == Carried {
		s.low = rate
		return nil
	}
	i := slices.IndexFunc(s.found.Cells[first:], func(c RateCell) bool { return c.Verdict == verdict })
	s.high, s.invalid, s.why = rate, verdict == Invalid, s.found.Cells[first+i].Why
	return nil
}

// measure runs one cell. It is final if no other cell takes its verdict back.
func (s *rateSearch) measure(ctx context.Context, rate float64, seed uint64) (c RateCell, final bool, err error) {
	if s.Budget > 0 && time.Since(s.began) >= s.Budget {
		return c, false, errBudget
	}
	f, err := s.file.With("load.rate="+number(rate), "seed="+strconv.FormatUint(seed, 10))
	if err != nil {
		return c, false, err
	}
	res, err := s.Measurer.Measure(ctx, f)
	*s.cells++
	switch {
	case res != nil && res.Crashes() != "" && ctx.Err() == nil:
		c, final = RateCell{Verdict: NotCarried, Why: res.Crashes()}, true
	case err != nil:
		return c, false, err
	case res == nil || len(res.Cells) != 1:
		return c, false, fmt.Errorf("%s at %s %s: no cell was measured", s.found.Strategy, figure(rate), s.unit)
	default:
		c, final = s.Objective.carried(&res.Cells[0])
	}
	c.Rate, c.Seed, c.Run = rate, seed, res.Run.ID
	return c, final, nil
}

// carried judges a cell. What is not known is not carried.
func (o Objective) carried(cell *result.Cell) (c RateCell, final bool) {
	t := fromCell(cell)
	c = RateCell{Verdict: NotCarried, QPS: cell.Load.QPS, Reached: o.of(&t.Figures), Lost: t.Figures.Lost}
	c.paced = cell.Pace != nil
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

// violation is a loss, or a guarantee that is violated and may not be; empty without one. Of the guarantees that the
// scenario allows to fail, those against loss must hold nevertheless.
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

func (s *rateSearch) result() StrategyRate {
	r := s.found
	if s.high > 0 {
		r.Above, r.Why = &s.high, s.why
	}
	if s.low == 0 {
		return r
	}
	r.Rate, r.AtLeast, r.Complete = &s.low, s.high == 0 || s.invalid, s.narrow() || s.low >= MaxRate
	for _, c := range r.Cells {
		if c.Rate == s.low && c.Verdict == Carried && !c.paced {
			s.remark("whether the backlog grows was not judged: the load is short or has no steady rate")
		}
	}
	slices.Sort(s.found.Remarks)
	r.Remarks = slices.Compact(s.found.Remarks)
	return r
}

func (s *rateSearch) remark(format string, args ...any) {
	s.found.Remarks = append(s.found.Remarks, fmt.Sprintf(format, args...))
}

// say reports a cell, the bracket and about how long all will take: two cells for each rate ahead.
func (s *rateSearch) say(c RateCell) {
	if s.Line == nil {
		return
	}
	line := fmt.Sprintf("%s: %s %s %s", s.found.Strategy, figure(c.Rate), s.unit, c.Verdict)
	if c.Why != "" {
		line += " (" + c.Why + ")"
	}
	ahead := halvings(2, s.Resolution) + 1
	if s.low > 0 && s.high > 0 {
		ahead = halvings(s.high/s.low, s.Resolution)
		line += fmt.Sprintf("; between %s and %s", figure(s.low), figure(s.high))
	}
	ahead += s.later * (2 + halvings(2, s.Resolution))
	left := time.Since(s.began) / time.Duration(*s.cells) * time.Duration(2*ahead)
	s.Line(fmt.Sprintf("%s; cell %d, about %s left", line, len(s.found.Cells), left.Round(time.Second)))
}

// halvings is how often a bracket must be halved, by the geometric mean, until it is as narrow as the resolution asks.
func halvings(ratio, resolution float64) int {
	return max(0, int(math.Ceil(math.Log2(math.Log(ratio)/-math.Log(1-resolution)))))
}

// rounded is a rate with three digits, within what a scenario may have.
func rounded(rate float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(min(max(rate, leastRate), MaxRate), 'g', 3, 64), 64)
	if err != nil || math.IsNaN(r) {
		return leastRate
	}
	return r
}
