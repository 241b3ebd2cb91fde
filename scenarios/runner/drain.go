package runner

import (
	"context"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/party"
)

// Timing of the wait for the end of the drain.
const (
	drainPoll = 100 * time.Millisecond // how often storage is asked what it has to do
	// calm is how long storage must have nothing to do before both sides' states are
	// compared, and compareEvery spaces the comparisons.
	calm         = 150 * time.Millisecond
	compareEvery = 300 * time.Millisecond
	// quiet is how long nothing must happen before a difference from the apiserver is final, if the watcher's queues are
	// empty; a watch event on a busy machine takes less.
	quiet = 1500 * time.Millisecond
	// quietUnknown is the same for a watcher whose queues cannot be seen; the
	// original waits up to 5 s before it tries a failed object again.
	quietUnknown = 7 * time.Second
)

// drained is how a drain ended.
type drained struct {
	at    int64 // when it was seen to be over, or cut
	cut   bool
	mute  bool // it was cut before the watcher had sent anything
	state []history.StateRecord
}

// drainWait watches the end of the backlog at storage, and asks the watcher only when that seems to be the end.
type drainWait struct {
	watcher *party.Watcher
	metrics func(context.Context) ([]byte, history.Scrape, error) // its own, or of all that share the work
	storage *party.Storage
	want    []history.StateRecord // the apiserver's side, final
	rules   check.Rules
	quiet   time.Duration         // at least so long must nothing happen; 0 is quiet
	idle    func(context.Context) // called whenever storage becomes idle; may be nil
}

// wait returns when storage has everything, when nothing happens any more, or at the deadline.
func (d drainWait) wait(ctx context.Context, deadline time.Time) (drained, error) {
	want := wanted(d.want, d.rules)
	var received float64 // events that the watcher had
	rest := newRest(time.Now())
	var compared time.Time
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for {
		changes, busy, err := d.traffic(ctx)
		if err != nil {
			return drained{}, err
		}
		now := time.Now()
		rest.see(now, changes, busy)
		if now.Sub(rest.idle) >= calm && now.Sub(compared) >= compareEvery {
			if !rest.known && d.idle != nil {
				d.idle(ctx)
			}
			state, err := d.storage.State(ctx, d.rules)
			if err != nil {
				return drained{}, err
			}
			equal, long := history.Difference(want, state) == "", now.Sub(rest.unchanged) >= max(quiet, d.quiet)
			if equal || long || !rest.known {
				q, err := d.queues(ctx)
				if err != nil {
					return drained{}, err
				}
				// What has sent nothing has not started yet.
				final := equal || now.Sub(rest.unchanged) >= quietUnknown && changes > 0
				if q.known {
					final = q.waiting == 0 && (equal || long && q.received == received)
				}
				if final {
					return drained{at: now.UnixNano(), state: state}, nil
				}
				if q.received != received {
					rest.unchanged, received = now, q.received
				}
			}
			rest.known, compared = true, now
		}
		if now.After(deadline) {
			var q queues
			if changes == 0 {
				q, err = d.queues(ctx)
			}
			// The state is read after the watcher was stopped: what is in flight now may still arrive.
			return drained{at: now.UnixNano(), cut: true, mute: !q.known && changes == 0}, err
		}
		select {
		case <-ctx.Done():
			return drained{}, context.Cause(ctx)
		case <-d.watcher.Done():
			return drained{}, d.watcher.Failure()
		case <-d.storage.Done():
			return drained{}, d.storage.Failure()
		case <-tick.C:
		}
	}
}

// rest is since when nothing happens at storage. A request in service puts off the comparison, but only a change speaks
// against a difference being final: the synchronizer reads storage at every period, for as long as it runs.
type rest struct {
	changes         float64 // requests that storage has had
	idle, unchanged time.Time
	known           bool // the rest has been seen
}

func newRest(now time.Time) *rest { return &rest{idle: now, unchanged: now} }

func (r *rest) see(now time.Time, changes float64, busy bool) {
	if changes != r.changes {
		r.changes, r.unchanged = changes, now
		busy = true
	}
	if busy {
		r.idle, r.known = now, false
	}
}

// traffic counts the changing requests that storage has had, and whether it has any request to do.
func (d drainWait) traffic(ctx context.Context) (changes float64, busy bool, err error) {
	m, err := d.storage.Scrape(ctx)
	if err != nil {
		return 0, false, d.storage.Lost(ctx, err)
	}
	changes = m.Value(metric.MockRequests, "method", "PUT") + m.Value(metric.MockRequests, "method", "DELETE")
	return changes, m.Value(metric.MockInFlight)+m.Value(metric.MockQueued) > 0, nil
}

// queues is a watcher's own account.
type queues struct {
	known             bool
	waiting, received float64 // events
}

func (d drainWait) queues(ctx context.Context) (q queues, err error) {
	_, w, err := d.metrics(ctx)
	if err != nil {
		if d.watcher.Own {
			return q, d.watcher.Lost(ctx, err)
		}
		return q, nil
	}
	if n := w.Sum(metric.EventsQueued); n != nil {
		return queues{true, *n + w.Value(metric.SyncWaiting), w.Value(metric.EventsReceived)}, nil
	}
	return q, nil
}
