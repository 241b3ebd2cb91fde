package assess

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/reports/stats"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/reading"
)

// readers judges those who read, and adds to the cell what came of it.
func (c *recorded) readers(ctx context.Context, dir string, cell *result.Cell) error {
	c.apiReads(cell)
	r := &c.Cell.Scenario.Readers
	if !r.Asked() || c.Cell.Refusal != nil {
		return nil
	}
	out := &reading.Outcome{Figures: &result.Readers{From: r.Source()}}
	if r.Read() || r.Webhooks > 0 {
		ops, err := history.Ops(dir)
		if err != nil {
			return err
		}
		if out, err = reading.Judge(ctx, reading.Input{Cell: c.Cell, Log: history.Readers(dir), Ops: ops, Signed: r.Webhooks > 0}); err != nil {
			return fmt.Errorf("readers: %w", err)
		}
	}
	cell.Readers = out.Figures
	for name, check := range out.Checks {
		cell.Checks[name] = check
	}
	if r.Follower {
		if err := c.follower(dir, cell); err != nil {
			return err
		}
	}
	cell.InvalidReasons = append(cell.InvalidReasons, out.Invalid...)
	cell.Valid = len(cell.InvalidReasons) == 0
	return nil
}

// apiReads is what the apiserver's counters grew by during the load.
func (c *recorded) apiReads(cell *result.Cell) {
	a, b := c.Cell.APIBefore, c.Cell.APIAfter
	if a == nil || b == nil {
		return
	}
	cell.API = &result.API{Gets: b.Gets - a.Gets, Lists: b.Lists - a.Lists, Watches: b.Watches, Events: b.Events - a.Events}
	cell.API.CPUCores = cores(cell, history.PartyAPIServer)
}

// cores is what a party used over load and drain, by figures that are published.
func cores(cell *result.Cell, party string) *float64 {
	cpu, window := cell.Parties[party].CPUSeconds, cell.Watcher.CPUWindow
	if cpu == nil || window == nil || *window <= 0 {
		return nil
	}
	return new(stats.Round(*cpu / *window))
}

// follower holds the storage of a second watcher against that of the first.
func (c *recorded) follower(dir string, cell *result.Cell) error {
	if c.Cell.Follower == nil {
		return &history.FormatError{File: filepath.Join(dir, history.FileCell), Err: fmt.Errorf("nothing of the follower that the scenario asks for")}
	}
	first, err := history.State(dir)
	if err != nil {
		return err
	}
	second, err := history.FollowerState(dir)
	if err != nil {
		return err
	}
	var stored inventory
	check, objects, err := reading.Follower(orNone(first), func(yield func(history.StateRecord, error) bool) {
		for s, err := range orNone(second) {
			if err == nil {
				stored.add(&s)
			}
			if !yield(s, err) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	if cell.Cut {
		check = result.Check{Verdict: result.NotJudged, Note: "the cell was cut"}
	}
	cell.Checks["R4"] = check
	f := &result.Follower{Objects: objects, Digest: stored.digest()}
	if end := c.Cell.Follower.CaughtUp; end > 0 && c.Cell.DrainEnd > 0 && !c.Cell.Follower.Cut {
		f.Seconds = new(stats.Round(max(0, float64(end-c.Cell.DrainEnd)/1e9)))
	}
	f.CPUCores = cores(cell, history.PartyFollower)
	cell.Readers.Follower = f
	return nil
}

func orNone(all iter.Seq2[history.StateRecord, error]) iter.Seq2[history.StateRecord, error] {
	if all == nil {
		return func(func(history.StateRecord, error) bool) {}
	}
	return all
}
