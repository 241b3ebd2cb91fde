package search

import (
	"context"
	"time"

	"github.com/watchbench/watchbench/internal/badinput"
	"github.com/watchbench/watchbench/internal/units"
	"github.com/watchbench/watchbench/scenarios/simulate"
	"github.com/watchbench/watchbench/scenarios/spec"
)

const (
	// readRate is about the events per second that a watcher reads from a simulated apiserver at
	// unlimited speed, on two CPUs.
	readRate = 10_000
	// simulatedAPI is the delay from a simulated apiserver to the watcher.
	simulatedAPI = time.Millisecond
	// unlimitedDrain lets even one request at a time drain.
	unlimitedDrain = 1000 * time.Hour
)

// Simulator plays one cell in virtual time.
type Simulator func(ctx context.Context, s spec.Scenario, seed uint64) (Figures, error)

// Virtual plays a cell with package simulate.
func Virtual(ctx context.Context, s spec.Scenario, seed uint64) (Figures, error) {
	o := simulate.Options{Seed: seed}
	s.DrainTimeout = spec.Duration(unlimitedDrain)
	if s.Simulated() {
		o.API = simulatedAPI
		if !s.Speed().Limited() {
			length := s.Load.Duration.Std().Seconds()
			s.Load.Speed = 0
			s.Cluster.Replay.Speed = units.Speed(max(units.MinSpeed, readRate*length/max(1, s.Load.MeanRate()*length)))
		}
	}
	out, err := simulate.Run(ctx, &s, o)
	if err != nil {
		return Figures{}, err
	}
	if out.Cut {
		return Figures{}, badinput.New("lower the load",
			"%s after the load %d of %d simulated events are unsent", unlimitedDrain, out.Left, out.Events)
	}
	return fromOutcome(out), nil
}
