package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
)

func (j *judge) conserve() {
	t := j.tally["G6"]
	if j.h.Ledger == nil {
		t.note("the ledger was not recorded")
		return
	}
	owed := j.compare()
	if j.book.haveOps {
		var lost int64
		for _, o := range owed {
			lost += o.lost
		}
		if !j.h.Cut {
			j.lost = &lost
		}
	} else {
		t.note("the op log was not recorded")
	}
	j.accounts = &accounting{j, owed}
	j.accounts.conserved(t)
}

// accounting holds the watcher's counters against the op log and the ledger.
type accounting struct {
	*judge
	owed map[string]*owed // by kind, or of allKinds together where the counters are
}

func (a *accounting) conserved(t *tally) {
	if a.h.Counters == nil {
		a.conservedBlind(t)
		return
	}
	for _, g := range a.groups() {
		a.equation(t, &g)
		a.sentIsLedger(t, &g)
		a.dropsAsked(t, &g)
		a.mergesExplained(t, &g)
		if g.owed != nil {
			a.versionsAccounted(t, &g)
		}
	}
}

// conservedBlind judges a watcher without counters: whatever it merged on the way, every key's final state must have
// arrived.
func (a *accounting) conservedBlind(t *tally) {
	t.note("the watcher gives no counters: the equation is unknown")
	if a.h.Cut {
		t.note("cut: what was not sent may still be queued")
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(a.owed)) {
		o := a.owed[kind]
		t.judged += o.keys
		if o.unsent > 0 {
			t.failN(o.unsent, "the final state of %d of %d %s keys is in no applied request; the first is %s", o.unsent,
				o.keys, kind, o.unsentKey)
		}
	}
}

// group is one kind, or all kinds, with every account of it.
type group struct {
	name     string // the kind, or "all kinds"
	counters result.Events
	requests requests
	owed     *owed // nil when versions are accounted kind by kind
	relisted bool
}

const allKinds = "all kinds"

func (a *accounting) groups() []group {
	c := a.h.Counters
	total := group{name: allKinds, counters: c.Total, requests: a.acc.total}
	if len(c.Kinds) == 0 {
		for _, n := range c.Relists {
			total.relisted = total.relisted || n > 0
		}
		if a.book.haveOps {
			total.owed = cmp.Or(a.owed[allKinds], &owed{})
		}
		return []group{total}
	}
	names := slices.Concat(slices.Collect(maps.Keys(c.Kinds)), slices.Collect(maps.Keys(a.owed)),
		slices.Collect(maps.Keys(a.acc.kinds)))
	slices.Sort(names)
	groups := []group{total}
	for _, k := range slices.Compact(names) {
		groups = append(groups, group{
			name: k, counters: c.Kinds[k], requests: a.acc.kinds[k], owed: a.owed[k], relisted: c.Relists[k] > 0,
		})
	}
	return groups
}

// settledEvents is the right side of the conservation law.
func settledEvents(e *result.Events) int64 {
	return e.Sent + e.Coalesced + e.Filtered + e.Parked + e.Queued + e.Dropped
}

func (a *accounting) equation(t *tally, g *group) {
	t.judged++
	e := &g.counters
	diff := e.Received - settledEvents(e)
	diff = max(diff, -diff)
	switch torn := g.requests.near + a.book.opsNear[g.name]; {
	case diff == 0:
	case diff <= torn:
		t.noteAll(g, "%d events were in motion while the counters were read", diff)
	default:
		t.failN(diff, "%s: received %d ≠ sent %d + coalesced %d + filtered %d + parked %d + queued %d + dropped %d = %d",
			g.name, e.Received, e.Sent, e.Coalesced, e.Filtered, e.Parked, e.Queued, e.Dropped, settledEvents(e))
	}
}

func (a *accounting) sentIsLedger(t *tally, g *group) {
	t.judged++
	low, high := g.requests.acked()
	if s := g.counters.Sent; s < low || s > high {
		t.failN(max(low-s, s-high),
			"%s: the watcher counted %d sent events, the ledger has %s acknowledged requests", g.name, s,
			span(low, high))
		return
	}
	if n := g.requests.maybe; n > 0 {
		t.noteAll(g, "%d requests of unknown outcome may or may not count as sent", n)
	}
}

// noteAll notes what the sum over all kinds shows, once.
func (t *tally) noteAll(g *group, format string, args ...any) {
	if g.name == allKinds {
		t.note(format, args...)
	}
}

func (a *accounting) dropsAsked(t *tally, g *group) {
	if g.counters.Dropped > 0 && a.h.QueueFull != QueueFullDrop && g.name == allKinds {
		t.failN(g.counters.Dropped,
			"%d events were dropped although queueFull is %q, not %q", g.counters.Dropped, a.h.QueueFull,
			QueueFullDrop)
	}
}

// mergesExplained: a strategy that sends every state merges Pods only behind a request that failed, in a full queue,
// and while they wait for their ReplicaSets or the watcher's record of kinds. After a restart or a list, or where
// events were kept from the watcher, how many waited is not known.
func (a *accounting) mergesExplained(t *tally, g *group) {
	e := &g.counters
	// Too little is written of other kinds to know why some were merged at the start.
	if a.h.Queue == 0 || e.Coalesced == 0 || g.name != kindPod {
		return
	}
	t.judged++
	failed := g.requests.failed + g.requests.maybe + e.Retried + e.Parked + a.h.Counters.StorageFailed[g.name]
	owned := slices.Contains(a.h.Rules.Kinds, "ReplicaSet")
	if failed > 0 || owned || a.restarted > 0 || g.relisted || a.h.Withheld[g.name] > 0 {
		return
	}
	most, early := a.crowd(g), a.unnamed(g.name)
	if most < a.h.Queue && e.Coalesced > early {
		t.failN(e.Coalesced-early, "%s: %d events were coalesced although %s sends every state, no request failed, "+
			"and no more than %d events waited at once in a queue that holds %d",
			g.name, e.Coalesced-early, a.h.Strategy, most, a.h.Queue)
	}
}

// unnamed is how many events of a kind may have been merged while its rows waited for the watcher's record of kinds, or
// before the load, when nobody knows what else it waited for: those of states that were not sent, and of deletions,
// each with the state before it.
func (a *accounting) unnamed(kind string) (n int64) {
	before := func(started int64) bool { return started < max(a.named+scrapeSlack, a.h.LoadStarted) }
	for _, k := range a.book.keys {
		if k.Kind != kind {
			continue
		}
		for i := range k.versions {
			if v := &k.versions[i]; v.flags&versionSeen == 0 && before(v.started) {
				n++
			}
		}
		for d := k.deletion; d != 0; d = a.book.deletions[d-1].next {
			if before(a.book.deletions[d-1].started) {
				n++
			}
		}
	}
	return n
}

// crowd is how many events of a kind waited at once, at most: the load's changes from their dispatch until storage had
// acknowledged them, and all other events, of which that is not known.
func (a *accounting) crowd(g *group) int64 {
	type step struct{ at, by int64 }
	var steps []step
	now := g.counters.Received
	for c := range a.changes() {
		if c.Kind == g.name && c.Stored != 0 {
			now--
			steps = append(steps, step{c.Started, 1}, step{c.Stored, -1})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.by, a.by)) })
	now = max(now, 0)
	most := now
	for _, s := range steps {
		now += s.by
		most = max(most, now)
	}
	return most
}

// versionsAccounted compares what the ledger lacks to what the watcher says it did not send.
func (a *accounting) versionsAccounted(t *tally, g *group) {
	e, o := &g.counters, g.owed
	switch {
	case a.back.happened(): // what the restore undid was perhaps never received
	case g.relisted:
		t.note("%s: relists may have skipped versions, which are not counted one by one", g.name)
	default:
		t.judged += o.expected
		a.missingAccounted(t, g)
		if a.h.QueueFull == QueueFullDrop {
			a.dropsFound(t, g)
		}
	}
	if a.h.Cut || a.back.happened() {
		return
	}
	t.judged += o.keys
	if held := e.Dropped + e.Parked + e.Queued; o.unsent > held {
		t.failN(o.unsent-held, "%s: the final state of %d keys is in no applied request, but the watcher dropped, parked or "+
			"still queues only %d events; the first is %s",
			g.name, o.unsent, held, o.unsentKey)
	}
}

func (a *accounting) missingAccounted(t *tally, g *group) {
	e, o := &g.counters, g.owed
	accounted := e.Coalesced + e.Filtered + e.Parked + e.Queued + e.Dropped
	allowed := accounted + g.requests.near
	if n := a.h.Withheld[g.name]; n > 0 {
		allowed += n
		t.note("%s: %d events were kept from the watcher", g.name, n)
	}
	if unreceived := o.expected - e.Received; a.h.Cut && unreceived > 0 {
		allowed += unreceived
		t.note("%s: cut with %d versions not yet received", g.name, unreceived)
	}
	if o.missing > allowed {
		t.failN(o.missing-allowed,
			"%s: %d acknowledged versions are in no applied request, but only %d events were coalesced, "+
				"filtered, parked, queued or dropped; the first is %s",
			g.name, o.missing, accounted, o.example)
	}
}

// dropsFound: every dropped event is a version that the ledger lacks, or an event that the op log does not have. Up to
// one of these per deleted Pod is its terminating state, which no answer names.
func (a *accounting) dropsFound(t *tally, g *group) {
	e, o := &g.counters, g.owed
	foreign := max(0, e.Received-o.expected)
	ending := int64(0)
	if g.name == kindPod {
		ending = min(o.deleted, foreign)
		foreign -= ending
		ending = max(0, ending-o.ending)
	}
	found := o.missing + o.skipped + ending
	if e.Dropped > found+foreign {
		t.failN(e.Dropped-found-foreign,
			"%s: the watcher counted %d dropped events, but only %d versions are in no applied request",
			g.name, e.Dropped, found+foreign)
		return
	}
	if e.Dropped == 0 {
		return
	}
	detail := ""
	if ending > 0 {
		detail = fmt.Sprintf(" (%d acknowledged ones and %d terminating states of deleted Pods)", o.missing+o.skipped, ending)
	}
	t.note("%s: %d events dropped, %d versions found missing in the ledger%s", g.name, e.Dropped, found, detail)
}

func span(low, high int64) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}
