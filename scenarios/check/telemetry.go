package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

// telemetry judges G14: what the watcher reports of itself equals the record.
func (j *judge) telemetry() {
	t := j.tally["G14"]
	switch {
	case j.h.Counters == nil:
		t.note("the watcher gives no counters")
		return
	case j.h.Ledger == nil:
		t.note("the ledger was not recorded")
		return
	}
	j.accounts.agree(t, j.h.Counters)
}

func (a *accounting) agree(t *tally, c *Counters) {
	a.sumsAgree(t, c)
	for _, g := range a.groups() {
		a.sentIsLedger(t, &g)
		a.attemptsAgree(t, &g)
		if g.owed != nil && !g.relisted && a.h.QueueFull == QueueFullDrop {
			t.judged++
			a.dropsFound(t, &g)
		}
		if g.name != allKinds {
			a.callsAgree(t, c, &g)
		}
	}
	a.lagAgrees(t, c)
}

func (a *accounting) sumsAgree(t *tally, c *Counters) {
	if len(c.Kinds) == 0 {
		return
	}
	totals := eventCounts(&c.Total)
	sums := make([]int64, len(totals))
	for _, e := range c.Kinds {
		for i, f := range eventCounts(&e) {
			sums[i] += f.count
		}
	}
	for i, f := range totals {
		t.judged++
		if f.count != sums[i] {
			t.fail("%s events: the total is %d, the kinds add up to %d", f.name, f.count, sums[i])
		}
	}
}

// eventCount is one counter of an account.
type eventCount struct {
	name  string
	count int64
}

func eventCounts(e *result.Events) []eventCount {
	return []eventCount{
		{"received", e.Received}, {"sent", e.Sent}, {"coalesced", e.Coalesced}, {"filtered", e.Filtered},
		{"parked", e.Parked}, {"queued", e.Queued}, {"dropped", e.Dropped}, {"retried", e.Retried},
	}
}

// attemptsAgree: each request that failed was retried, given up, dropped, merged into a later event, or still waits.
func (a *accounting) attemptsAgree(t *tally, g *group) {
	t.judged++
	e := &g.counters
	if explained := e.Retried + e.Parked + e.Queued + e.Dropped + e.Coalesced; g.requests.failed > explained {
		t.failN(g.requests.failed-explained,
			"%s: the ledger has %d requests that were not acknowledged, the watcher counted only %d "+
				"retried, parked, queued, dropped or coalesced events",
			g.name, g.requests.failed, explained)
	}
}

// callsAgree compares the counters of storage calls and of freshness.
func (a *accounting) callsAgree(t *tally, c *Counters, g *group) {
	if c.StorageSucceeded != nil {
		t.judged++
		low, high := g.requests.acked()
		if n := c.StorageSucceeded[g.name]; n < low || n > high {
			t.fail("%s: the watcher counted %d successful storage calls, the ledger has %s acknowledged requests",
				g.name, n, span(low, high))
		}
	}
	if c.FreshnessCount != nil {
		t.judged++
		if n, sent := c.FreshnessCount[g.name], g.counters.Sent; max(n-sent, sent-n) > g.requests.near {
			t.fail("%s: the freshness histogram has %d observations for %d sent events", g.name, n, sent)
		}
	}
}

// lagAgrees: a watcher that has caught up says so, and only then.
func (a *accounting) lagAgrees(t *tally, c *Counters) {
	g1, atRest := a.tally["G1"], a.acc.total.near == 0 && a.book.opsNear[allKinds] == 0
	if g1.judged > 0 && g1.violations == 0 && atRest {
		t.judged++
		if c.Total.Queued != 0 {
			t.fail("%d events are said to be queued although storage has converged and nothing moved while the "+
				"counters were read: %v",
				c.Total.Queued, queuedKinds(c))
		}
	}
	if c.OldestUnsent == nil {
		return
	}
	t.judged++
	switch waiting := c.Total.Queued + c.Total.Parked; {
	case waiting == 0 && *c.OldestUnsent > 0 && a.acc.total.near == 0:
		t.fail("the oldest unsent event is said to be %.3f s old, but none is queued or parked", *c.OldestUnsent)
	case c.Total.Queued > 0 && *c.OldestUnsent == 0 && a.acc.total.near == 0:
		t.fail("%d events are queued, but the oldest unsent one is said to be 0 s old", c.Total.Queued)
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
