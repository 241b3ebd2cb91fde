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
	// A backlog is asked after rarely, its end closely: answering costs the watcher
	// CPU that is measured.
	backlogPoll = 250 * time.Millisecond
	endPoll     = 50 * time.Millisecond
	backlog     = 100.0 // events
	// compareEvery spaces the comparisons of both sides' states.
	compareEvery = 300 * time.Millisecond
	// quiet is how long nothing may happen before a watcher that says its queues
	// are empty is believed, although storage differs from the apiserver: the
	// difference is then final (events lost or reordered). It covers the delivery of
	// a watch event on a busy machine.
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

// activity is what must stand still for the drain to be over.
type activity struct {
	requests, received float64
	waiting            float64 // events queued, requests in flight
	settled            bool    // nothing queued, nothing in flight
	known              bool    // the watcher reports its queues
}

// drainWait watches the end of the backlog.
type drainWait struct {
	watcher *party.Watcher
	storage *party.Storage
	want    []history.StateRecord // the apiserver's side, final
	rules   check.Rules
	quiet   time.Duration         // at least so long must nothing happen; 0 is quiet
	step    func(queued *float64) // progress, may be nil
	idle    func(context.Context) // called whenever nothing is left to do, may be nil
}

// wait returns when storage has everything, when nothing happens any more, or at
// the deadline.
func (d drainWait) wait(ctx context.Context, deadline time.Time) (drained, error) {
	var last activity
	want := wanted(d.want, d.rules)
	still := time.Now()
	var compared time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		a, err := d.look(ctx)
		if err != nil {
			return drained{}, err
		}
		now := time.Now()
		// What says nothing of its queues and has sent nothing has not started yet.
		mute := !a.known && a.requests == 0
		if a.requests != last.requests || a.received != last.received || !a.settled || mute {
			still = now
		}
		if a.settled && !last.settled && d.idle != nil {
			d.idle(ctx)
		}
		last = a
		if a.settled && now.Sub(compared) >= compareEvery {
			compared = now
			state, err := d.storage.State(ctx, d.rules)
			if err != nil {
				return drained{}, err
			}
			need := max(quiet, d.quiet)
			if !a.known {
				need = quietUnknown
			}
			if history.Difference(want, state) == "" || now.Sub(still) >= need {
				return drained{at: now.UnixNano(), state: state}, nil
			}
		}
		if now.After(deadline) {
			// The state is read after the watcher was stopped: what is in flight now
			// may still arrive.
			return drained{at: now.UnixNano(), cut: true, mute: mute}, nil
		}
		timer.Reset(a.pause())
		select {
		case <-ctx.Done():
			return drained{}, context.Cause(ctx)
		case <-d.watcher.Done():
			return drained{}, d.watcher.Failure()
		case <-d.storage.Done():
			return drained{}, d.storage.Failure()
		case <-timer.C:
		}
	}
}

// look reads both sides' counters.
func (d drainWait) look(ctx context.Context) (activity, error) {
	var a activity
	m, err := d.storage.Scrape(ctx)
	if err != nil {
		return a, d.storage.Lost(ctx, err)
	}
	w, err := d.watcher.Scrape(ctx)
	if err != nil && d.watcher.Own {
		return a, d.watcher.Lost(ctx, err)
	}
	busy := value(m.Sum(metric.MockInFlight)) + value(m.Sum(metric.MockQueued))
	// Comparisons read all the time; what counts is what changes storage.
	a.requests = value(m.Sum(metric.MockRequests, "method", "PUT")) + value(m.Sum(metric.MockRequests, "method", "DELETE"))
	if q := w.Sum(metric.EventsQueued); q != nil {
		a.known = true
		a.received = value(w.Sum(metric.EventsReceived))
		busy += *q + value(w.Sum(metric.SyncWaiting))
		if d.step != nil {
			d.step(q)
		}
	}
	a.settled, a.waiting = busy == 0, busy
	return a, nil
}

func (a activity) pause() time.Duration {
	if a.waiting > backlog {
		return backlogPoll
	}
	return endPoll
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
