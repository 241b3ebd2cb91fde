package assess

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/measure"
)

func (c *recorded) judge(ctx context.Context) (cell result.Cell, err error) {
	figures := measure.New(c.Cell, c.Before, c.After, c.Samples)
	c.history.State = c.states(c.history.State)
	c.history.Bounds = func(m check.Measured) (*check.Ceilings, *check.Isolation) {
		c.seen = matrix.Seen{Measured: m, Figures: &cell}
		if c.Cell.Refusal != nil {
			cell = refusedCell(c.Cell)
			return nil, nil
		}
		if cell, err = figures.Cell(m.Changes); err != nil || c.Cell.Scenario.Fault == nil {
			return nil, nil
		}
		return matrix.Ceilings(&c.Case, c.rules, c.seen), matrix.Isolation(&c.Case, c.seen)
	}
	v, jerr := check.Judge(ctx, c.history, figures, c.rules)
	if err = errors.Join(jerr, err); err != nil {
		return cell, err
	}
	cell.Checks = v.Checks
	if figures.ClockReason() != "" || cell.FreshnessUnknown != "" {
		excuse(cell.Checks)
	}
	if !cell.Cut {
		cell.Storage.Digest = c.stored.digest()
	}
	if cell.Events == nil && (v.Lost != nil || v.Reordered != nil) {
		cell.Events = &result.Events{} // a watcher without an account of its own still has its losses
	}
	if cell.Events != nil {
		cell.Events.Lost, cell.Events.Reordered = v.Lost, v.Reordered
	}
	return cell, nil
}

// timed are the checks that hold times of the op log and the ledger against each other.
var timed = []string{"G3", "G4", "G5", "G8", "G9", "G10", "G12"}

// excuse withdraws failures that rest on a clock that contradicts itself.
func excuse(checks map[string]result.Check) {
	for _, g := range timed {
		if c := checks[g]; c.Verdict == result.Fail {
			note := "the clocks contradict each other; by them the verdict would be: " + c.Counterexample
			checks[g] = result.Check{Verdict: result.NotJudged, Note: note}
		}
	}
}

// lostCell has no figures: the cluster ended a Pod before there was a record.
func lostCell(c *history.Cell) result.Cell {
	cell := refusedCell(c)
	cell.Valid, cell.InvalidReasons, cell.Resumed = false, []string{c.Lost}, c.Resumed
	cell.Checks = map[string]result.Check{}
	return cell
}

// refusedCell has no figures: the watcher sent nothing.
func refusedCell(c *history.Cell) result.Cell {
	cell := result.Cell{
		ID: c.ID, Repetition: c.Repetition, Params: map[string]string{}, Parties: map[string]result.Party{}, Valid: true,
		Load: result.Load{Model: c.Scenario.Load.Model}, Handler: result.Handler{Strategy: c.Scenario.Watcher.Strategy},
		Storage: result.Storage{LatencySpec: c.Scenario.Storage.Latency},
	}
	maps.Copy(cell.Params, c.Params)
	return cell
}

// states shows the final states to the rules on their way to the judge, and gathers those of storage.
func (c *recorded) states(all iter.Seq2[history.StateRecord, error]) iter.Seq2[history.StateRecord, error] {
	if all == nil {
		return nil
	}
	return func(yield func(history.StateRecord, error) bool) {
		for s, err := range all {
			if err == nil {
				c.rules.State(&s)
				c.stored.add(&s)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// inventory lists storage's final content, one line per object.
type inventory struct {
	lines   []string
	unknown bool // of some object, as in a record of an older version
}

func (c *inventory) add(r *history.StateRecord) {
	if r.Side != history.SideStorage {
		return
	}
	c.unknown = c.unknown || r.Content == ""
	c.lines = append(c.lines, strings.Join([]string{r.Kind, r.Namespace, r.Name, r.UID, r.Content}, "\t")+"\n")
}

// digest is as in result.Storage; empty if unknown.
func (c *inventory) digest() string {
	if c.unknown || len(c.lines) == 0 {
		return ""
	}
	slices.Sort(c.lines)
	h := sha256.New()
	for _, line := range c.lines {
		_, _ = io.WriteString(h, line) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}
