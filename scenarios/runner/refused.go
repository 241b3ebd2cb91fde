package runner

import (
	"context"
	"errors"
	"fmt"
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

// nowhere is an address at which nobody listens: the discard port of this machine.
const nowhere = "http://127.0.0.1:9"

// Refuses starts a watcher that should end at once.
func (c *site) Refuses(ctx context.Context, s *party.Serving) (out history.Refusal, err error) {
	setup := c.watcherSetup(0)
	c.launched--
	c.refusals++
	setup.Name = fmt.Sprintf("%s-refused-%d", party.WatcherName, c.refusals)
	setup.Endpoints, setup.Serving = []string{nowhere}, s
	began := time.Now()
	w, err := party.SpawnWatcher(setup)
	if err != nil {
		return out, err
	}
	defer func() {
		if !w.Ended() {
			w.Kill()
		}
	}()
	limit := time.NewTimer(startRefused)
	defer limit.Stop()
	select {
	case <-ctx.Done():
		return out, context.Cause(ctx)
	case <-w.Done():
		out.Ended, out.ExitCode = true, w.ExitCode()
	case <-limit.C:
	}
	out.LastLine, out.Seconds = party.LastLine(w.Log), time.Since(began).Seconds()
	return out, nil
}

// startRefused is how long a watcher may take to refuse its configuration.
const startRefused = 10 * time.Second

func (c *cell) collectRefusal(ctx context.Context) error {
	if err := c.saveLedger(ctx); err != nil {
		return err
	}
	meta := check.Meta{Cell: c.record.ID, Strategy: c.s.Watcher.Strategy, Mode: c.s.Storage.Mode, Rules: c.rules}
	return errors.Join(history.SaveJSON(c.dir, history.FileMeta, meta),
		history.SaveLines(c.dir, history.FileMarks, c.marks))
}
