package watcher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/watchbench/watchbench/internal/lifecycle"
)

// ready answers /readyz: the first list of every kind is cached and compared with
// storage and no watch is lost, or another replica leads and this one is ready to follow.
// With shards each one held counts so. Kinds that are pinned for readers count always.
func (w *Watcher) ready() error {
	var lost []error
	var waiting []string
	if w.resources != nil {
		unsynced, err := w.resources.watches.Unready()
		waiting, lost = texts(unsynced), err
	}
	switch {
	case w.sharing != nil:
		return w.sharing.ready(lost, waiting)
	case !w.standby.Load():
		return w.copying.ready(lost, waiting)
	}
	if err := w.elector.Trouble(); err != nil {
		return err
	}
	return missing(lost, waiting)
}

// ready adds to what readers wait for what the copy waits for.
func (c *copying) ready(lost []error, waiting []string) error {
	select {
	case <-c.started:
	default:
		if err := c.start.err.Load(); err != nil {
			return fmt.Errorf("not started: %w", *err)
		}
		return errors.New("not started")
	}
	lost = append(c.collector.Lost(), lost...)
	if c.definitions != nil {
		lost = append(lost, c.definitions.Lost()...)
		waiting = append(waiting, texts(c.definitions.Unsynced())...)
	}
	if c.idle() && len(lost) == 0 {
		return errors.New("nothing is watched: the filter file lets no kind through; the log and k8s-watch check say why")
	}
	if err := missing(lost, append(texts(c.collector.Unsynced()), waiting...)); err != nil {
		return err
	}
	if c.synchronizer != nil {
		if waiting := c.synchronizer.Uncompared(); len(waiting) > 0 {
			return fmt.Errorf("not compared with storage: %v", waiting)
		}
	}
	return c.platform.storage.Reachable()
}

func missing(lost []error, unsynced []string) error {
	switch n := len(lost); {
	case n > 1:
		return fmt.Errorf("%w (and %d more)", lost[0], n-1)
	case n == 1:
		return lost[0]
	case len(unsynced) > 0:
		return fmt.Errorf("not synced: %v", unsynced)
	}
	return nil
}

func texts[T fmt.Stringer](all []T) (out []string) {
	for _, one := range all {
		out = append(out, one.String())
	}
	return out
}

// Times of the start: what is not there yet may come.
const (
	startPause    = 250 * time.Millisecond // doubled at each try
	maxStartPause = 5 * time.Second
	startSays     = time.Minute // between two log lines
)

type start struct {
	log *slog.Logger
	err atomic.Pointer[error] // why it waits, nil while it waits for nothing
}

// await tries until it succeeds or ctx ends: during an outage a process that ended would
// only have to be started again. A wrong configuration is an error, key its place.
func (s *start) await(ctx context.Context, key, waits string, try func() error) error {
	defer s.err.Store(nil)
	var said, since time.Time
	for pause := startPause; ; pause = min(2*pause, maxStartPause) {
		err := try()
		if err == nil && !said.IsZero() {
			s.log.Info("no longer "+waits, "after", time.Since(since).Round(time.Millisecond))
		}
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if _, ok := errors.AsType[*InputError](err); ok {
			return err
		}
		if untrusted(err) {
			return &InputError{Key: key, Err: err}
		}
		s.err.Store(&err)
		if now := time.Now(); now.Sub(said) >= startSays {
			if said.IsZero() {
				since = now
			}
			s.log.Warn(waits, "key", key, "error", err)
			said = now
		}
		_ = lifecycle.Pause(ctx, pause) // an end of ctx is seen above
	}
}
