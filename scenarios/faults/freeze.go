package faults

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/matrix"
	"github.com/watchbench/watchbench/scenarios/measure"
	"github.com/watchbench/watchbench/scenarios/party"
	"github.com/watchbench/watchbench/scenarios/spec"
)

// freeze is how a leader woke that had been stopped for longer than its lease.
type freeze struct {
	Waiting int64 `json:"waiting"`          // events queued right before it was stopped
	Woken   int64 `json:"woken"`            // Unix nanoseconds
	Exited  int64 `json:"exited,omitempty"` // when its process ended; 0 if it did not
}

// wakeLimit is how long a leader may need to end after it woke.
const wakeLimit = 5 * time.Second

// rule: it ends soon, and there was something that it could have sent.
func (f *freeze) rule() matrix.Rule {
	end := matrix.Missing("T", "end of the leader that woke", "s", "it did not end")
	if f.Exited != 0 {
		end = matrix.Within("T", "end of the leader that woke", "s", float64(f.Exited-f.Woken)/1e9, wakeLimit.Seconds())
	}
	r := states(end)
	r.Vacuous = func(matrix.Seen) []string {
		if f.Waiting < matrix.MinKeys {
			return []string{fmt.Sprintf("the leader was stopped with %d events queued; at least %d are needed", f.Waiting, matrix.MinKeys)}
		}
		return nil
	}
	return r
}

// freezeLeader stops the replica that leads, waits for another, and wakes the first.
func freezeLeader(ctx context.Context, c Cell, _ spec.Event) (Done, error) {
	all := append([]*party.Watcher{c.Watcher()}, c.Others()...)
	i, err := leader(ctx, all)
	if err != nil {
		return Done{}, fmt.Errorf("stop the leader: %w", err)
	}
	former := all[i]
	t := takeOver{Before: former.Instance, Frozen: &freeze{}}
	if s, err := former.Scrape(ctx); err == nil {
		if e := measure.EventsOf(s); e != nil {
			t.Frozen.Waiting = e.Queued
		}
	}
	left := slices.Delete(slices.Clone(all), i, i+1)
	c.SetWatchers(left[0], left[1:]) // nobody is to wait for the counters of one that is stopped
	t.Killed = time.Now().UnixNano()
	c.Mark(history.Mark{What: history.MarkKilled}) // from here on it is to send nothing
	former.Signal(syscall.SIGSTOP)
	err = t.succeed(ctx, c, left, t.Killed+int64(lastRequests))
	t.Frozen.Woken = time.Now().UnixNano()
	former.Signal(syscall.SIGCONT)
	if err == nil {
		t.Frozen.Exited, err = awaitExit(ctx, former, t.Frozen.Woken+int64(wakeLimit))
	}
	if t.Frozen.Exited == 0 { // it is ended with the cell
		c.SetWatchers(c.Watcher(), append(c.Others(), former))
	}
	return Done{Seen: t}, err
}
