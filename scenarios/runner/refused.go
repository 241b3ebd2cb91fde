package runner

import (
	"context"
	"errors"
	"time"

	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// A cell in which the watcher must not talk to storage at all: there is something to
// copy, and what is judged is that it ends with an error and sends nothing.

// refusedLimit bounds the time until a watcher has refused a storage it must not trust.
const refusedLimit = 30 * time.Second

func (c *cell) prepareRefusal(ctx context.Context) error {
	if err := c.prepareSides(ctx); err != nil {
		return err
	}
	return c.faults.Prepare(ctx, c)
}

// awaitRefusal starts the watcher and waits for its end.
func (c *cell) awaitRefusal(ctx context.Context) error {
	c.Mark(history.Mark{What: history.MarkStarted})
	began := time.Now()
	refusal := &history.Refusal{Ended: true, ExitCode: 1}
	w, err := c.Launch(ctx, 0)
	var ended *party.ExitError
	switch {
	case errors.As(err, &ended): // it was quicker than its sockets
		refusal.LastLine = ended.Last
	case err != nil:
		return err
	default:
		c.SetWatchers(w, nil)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.Done():
		case <-time.After(refusedLimit):
		}
		refusal.Ended, refusal.ExitCode, refusal.LastLine = w.Ended(), w.ExitCode(), party.LastLine(w.Log)
	}
	refusal.Seconds = time.Since(began).Seconds()
	c.record.Refusal = refusal
	return nil
}

func (c *cell) collectRefusal(ctx context.Context) error {
	if err := c.saveLedger(ctx); err != nil {
		return err
	}
	meta := check.Meta{Cell: c.record.ID, Strategy: c.s.Watcher.Strategy, Mode: c.s.Storage.Mode, Rules: c.rules}
	return errors.Join(history.SaveJSON(c.dir, history.FileMeta, meta), history.SaveLines(c.dir, history.FileMarks, c.marks))
}
