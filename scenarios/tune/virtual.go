package tune

import (
	"context"
	"time"

	"github.com/watchbench/watchbench/scenarios/simulate"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Virtual simulates with package simulate.
func Virtual(ctx context.Context, s *spec.Scenario, seed uint64, overhead time.Duration) (Figures, error) {
	out, err := simulate.Run(ctx, s, simulate.Options{Seed: seed, Overhead: overhead})
	if err != nil {
		return Figures{}, err
	}
	return FromOutcome(out), nil
}
