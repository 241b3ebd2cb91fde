package knee

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/loadgen/plan"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Rates that a search may try, in the unit of load.rate.
const (
	leastRate = 0.1
	mostRate  = 100_000 // what load.rate may be
)

// Strategies are those that the scenario's matrix has, in its order; none for another watcher.
func Strategies(f *spec.File) (all []string) {
	for _, c := range f.Cells() {
		if c.Scenario.Watcher.Command == "" && !slices.Contains(all, c.Scenario.Watcher.Strategy) {
			all = append(all, c.Scenario.Watcher.Strategy)
		}
	}
	return all
}

// searched is the search for one strategy; its name is empty for another watcher.
type searched struct {
	file     *spec.File // one point, repeated once
	strategy string
	label    string // what rows call it
	base     spec.Scenario
}

// pin makes the scenario one of a strategy, with one point, and refuses what has no rate to
// be found.
func pin(f *spec.File, strategy string) (*searched, error) {
	sets := []string{"repeat=1", "thresholds="}
	if strategy != "" {
		sets = append(sets, "watcher.strategy="+strategy)
	}
	pinned, err := f.With(sets...)
	if err != nil {
		return nil, err
	}
	s := &searched{file: pinned, strategy: strategy, base: pinned.Base()}
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.label = s.base.Watcher.Label(); s.label == "" {
		s.label = s.base.Watcher.Strategy
	}
	return s, nil
}

func (s *searched) check() error {
	cells, load := s.file.Cells(), &s.base.Load
	var axes []string
	for _, p := range cells[0].Params {
		if p.Name != "watcher.strategy" {
			axes = append(axes, fmt.Sprintf("--set matrix.%s=%s", p.Name, p.Value))
		}
	}
	steady := load.Arrival == "" || load.Arrival == plan.ArrivalConstant || load.Arrival == plan.ArrivalPoisson
	switch {
	case s.base.Traced():
		return badinput.New("use a scenario with a load", "a trace has no rate to be found")
	case len(cells) > 1:
		return badinput.New("choose one, such as "+strings.Join(axes, " "), "the scenario has %d points besides its strategies", len(cells))
	case s.strategy != "" && s.base.Watcher.Strategy != s.strategy:
		return badinput.New("take the strategy out of the point", "the matrix sets another strategy than %s", s.strategy)
	case load.Model != plan.ModelOpen:
		return badinput.New("use --set load.model=open with a rate and a duration, or another scenario", "a closed loop has no rate to be found")
	case !steady:
		return badinput.New("use constant or poisson", "load.arrival %s has no one rate to be found", load.Arrival)
	case s.base.Simulated() && s.base.Speed() != 0 && s.base.Speed().Rate(1) != 1:
		return badinput.New("use cluster.replay.speed 1x", "a load that is played at the speed %s has not the rate that it says", s.base.Speed())
	case len(s.base.Events) > 0 || s.base.Fault != nil:
		return badinput.New("use a scenario without", "with faults there is no steady rate to be found")
	}
	return nil
}

// at is the scenario at a rate.
func (s *searched) at(rate float64, seed uint64, repeat int) (*spec.File, error) {
	return s.file.With("load.rate="+text(rate), "seed="+strconv.FormatUint(seed, 10), "repeat="+strconv.Itoa(repeat))
}

// first is the rate to begin with: what a strategy keeps up with that sends a request for
// each event, by Little's law, with room for the variability of latencies; of a profile, whose
// rate counts pods, the scenario's. A strategy that begins far above its knee takes long to
// drain.
func (s *searched) first() float64 {
	l := s.base.Storage.MeanLatency("Pod")
	if s.base.Load.Profile != "" || l <= 0 {
		return rounded(s.base.Load.Rate)
	}
	inFlight := s.base.Watcher.Concurrency()
	if c := s.base.Storage.Capacity.Inflight; c > 0 {
		inFlight = min(inFlight, c)
	}
	rate := float64(inFlight) / l.Seconds() // Little's law
	if c := s.base.Storage.Capacity.Rate; c > 0 {
		rate = min(rate, float64(c))
	}
	return rounded(0.7 * rate)
}

// unit is what load.rate counts.
func unit(s spec.Scenario) string {
	if s.Load.Profile != "" {
		return "pods/s"
	}
	return "writes/s"
}

// rounded is a rate with three digits, within what a scenario may have.
func rounded(rate float64) float64 {
	rate = min(max(rate, leastRate), mostRate)
	r, err := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 3, 64), 64)
	if err != nil || math.IsNaN(r) {
		return leastRate
	}
	return r
}

func text(rate float64) string { return strconv.FormatFloat(rate, 'f', -1, 64) }
