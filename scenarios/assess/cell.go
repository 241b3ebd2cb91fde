package assess

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/faults"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// Options hold what a cell's folder does not record.
type Options struct {
	// Baseline is an undisturbed cell, with which column I compares; nil if there is none.
	Baseline *result.Cell
	// Strict takes every failure for one, whatever the scenario expects.
	Strict bool
	// Further are rules of a Go test, which no folder holds. What they find is appended to Found, and read back from the
	// folder where there are none.
	Further func(*matrix.Case) ([]matrix.Rule, error)
	Found   *[]history.Finding
}

// Cell computes a cell's entry of results.json from its folder.
func Cell(ctx context.Context, dir string, o Options) (result.Cell, error) {
	if c, err := history.LoadCell(dir); err == nil && c.Lost != "" {
		return lostCell(c), nil
	}
	c, err := load(dir, o)
	if err != nil {
		return result.Cell{}, unusable(err)
	}
	c.Baseline = o.Baseline
	cell, err := c.judge(ctx)
	if err == nil {
		err = c.readers(ctx, dir, &cell)
	}
	if err != nil {
		return cell, unusable(fmt.Errorf("cell %s: %w", c.Cell.ID, err))
	}
	weigh(&c.Cell.Scenario, &cell)
	if !o.Strict {
		expect(&c.Cell.Scenario, &cell)
	}
	c.seen.Figures = &cell // with what is known by now
	matrix.Fill(&c.Case, c.rules, &cell, c.seen)
	if o.Found != nil {
		for _, f := range c.found {
			*o.Found = append(*o.Found, *f)
		}
	}
	cell.Resumed = c.Cell.Resumed
	return cell, nil
}

type recorded struct {
	matrix.Case
	history *check.History
	rules   matrix.Rules
	seen    matrix.Seen
	stored  inventory
	found   []*history.Finding
}

func load(dir string, o Options) (*recorded, error) {
	var c recorded
	var err error
	if c.Cell, err = history.LoadCell(dir); err != nil {
		return nil, err
	}
	if c.Cell.Refusal == nil {
		need := []string{history.FileMeta, history.FileOps, history.FileLedger, history.FileState, history.FileSamples,
			history.FileMarks, history.FileDeeds}
		if c.Cell.Watcher.Own {
			need = append(need, history.FileBefore, history.FileAfter)
		}
		if c.Cell.Scenario.Readers.Any() {
			need = append(need, history.FileReaders)
		}
		if c.Cell.Scenario.Cluster.Controllers {
			need = append(need, history.FileWitness)
		}
		if err := require(dir, need...); err != nil {
			return nil, err
		}
	}
	if c.history, err = check.Load(dir); err != nil {
		return nil, err
	}
	c.history.Queue = queue(c.Cell)
	c.Marks, c.Samples = c.history.Marks, c.history.Samples
	var errs [3]error
	c.Deeds, errs[0] = history.LoadLines[history.Deed](dir, history.FileDeeds)
	c.Before, errs[1] = history.LoadScrape(dir, history.FileBefore)
	c.After, errs[2] = history.LoadScrape(dir, history.FileAfter)
	if err := cmp.Or(errs[:]...); err != nil {
		return nil, err
	}
	if err := c.whole(dir); err != nil {
		return nil, err
	}
	c.CustomKinds = slices.DeleteFunc(slices.Clone(c.history.Rules.Kinds), func(kind string) bool {
		return slices.Contains(c.Cell.Kinds, kind)
	})
	if c.Cell.Scenario.Fault == nil {
		return &c, nil
	}
	injected, err := faults.Rules(&c.Case)
	if err != nil {
		return nil, err
	}
	further, err := c.further(dir, o)
	c.rules = slices.Concat(matrix.General(&c.Case), injected, further)
	return &c, err
}

// further are the rules of a Go test, or what they found when the cell was run.
func (c *recorded) further(dir string, o Options) (rules []matrix.Rule, err error) {
	if o.Further == nil {
		found, err := history.LoadLines[history.Finding](dir, history.FileFindings)
		for _, f := range found {
			rules = append(rules, matrix.Rule{
				First: f.First, Cached: f.Cached,
				Facts: func(matrix.Seen) []result.Fact { return f.Facts }, Vacuous: func(matrix.Seen) []string { return f.Vacuous },
			})
		}
		return rules, err
	}
	rules, err = o.Further(&c.Case)
	for i := range rules {
		r := &rules[i]
		f := &history.Finding{First: r.First, Cached: r.Cached}
		c.found = append(c.found, f)
		if facts := r.Facts; facts != nil {
			r.Facts = func(seen matrix.Seen) []result.Fact { f.Facts = facts(seen); return slices.Clone(f.Facts) }
		}
		if vacuous := r.Vacuous; vacuous != nil {
			r.Vacuous = func(seen matrix.Seen) []string { f.Vacuous = vacuous(seen); return f.Vacuous }
		}
	}
	return rules, err
}

// queue is check.History.Queue: the shortest that the handler queues were, which only the policy coalesce merges in.
func queue(c *history.Cell) int64 {
	w := &c.Scenario.Watcher
	switch {
	case !c.Watcher.Own || !w.SendsEvery():
		return 0
	case w.QueueFull != "coalesce":
		return math.MaxInt64
	}
	least := w.HandlerQueueLen
	for _, e := range c.Scenario.Events {
		if e.HandlerQueueLen > 0 {
			least = min(least, e.HandlerQueueLen)
		}
	}
	return int64(least)
}

func weigh(s *spec.Scenario, cell *result.Cell) {
	for g, c := range cell.Checks {
		if c.Power == nil {
			continue
		}
		c.MinPower = int64(s.Limits.MinPower)
		if c.Verdict == result.Pass && *c.Power < c.MinPower {
			c.Verdict = result.NoPower
		}
		cell.Checks[g] = c
	}
}

// expect turns failures that the scenario allows into allowed ones, and the absence of a failure that it demands into a
// failure.
func expect(s *spec.Scenario, cell *result.Cell) {
	for _, g := range check.Guarantees {
		c, ok := cell.Checks[g]
		if !ok {
			continue
		}
		switch want := s.Expect.Of(g, cell.Handler.Strategy); {
		case want == spec.ExpectPass:
			continue
		case c.Verdict == result.Fail:
			c.Verdict = result.Allowed
		case want == spec.ExpectFail && c.Verdict == result.Pass:
			c.Verdict = result.Fail
			if c.Note != "" {
				c.Note += "; "
			}
			c.Note += "the scenario expects a violation and there was none"
		case want == spec.ExpectFail && !cell.Cut:
			cell.Valid = false
			cell.InvalidReasons = append(cell.InvalidReasons, fmt.Sprintf("%s was to fail and could not be judged", g))
		}
		cell.Checks[g] = c
	}
}
