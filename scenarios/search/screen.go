package search

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/watchbench/watchbench/scenarios/spec"
)

// Play is a cell to play in virtual time.
type Play struct {
	Scenario *spec.Scenario
	Seed     uint64
	Slower   time.Duration // added to the time of each request
}

// Simulator plays one cell in virtual time.
type Simulator func(ctx context.Context, p Play) (Figures, error)

// screen plays settings in virtual time.
type screen struct {
	file     *spec.File
	simulate Simulator
	slower   time.Duration
	plans    plans
	played   atomic.Int64 // cells
}

// variant is the scenario with a setting.
func (s *screen) variant(set Setting, sets ...string) (*spec.File, error) {
	f, err := s.file.With(append(overrides(set), sets...)...)
	if err == nil && len(f.Cells()) != 1 {
		err = fmt.Errorf("%s: a variant with several cells", set.Name())
	}
	return f, err
}

// play simulates candidates with the first n plans, unless that was done. Candidates that drop events
// are excluded.
func (s *screen) play(ctx context.Context, n int, all ...*candidate) error {
	if _, err := s.plans.seed(n - 1); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, c := range all {
		for i := len(c.by); i < n; i++ {
			c.by = append(c.by, Figures{})
			g.Go(func() (err error) {
				f, err := s.one(ctx, c.set, s.plans.found[i])
				c.by[i] = f
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, c := range all {
		for i := range c.by {
			if d := c.by[i].Dropped; d != nil && *d > 0 {
				c.excluded = fmt.Sprintf("drops %d events in the simulation", *d)
			}
		}
	}
	return nil
}

func (s *screen) one(ctx context.Context, set Setting, seed uint64) (Figures, error) {
	if ctx.Err() != nil {
		return Figures{}, context.Cause(ctx)
	}
	f, err := s.variant(set)
	if err != nil {
		return Figures{}, err
	}
	s.played.Add(1)
	out, err := s.simulate(ctx, Play{&f.Cells()[0].Scenario, seed, s.slower})
	if err != nil {
		return out, fmt.Errorf("simulate %s: %w", set.Name(), err)
	}
	return out, nil
}
