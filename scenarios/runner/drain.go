package runner

import (
	"context"
	"time"

	"github.com/watchbench/watchbench/internal/metric"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/scenarios/measure"
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
	equal bool // storage held what the apiserver holds
	state []history.StateRecord
}

// activity is what must stand still for the drain to be over.
type activity struct {
	requests, received float64
	waiting            float64 // events queued, requests in flight
	settled            bool    // nothing queued, nothing in flight
	known              bool    // the watcher tells its queues
}

// drainWait watches the end of the backlog.
type drainWait struct {
	watcher *watcher
	mock    *mock
	want    []history.StateRecord // the apiserver's side, final
	rules   check.Rules
	quiet   time.Duration         // at least so long must nothing happen; 0 is quiet
	step    func(queued *float64) // progress, may be nil
}

// wait returns when storage has everything, when nothing happens any more, or at
// the deadline.
func (d drainWait) wait(ctx context.Context, deadline time.Time) (drained, error) {
	var last activity
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
		if a.requests != last.requests || a.received != last.received || !a.settled {
			still = now
		}
		last = a
		if a.settled && now.Sub(compared) >= compareEvery {
			compared = now
			state, err := d.mock.state(ctx, d.rules)
			if err != nil {
				return drained{}, err
			}
			need := max(quiet, d.quiet)
			if !a.known {
				need = quietUnknown
			}
			equal := same(d.want, state, d.rules)
			if equal || now.Sub(still) >= need {
				return drained{at: now.UnixNano(), equal: equal, state: state}, nil
			}
		}
		if now.After(deadline) {
			// The state is read after the watcher was stopped: what is in flight now
			// may still arrive.
			return drained{at: now.UnixNano(), cut: true}, nil
		}
		timer.Reset(a.pause())
		select {
		case <-ctx.Done():
			return drained{}, context.Cause(ctx)
		case <-d.watcher.done:
			return drained{}, d.watcher.failure()
		case <-d.mock.done:
			return drained{}, d.mock.failure()
		case <-timer.C:
		}
	}
}

// look reads both sides' counters.
func (d drainWait) look(ctx context.Context) (activity, error) {
	var a activity
	m, err := d.mock.scrape(ctx)
	if err != nil {
		return a, lost(ctx, d.mock.process, err)
	}
	w, err := d.watcher.scrape(ctx)
	if err != nil && d.watcher.own {
		return a, lost(ctx, d.watcher.process, err)
	}
	busy := value(m.Sum(metric.MockInFlight)) + value(m.Sum(metric.MockQueued))
	// Comparisons read all the time; what counts is what changes storage.
	a.requests = value(m.Sum(metric.MockRequests, "method", "PUT")) + value(m.Sum(metric.MockRequests, "method", "DELETE"))
	if q := w.Sum(metric.EventsQueued); q != nil {
		a.known = true
		a.received = value(w.Sum(metric.EventsReceived))
		busy += *q
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

// lost prefers the end of the process over the failed request it caused.
func lost(ctx context.Context, p *process, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.awaitEnd(200 * time.Millisecond) {
		return p.failure()
	}
	return err
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// counters is the watcher's account in the judge's form.
func counters(s history.Scrape, started, finished time.Time) *check.Counters {
	total := measure.EventsOf(s)
	if total == nil {
		return nil
	}
	c := &check.Counters{
		ScrapeStarted: started.UnixNano(), ScrapeFinished: finished.UnixNano(),
		Total: *total, Kinds: measure.EventsByKind(s),
		Relists:        whole(s.By(metric.Relists, "kind")),
		FreshnessCount: whole(s.By(metric.Freshness+"_count", "kind")),
	}
	if s.Has(metric.StorageRequests) {
		c.StorageSucceeded, c.StorageFailed = map[string]int64{}, map[string]int64{}
		for _, p := range s[metric.StorageRequests] {
			if m := p.Labels["method"]; m != "PUT" && m != "DELETE" {
				continue
			}
			to := c.StorageFailed
			if p.Labels["status"] == "success" {
				to = c.StorageSucceeded
			}
			to[p.Labels["resource_type"]] += int64(p.Value)
		}
	}
	if s.Has(metric.OldestUnsent) {
		oldest := 0.0
		for _, p := range s[metric.OldestUnsent] {
			oldest = max(oldest, p.Value)
		}
		c.OldestUnsent = &oldest
	}
	return c
}

func whole(m map[string]float64) map[string]int64 {
	if m == nil {
		return nil
	}
	out := make(map[string]int64, len(m))
	for k, v := range m {
		out[k] = int64(v)
	}
	return out
}
