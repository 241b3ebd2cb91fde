package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
)

// refusedLimit bounds the time until a watcher has refused a storage it must not
// trust.
const refusedLimit = 30 * time.Second

// runRefused is a cell in which the watcher must not talk to storage at all: there
// is something to copy, and what is judged is that it ends with an error and sends
// nothing.
func (c *cellRun) runRefused(ctx context.Context) (result.Cell, error) {
	cell := result.Cell{
		ID: c.id, Repetition: c.rep, Params: map[string]string{}, Checks: map[string]result.Check{}, Parties: map[string]result.Party{},
		Load: result.Load{Model: c.s.Load.Model}, Handler: result.Handler{Strategy: c.s.Watcher.Strategy},
		Storage: result.Storage{LatencySpec: c.s.Storage.Latency}, Valid: true,
	}
	for _, p := range c.cell.Params {
		cell.Params[p.Name] = p.Value
	}
	c.r.progress.phase(PhasePrepare)
	if err := c.prepareSides(ctx); err != nil {
		return cell, fmt.Errorf("%s: %w", PhasePrepare, err)
	}
	if err := c.createExtra(ctx); err != nil {
		return cell, fmt.Errorf("%s: %w", PhasePrepare, err)
	}
	c.r.progress.phase(PhaseLoad)
	c.mark(history.MarkStarted)
	began := time.Now()
	w, err := c.launch(ctx, 0)
	if err == nil {
		c.take(w)
		select {
		case <-ctx.Done():
			return cell, context.Cause(ctx)
		case <-w.done:
		case <-time.After(refusedLimit):
		}
	} else if ended, ok := refusal(err); ok {
		c.watcher, err = nil, nil // it was quicker than its sockets
		c.refusal = ended
	}
	if err != nil {
		return cell, fmt.Errorf("%s: %w", PhaseLoad, err)
	}
	took := time.Since(began)
	code := 1
	if c.watcher != nil {
		code = c.watcher.exitCode()
		c.refusal = lastLine(c.watcher.log)
	}
	path := filepath.Join(c.dir, history.FileLedger)
	if err := c.mock.saveLedger(ctx, path); err != nil {
		return cell, err
	}
	if err := check.SaveMeta(c.dir, check.Meta{Cell: c.id, Strategy: c.s.Watcher.Strategy, Mode: c.s.Storage.Mode, Rules: c.rules}); err != nil {
		return cell, err
	}
	h, err := check.Load(c.dir)
	if err != nil {
		return cell, err
	}
	entries, err := gather(h.Ledger)
	if err != nil {
		return cell, err
	}
	if err := judgeCell(ctx, c.dir, c.s.Expect, cell.Handler.Strategy, &cell); err != nil {
		return cell, err
	}
	ended := c.watcher == nil || c.watcher.ended()
	zero := 0.0
	facts := []result.Fact{
		{Column: "S", Name: "requests that reached storage", Value: float64(len(entries)), Limit: &zero, OK: len(entries) == 0},
		{Column: "S", Name: "exit code of the watcher", Value: float64(code), OK: ended && code != 0, Detail: c.refusal},
	}
	if c.s.Watcher.Command == "" {
		why := refusals[c.s.Storage.TLS]
		f := result.Fact{Column: "S", Name: "it names what is wrong", Value: 1, OK: strings.Contains(c.refusal, why), Detail: "want: " + why}
		if !f.OK {
			f.Value = 0
		}
		facts = append(facts, f)
	}
	limit := c.s.Fault.Recovery.Std().Seconds()
	facts = append(facts, result.Fact{Column: "T", Name: "until it refused", Unit: "s", Value: round3(took.Seconds()), Limit: &limit, OK: ended && took.Seconds() <= limit})
	c.fillRow(&cell, facts)
	return cell, nil
}

// refusal reads from an error that the watcher ended by itself.
func refusal(err error) (string, bool) {
	e, ok := err.(*exitError) //nolint:errorlint // made right here, never wrapped
	if !ok {
		return "", false
	}
	return e.last, true
}
