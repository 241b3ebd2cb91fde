package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// telemetry judges G14: what the watcher says of itself equals the record.
func (j *judge) telemetry() {
	t := j.tally["G14"]
	c := j.h.Counters
	switch {
	case c == nil:
		t.note("the watcher gives no counters")
		return
	case j.h.Ledger == nil:
		t.note("the ledger was not recorded")
		return
	}
	j.sumsAgree(t, c)
	for _, g := range j.groups(j.owed) {
		j.sentIsLedger(t, &g)
		j.attemptsAgree(t, &g)
		if g.owed != nil && !g.relisted && j.h.QueueFull == QueueFullDrop {
			t.judged++
			j.dropsFound(t, &g)
		}
		if g.name != allKinds {
			j.callsAgree(t, c, &g)
		}
	}
	j.lagAgrees(t, c)
}

// sumsAgree: the totals are the sums over the kinds.
func (j *judge) sumsAgree(t *tally, c *Counters) {
	if len(c.Kinds) == 0 {
		return
	}
	var s result.Events
	for _, e := range c.Kinds {
		s.Received += e.Received
		s.Sent += e.Sent
		s.Coalesced += e.Coalesced
		s.Filtered += e.Filtered
		s.Parked += e.Parked
		s.Queued += e.Queued
		s.Dropped += e.Dropped
		s.Retried += e.Retried
	}
	for _, f := range []struct {
		name       string
		total, sum int64
	}{
		{"received", c.Total.Received, s.Received}, {"sent", c.Total.Sent, s.Sent},
		{"coalesced", c.Total.Coalesced, s.Coalesced}, {"filtered", c.Total.Filtered, s.Filtered},
		{"parked", c.Total.Parked, s.Parked}, {"queued", c.Total.Queued, s.Queued},
		{"dropped", c.Total.Dropped, s.Dropped}, {"retried", c.Total.Retried, s.Retried},
	} {
		t.judged++
		if f.total != f.sum {
			t.fail(func() string {
				return fmt.Sprintf("%s events: the total is %d, the kinds add up to %d", f.name, f.total, f.sum)
			})
		}
	}
}

// attemptsAgree: each request that failed was retried, given up, dropped, merged
// into a later event, or still waits.
func (j *judge) attemptsAgree(t *tally, g *group) {
	t.judged++
	e := &g.counters
	if explained := e.Retried + e.Parked + e.Queued + e.Dropped + e.Coalesced; g.requests.failed > explained {
		t.failN(g.requests.failed-explained, func() string {
			return fmt.Sprintf("%s: the ledger has %d requests that were not acknowledged, the watcher counted only %d retried, parked, queued, dropped or coalesced events",
				g.name, g.requests.failed, explained)
		})
	}
}

// callsAgree compares the counters of storage calls and of freshness.
func (j *judge) callsAgree(t *tally, c *Counters, g *group) {
	if c.StorageSucceeded != nil {
		t.judged++
		low, high := g.requests.sure, g.requests.sure+g.requests.near+g.requests.maybe
		if n := c.StorageSucceeded[g.name]; n < low || n > high {
			t.fail(func() string {
				return fmt.Sprintf("%s: the watcher counted %d successful storage calls, the ledger has %s acknowledged requests", g.name, n, span(low, high))
			})
		}
	}
	if c.FreshnessCount != nil {
		t.judged++
		if n, sent := c.FreshnessCount[g.name], g.counters.Sent; abs(n-sent) > g.requests.near {
			t.fail(func() string {
				return fmt.Sprintf("%s: the freshness histogram has %d observations for %d sent events", g.name, n, sent)
			})
		}
	}
}

// lagAgrees: a watcher that has caught up says so, and only then.
func (j *judge) lagAgrees(t *tally, c *Counters) {
	g1 := j.tally["G1"]
	if g1.judged > 0 && g1.violations == 0 && j.acc.total().near == 0 && j.book.moving(allKinds) == 0 {
		t.judged++
		if c.Total.Queued != 0 {
			t.fail(func() string {
				return fmt.Sprintf("%d events are said to be queued although storage has converged and nothing moved while the counters were read: %v",
					c.Total.Queued, queuedKinds(c))
			})
		}
	}
	if c.OldestUnsent == nil {
		return
	}
	t.judged++
	switch waiting := c.Total.Queued + c.Total.Parked; {
	case waiting == 0 && *c.OldestUnsent > 0 && j.acc.total().near == 0:
		t.fail(func() string {
			return fmt.Sprintf("the oldest unsent event is said to be %.3f s old, but none is queued or parked", *c.OldestUnsent)
		})
	case c.Total.Queued > 0 && *c.OldestUnsent == 0 && j.acc.total().near == 0:
		t.fail(func() string {
			return fmt.Sprintf("%d events are queued, but the oldest unsent one is said to be 0 s old", c.Total.Queued)
		})
	}
}

func queuedKinds(c *Counters) []string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(c.Kinds)) {
		if n := c.Kinds[k].Queued; n != 0 {
			all = append(all, fmt.Sprintf("%s %d", k, n))
		}
	}
	return all
}
