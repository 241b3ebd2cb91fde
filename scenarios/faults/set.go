package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// families lists the product's families, each made anew for every cell.
var families = []func() Family{lives, stopped, beside, secondWatcher, certificates, killedStorage, controllers,
	restoredCluster}

// Format is the scenario format with the events of this package.
var Format = FormatOf()

// FormatOf is the scenario format with those of further families, too.
func FormatOf(more ...func() Family) spec.Format {
	return spec.Format{Events: func() (kinds []spec.EventKind) {
		for _, f := range New(more...).families {
			for _, p := range f.Failpoints {
				kinds = append(kinds, p.kind())
			}
		}
		return kinds
	}}
}

// Set is the families of one cell. Its methods are called in the order in which they
// stand here, from one goroutine at a time.
type Set struct {
	families []Family
	done     []deed
}

// deed is one that may still see more; see Done.Seen.
type deed struct {
	history.Deed
	seen any
}

// New makes the families of one cell; more come from a Go test.
func New(more ...func() Family) *Set {
	s := &Set{}
	for _, f := range slices.Concat(families, more) {
		s.families = append(s.families, f())
	}
	return s
}

// Arrange changes how the parties are started.
func (s *Set) Arrange(c Cell) error {
	for _, f := range s.families {
		if f.Arrange == nil {
			continue
		}
		if err := f.Arrange(c); err != nil {
			return err
		}
	}
	return nil
}

// Prepare makes what must be there before the watcher starts.
func (s *Set) Prepare(ctx context.Context, c Cell) error {
	return s.each(ctx, c, func(f Family) func(context.Context, Cell) error { return f.Prepare })
}

// each calls one function of every family, in order, up to the first error.
func (s *Set) each(ctx context.Context, c Cell, of func(Family) func(context.Context, Cell) error) error {
	for _, f := range s.families {
		if do := of(f); do != nil {
			if err := do(ctx, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run carries out the scenario's events, one after the other, from the start of the load on.
func (s *Set) Run(ctx context.Context, c Cell, start time.Time) error {
	rng := rand.New(rand.NewPCG(c.Seed(), 0x6576656e7473))
	for i, e := range c.Scenario().Events {
		if err := lifecycle.Pause(ctx, max(0, time.Until(start.Add(e.At.Draw(rng))))); err != nil {
			return err
		}
		if err := s.inject(ctx, c, e); err != nil {
			return fmt.Errorf("event %d (%s): %w", i+1, e.What, err)
		}
	}
	return nil
}

// inject carries out one event as often as it asks for.
func (s *Set) inject(ctx context.Context, c Cell, e spec.Event) error {
	failpoint := s.find(e.What)
	if failpoint == nil {
		return errors.New("nothing in this program carries it out")
	}
	times := max(1, e.Times)
	for n := range times {
		if times > 1 {
			c.Note(fmt.Sprintf("%s %d/%d", e.What, n+1, times))
		}
		began := time.Now()
		done, err := failpoint.Inject(ctx, c, e)
		if err != nil {
			return err
		}
		s.done = append(s.done, deed{
			history.Deed{What: e.What, Began: began.UnixNano(), Ended: time.Now().UnixNano(), Keys: done.Keys}, done.Seen,
		})
	}
	c.Note("")
	return nil
}

func (s *Set) find(what string) *Failpoint {
	for _, f := range s.families {
		if i := slices.IndexFunc(f.Failpoints, func(p Failpoint) bool { return p.Name == what }); i >= 0 {
			return &f.Failpoints[i]
		}
	}
	return nil
}

// State reads what the apiserver holds beside the objects of the load.
func (s *Set) State(ctx context.Context, c Cell) (all []history.StateRecord, err error) {
	for _, f := range s.families {
		if f.State == nil {
			continue
		}
		state, err := f.State(ctx, c)
		if err != nil {
			return nil, err
		}
		all = append(all, state...)
	}
	return all, nil
}

// Finish looks at the parties once more after the drain.
func (s *Set) Finish(ctx context.Context, c Cell) error {
	return s.each(ctx, c, func(f Family) func(context.Context, Cell) error { return f.Finish })
}

// Deeds are what was done so far, with all that was seen of it.
func (s *Set) Deeds() ([]history.Deed, error) {
	deeds := make([]history.Deed, len(s.done))
	for i, d := range s.done {
		deeds[i] = d.Deed
		if d.seen == nil {
			continue
		}
		var err error
		if deeds[i].Seen, err = json.Marshal(d.seen); err != nil {
			return nil, fmt.Errorf("keep what %s saw: %w", d.What, err)
		}
	}
	return deeds, nil
}

// Remove deletes what the families left behind, each whatever becomes of the others.
func (s *Set) Remove(ctx context.Context, c Cell) error {
	var errs []error
	for _, f := range s.families {
		if f.Remove != nil {
			errs = append(errs, f.Remove(ctx, c))
		}
	}
	return errors.Join(errs...)
}

// Rules returns the rules of the product's families for a recorded cell.
func Rules(c *matrix.Case) ([]matrix.Rule, error) { return rulesOf(New().families, c) }

// Further are the rules of a Go test's families; nil where there are none.
func (s *Set) Further() func(*matrix.Case) ([]matrix.Rule, error) {
	more := s.families[len(families):]
	if len(more) == 0 {
		return nil
	}
	return func(c *matrix.Case) ([]matrix.Rule, error) { return rulesOf(more, c) }
}

func rulesOf(some []Family, c *matrix.Case) (rules []matrix.Rule, err error) {
	for _, f := range some {
		if f.Rules == nil {
			continue
		}
		more, err := f.Rules(c)
		if err != nil {
			return nil, err
		}
		rules = append(rules, more...)
	}
	return rules, nil
}
