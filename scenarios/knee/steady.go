package knee

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
)

// Witness is a Measurer that knows in which cells the machine stood still. Without one no
// cell gets a second try.
type Witness interface {
	// Stalled returns the evidence that the machine stood still in a cell of a run; none if
	// it did not, or if nobody can tell.
	Stalled(run, cell string) (evidence []string, err error)
}

// settle measures freshness at a part of the knee.
func (f *finder) settle(ctx context.Context, knee float64) error {
	rate := rounded(Share * knee)
	f.report(fmt.Sprintf("measuring freshness at %s %s, %.0f%% of it%s", number(rate), f.unit, 100*Share, f.pace.left(f.Repeat+f.later())))
	res, err := f.cells(ctx, rate, f.s.base.Seed, f.Repeat)
	if res == nil {
		return err
	}
	var tries []SecondTry
	if err == nil {
		tries, err = f.repeatLate(ctx, rate, res)
	}
	f.steady = f.steadyOf(rate, res, tries)
	switch crashes := res.Crashes(); {
	case crashes != "" && ctx.Err() == nil:
		f.steady.Why, err = crashes, nil
	case f.steady.Carried < f.steady.Valid:
		f.remark("at %.0f%% of the knee only %d of %d valid cells met the objective: %s", 100*Share, f.steady.Carried, f.steady.Valid, f.steady.Why)
	}
	for _, t := range tries {
		f.remark("at %.0f%% of the knee cell %s got a second try: %s; %s", 100*Share, t.Cell, t.Why, strings.Join(t.Stalled, "; "))
	}
	return err
}

// repeatLate gives the cells that were late a second try each, with the same plan, where
// there is evidence that the machine stood still. The second try takes the place of the
// first, whatever it came to.
func (f *finder) repeatLate(ctx context.Context, rate float64, res *result.Results) (tries []SecondTry, err error) {
	w, ok := f.m.(Witness)
	if !ok {
		return nil, nil
	}
	for i := range res.Cells {
		c := &res.Cells[i]
		if !late(c) {
			continue
		}
		evidence, err := w.Stalled(res.Run.ID, c.ID)
		if err != nil {
			return tries, fmt.Errorf("%s, cell %s: %w", res.Run.ID, c.ID, err)
		}
		if len(evidence) == 0 {
			continue
		}
		why := strings.Join(c.InvalidReasons, "; ")
		f.report(fmt.Sprintf("cell %s gets a second try: %s; %s", c.ID, why, strings.Join(evidence, "; ")))
		second, err := f.cells(ctx, rate, f.s.base.Seed+uint64(max(1, c.Repetition)-1), 1)
		if second != nil {
			tries = append(tries, SecondTry{Cell: c.ID, Why: why, Stalled: evidence, Run: second.Run.ID})
			res.Run.Crashed = append(res.Run.Crashed, second.Run.Crashed...)
			if len(second.Cells) > 0 {
				res.Cells[i] = second.Cells[0]
			}
		}
		if err != nil {
			return tries, err
		}
	}
	return tries, nil
}

// late reports whether a cell is invalid for nothing but lateness in figures of time. What it
// lost, and what it violated, is a fact.
func late(c *result.Cell) bool {
	return !c.Valid && violation(c) == "" && len(c.InvalidReasons) > 0 &&
		!slices.ContainsFunc(c.InvalidReasons, func(r string) bool { return !slices.Contains(c.LateReasons, r) })
}

func (f *finder) steadyOf(rate float64, res *result.Results, tries []SecondTry) *Steady {
	s := &Steady{Rate: rate, Share: Share, Cells: len(res.Cells), Run: res.Run.ID, SecondTries: tries}
	var p50, p99 []float64
	lost, known := int64(0), true
	for i := range res.Cells {
		c := &res.Cells[i]
		p := f.Objective.judge(c, f.s.base.Limits)
		if p.Verdict != Carried && s.Why == "" {
			s.Why = p.Why
		}
		if p.Verdict == Invalid {
			continue
		}
		s.Valid++
		if p.Verdict == Carried {
			s.Carried++
		}
		if p.Lost == nil {
			known = false
		} else {
			lost += *p.Lost
		}
		if c.Freshness != nil && !c.Cut {
			p50, p99 = append(p50, c.Freshness.P50), append(p99, c.Freshness.P99)
		}
	}
	if known && s.Valid > 0 {
		s.Lost = &lost
	}
	if m, ok := stats.Median(p50); ok {
		s.P50 = &m
	}
	if m, ok := stats.Median(p99); ok {
		low, high := slices.Min(p99), slices.Max(p99)
		s.P99, s.P99Low, s.P99High = &m, &low, &high
	}
	return s
}
