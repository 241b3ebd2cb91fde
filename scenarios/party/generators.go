package party

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
)

// Generators are the load generators of one cell, one or several that share the plan. To
// the outside they are one: a phase is reached when all have, and there is one op log.
type Generators struct {
	all   []*Generator
	parts int
	cell  string
	start func(part int) (*Generator, error)
	ended bool
}

// StartGenerators starts the first of the generators. It makes what all need, so the
// others are started when it is ready.
func StartGenerators(s GeneratorSetup) (*Generators, error) {
	s.Parts = max(s.Parts, 1)
	g := &Generators{parts: s.Parts, cell: s.Cell, start: s.start}
	first, err := g.start(0)
	if err != nil {
		return nil, err
	}
	g.all = []*Generator{first}
	return g, nil
}

// Reached waits until every generator has reached a phase, looking at the progress of all
// together on the way.
func (g *Generators) Reached(ctx context.Context, phase string, limit time.Duration, each func(Line)) error {
	deadline := time.Now().Add(limit)
	if err := g.all[0].Reached(ctx, phase, limit, g.progress(each)); err != nil {
		return err
	}
	for phase == PhaseReady && len(g.all) < g.parts {
		next, err := g.start(len(g.all))
		if err != nil {
			return err
		}
		g.all = append(g.all, next)
	}
	for _, one := range g.all[1:] {
		if err := one.Reached(ctx, phase, time.Until(deadline), g.progress(each)); err != nil {
			return err
		}
	}
	return nil
}

// progress tells each about all generators, of which the slowest decides; what is done is the
// sum.
func (g *Generators) progress(each func(Line)) func(Line) {
	if each == nil || len(g.all) == 1 {
		return each
	}
	return func(Line) {
		slowest := g.all[0].Last()
		done := slowest.Done
		for _, one := range g.all[1:] {
			l := one.Last()
			if done += l.Done; l.Phase == PhaseLoad && (slowest.Phase != PhaseLoad || l.Fraction < slowest.Fraction) {
				slowest = l
			}
		}
		slowest.Done = done
		each(slowest)
	}
}

// Said is what the generators said last of a phase, together: from the first start to the
// last end, with the operations of all.
func (g *Generators) Said(phase string) Line {
	sum := g.all[0].Said(phase)
	for _, one := range g.all[1:] {
		l := one.Said(phase)
		sum.Started, sum.Finished = min(sum.Started, l.Started), max(sum.Finished, l.Finished)
		sum.Fraction = min(sum.Fraction, l.Fraction)
		sum.Planned += l.Planned
		if sum.Error == "" {
			sum.Error = l.Error
		}
	}
	return sum
}

// Tell writes one line to each.
func (g *Generators) Tell(line string) error {
	for _, one := range g.all {
		if err := one.Tell(line); err != nil {
			return err
		}
	}
	return nil
}

// End lets the generators tear down, the first after the others, waits for them and makes
// one op log of theirs.
func (g *Generators) End(ctx context.Context) error {
	var errs []error
	for i := len(g.all) - 1; i >= 0; i-- {
		errs = append(errs, g.all[i].End(ctx))
	}
	return errors.Join(append(errs, g.merge())...)
}

// Stop asks the generators to end, the first after the others, and kills what is there
// after the grace.
func (g *Generators) Stop(grace time.Duration) {
	for i := len(g.all) - 1; i >= 0; i-- {
		g.all[i].Stop(grace)
	}
}

// Processes are those of the generators.
func (g *Generators) Processes() []*Process {
	var all []*Process
	for _, one := range g.all {
		all = append(all, one.Process)
	}
	return all
}

// merge makes the cell's op log of those of several generators.
func (g *Generators) merge() error {
	if g.parts == 1 || g.ended {
		return nil
	}
	g.ended = true
	var paths []string
	for i := range g.all {
		paths = append(paths, opsPath(g.cell, i, g.parts))
	}
	if err := oplog.Merge(filepath.Join(g.cell, history.FileOps), paths...); err != nil {
		return fmt.Errorf("put the generators' op logs together: %w", err)
	}
	return nil
}

// opsPath is where a generator writes its op log.
func opsPath(cell string, part, parts int) string {
	if parts == 1 {
		return filepath.Join(cell, history.FileOps)
	}
	return filepath.Join(cell, fmt.Sprintf("ops-%d.ndjson.zst", part))
}
