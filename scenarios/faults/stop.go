package faults

import (
	"context"
	"syscall"

	"github.com/watchbench/watchbench/internal/lifecycle"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// stopped has the watcher stand still for a time.
func stopped() Family {
	return Family{Failpoints: []Failpoint{{
		Name: "sigstop", Takes: []string{"for"},
		Available: func(t *spec.Timeline, e spec.Event) error {
			if e.For == 0 {
				return t.Bad("for", "write for example for: 3s", "missing: a watcher that is stopped for ever proves nothing")
			}
			return needsWatcher(t, e)
		},
		Inject: func(ctx context.Context, c Cell, e spec.Event) (Done, error) {
			c.Mark(history.Mark{What: history.MarkStopped})
			c.Watcher().Signal(syscall.SIGSTOP)
			err := lifecycle.Pause(ctx, e.For.Std())
			c.Watcher().Signal(syscall.SIGCONT)
			c.Mark(history.Mark{What: history.MarkContinued})
			return Done{}, err
		},
	}}}
}
