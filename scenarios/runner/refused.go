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

// A cell in which the watcher must refuse storage: it ends with an error and sends nothing.

// Bounds on the time until a watcher has refused a storage that it must not trust, or its configuration.
const (
	refusedLimit = 30 * time.Second
	startRefused = 10 * time.Second
)

func (c *cell) prepareRefusal(ctx context.Context) error {
	if err := c.prepareSides(ctx); err != nil {
		return err
	}
	return c.faults.Prepare(ctx, c)
}

// awaitRefusal starts the watcher and waits for its end.
func (c *cell) awaitRefusal(ctx context.Context) error {
	if err := c.Spawn(ctx); err != nil {
		return err
	}
	refusal, err := ending(ctx, c.watcher, refusedLimit)
	c.record.Refusal = &refusal
	return err
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
	w, err := party.SpawnWatcher(setup)
	if err != nil {
		return out, err
	}
	defer w.Kill()
	return ending(ctx, w, startRefused)
}

// ending is how a watcher that was just started ends, or that it does not within the limit.
func ending(ctx context.Context, w *party.Watcher, limit time.Duration) (out history.Refusal, err error) {
	began := time.Now()
	select {
	case <-ctx.Done():
		return out, context.Cause(ctx)
	case <-w.Done():
	case <-time.After(limit):
	}
	return history.Refusal{Ended: w.Ended(), ExitCode: w.ExitCode(), LastLine: party.LastLine(w.Log),
		Seconds: time.Since(began).Seconds()}, nil
}

func (c *cell) collectRefusal(ctx context.Context) error {
	if err := c.saveLedger(ctx); err != nil {
		return err
	}
	meta := check.Meta{Cell: c.record.ID, Strategy: c.s.Watcher.Strategy, Mode: c.s.Storage.Mode, Rules: c.rules}
	return errors.Join(history.SaveJSON(c.dir, history.FileMeta, meta),
		history.SaveLines(c.dir, history.FileMarks, c.marks))
}
