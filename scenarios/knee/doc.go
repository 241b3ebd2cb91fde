// Package knee finds the highest rate of an open loop that a strategy carries: with nothing
// lost, with a backlog that does not grow, and with freshness within an objective.
//
// Promises:
//
//  1. A rate counts as carried only by what was measured at it, in valid cells: each lost
//     nothing, and most met the objective. What is not known is not carried.
//  2. An invalid probe says nothing about a strategy. Where the generator was late, it is the
//     generator's ceiling, and the knee is "at least" the highest rate below it.
//  3. The cells of a strategy are at most Options.MaxCells and those of the final
//     measurement. Where they do not suffice, the bracket is as wide as it is.
//  4. Loss, reordering beyond what the scenario allows, a cut drain and an ended watcher are
//     no noise: no further measurement takes them back.
//  5. All strategies see the same plans: the seeds of their probes are the same.
package knee

import (
	"context"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Measurer runs all cells of a scenario. With an error come the results so far; nil if there
// are none.
type Measurer interface {
	Measure(ctx context.Context, f *spec.File) (*result.Results, error)
}

// Options are what is to be found, and how.
type Options struct {
	Scenario   *spec.File // an open loop of one rate, with one point besides strategies
	Strategies []string   // see Strategies; none for another watcher
	Objective  Objective
	Resolution float64 // width of the last bracket as a part of its upper end, such as 0.05
	MaxCells   int     // of the search, per strategy
	Repeat     int     // of the final measurement
	// Report takes progress, a line at a time.
	Report func(line string)
}

// Bounds of Options.
const (
	LeastResolution   = 0.005
	MostResolution    = 0.5
	DefaultResolution = 0.05
	LeastCells        = 4
	DefaultCells      = 24
	DefaultRepeat     = 3
	// Share is the part of the knee at which freshness is measured in the end.
	Share = 0.7
)

// Check refuses what cannot be searched, before anything is measured.
func (o *Options) Check() error {
	switch {
	case !(o.Resolution >= LeastResolution && o.Resolution <= MostResolution):
		return badinput.New("use 0.5% to 50%", "a resolution of %g%% cannot be used", 100*o.Resolution)
	case o.MaxCells < LeastCells:
		return badinput.New("use at least 4", "%d cells bracket nothing", o.MaxCells)
	case o.Repeat < 1 || o.Repeat > 100:
		return badinput.New("use 1 to 100", "the final measurement cannot be repeated %d times", o.Repeat)
	}
	_, err := o.searches()
	return err
}

// searches are those of the strategies.
func (o *Options) searches() (all []*searched, err error) {
	names := o.Strategies
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		s, err := pin(o.Scenario, name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
