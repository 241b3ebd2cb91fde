package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// scrapeSlack is how long before and after the counters were read a request or
// an operation may have been counted or not: the time between the mock's answer
// and the watcher's increment, or the apiserver's answer and the watch event, on a
// busy machine.
const scrapeSlack = int64(250e6)

// nearScrape reports whether what happened at t may have moved the counters
// while they were read.
func (m *Meta) nearScrape(t int64) bool {
	c := m.Counters
	return c != nil && c.ScrapeStarted != 0 && t >= c.ScrapeStarted-scrapeSlack && t <= c.ScrapeFinished+scrapeSlack
}

// inMotion reports whether an answer at t may not be in the counters. A watcher
// that says that nothing is queued or in flight has counted every answer
// before.
func (m *Meta) inMotion(t int64) bool {
	c := m.Counters
	switch {
	case c == nil || c.ScrapeStarted == 0:
		return false
	case c.Total.Queued == 0:
		return t >= c.ScrapeStarted
	}
	return t >= c.ScrapeStarted-scrapeSlack
}

func (m *Meta) afterScrape(t int64) bool {
	c := m.Counters
	return c != nil && c.ScrapeStarted != 0 && t > c.ScrapeFinished+scrapeSlack
}

// account counts the ledger the way a watcher's counters should.
type account struct {
	meta  *Meta
	since int64 // start of the process whose counters were read
	kinds map[string]*kindAccount
	last  *kindAccount
}

type kindAccount struct {
	kind     string
	requests int64 // of all outcomes
	failed   int64 // not acknowledged
	sure     int64 // acknowledged, and the client knew
	near     int64 // acknowledged while counters were read
	maybe    int64 // the client may have taken it for a success, or for a failure
}

func newAccount(m *Meta, since int64) account {
	return account{meta: m, since: since, kinds: make(map[string]*kindAccount)}
}

func (a *account) of(kind string) *kindAccount {
	if a.last != nil && a.last.kind == kind {
		return a.last
	}
	k := a.kinds[kind]
	if k == nil {
		k = &kindAccount{kind: kind}
		a.kinds[kind] = k
	}
	a.last = k
	return k
}

func (a *account) request(e *ledger.Entry, unknown bool) {
	if e.Received < a.since || a.meta.afterScrape(e.Received) {
		return
	}
	k := a.of(e.Kind)
	k.requests++
	switch {
	case !e.Acked():
		k.failed++
		if e.Responded != 0 && e.Code == 0 && e.Status != 0 {
			k.maybe++ // success in the envelope, failure in the status
		}
	case unknown:
		k.maybe++
	case a.meta.inMotion(e.Responded):
		k.near++
	default:
		k.sure++
	}
}

func (a *account) total() kindAccount {
	var t kindAccount
	for _, k := range a.kinds {
		t.requests += k.requests
		t.failed += k.failed
		t.sure += k.sure
		t.near += k.near
		t.maybe += k.maybe
	}
	return t
}

// owed is what the op log says the watcher must have handled, of one kind.
type owed struct {
	expected  int64 // versions and deletions it must have received
	missing   int64 // those that no applied request carried, heartbeats left out
	skipped   int64 // heartbeats that no applied request carried
	keys      int64
	lost      int64 // keys whose final state storage lacks
	unsent    int64 // those of them whose final state no applied request carried
	example   string
	unsentKey string
}

// compare walks the book after the ledger walk.
func (j *judge) compare() map[string]*owed {
	kinds := make(map[string]*owed)
	for k := range j.book.all() {
		if !k.wanted || j.book.selected(k.kind) || len(k.lives) == 0 {
			continue
		}
		if _, known := k.newest(); known == 0 {
			continue
		}
		o := kinds[k.kind]
		if o == nil {
			o = &owed{}
			kinds[k.kind] = o
		}
		o.keys++
		o.versions(k)
		o.deletions(k)
		if !j.lostKey(k) {
			continue
		}
		o.lost++
		if k.finalSent() {
			continue // sent, and then undone: a matter of order, not of conservation
		}
		if o.unsent == 0 {
			o.unsentKey = fmt.Sprintf("%s: %s", k.keyName, k.lastRequest())
		}
		o.unsent++
	}
	return kinds
}

func (o *owed) versions(k *keyState) {
	for _, v := range k.versions {
		if v.flags&versionExempt != 0 {
			continue
		}
		o.expected++
		switch {
		case v.flags&versionSeen != 0:
		case v.flags&versionHeartbeat != 0:
			o.skipped++
		default:
			if o.missing == 0 {
				o.example = fmt.Sprintf("%s uid %s version %d (operation %d)", k.keyName, k.lives[v.life].uid, v.rv, v.op)
			}
			o.missing++
		}
	}
}

// deletions compares numbers: a DELETE names no uid, and may have found nothing or,
// late, another object than the one it was sent for.
func (o *owed) deletions(k *keyState) {
	if k.kind == kindEvent {
		return
	}
	expected := k.deletions()
	o.expected += int64(expected)
	missing := int64(max(0, expected-k.deletes))
	if missing == 0 {
		return
	}
	for i := range k.lives {
		if l := &k.lives[i]; o.missing == 0 && l.deleted != 0 && l.removed.seq == 0 {
			o.example = fmt.Sprintf("%s uid %s: its deletion at %s", k.keyName, l.uid, clock(l.deleted))
			break
		}
	}
	if o.missing == 0 && o.example == "" {
		o.example = fmt.Sprintf("%s: %d deletions, %d DELETE requests", k.keyName, expected, k.deletes)
	}
	o.missing += missing
}

// conserve judges G6.
func (j *judge) conserve() {
	t := j.tally["G6"]
	if j.h.Ledger == nil {
		t.note("the ledger was not recorded")
		return
	}
	j.owed = j.compare()
	owed := j.owed
	if j.book.haveOps {
		var lost int64
		for kind, o := range owed {
			lost += o.lost
			j.missing[kind] = o.missing
		}
		if !j.h.Cut {
			j.lost = &lost
		}
	} else {
		t.note("the op log was not recorded")
	}
	if j.h.Counters == nil {
		j.conserveBlind(t, owed)
		return
	}
	for _, g := range j.groups(owed) {
		j.equation(t, &g)
		j.sentIsLedger(t, &g)
		j.dropsAsked(t, &g)
		if g.owed != nil {
			j.versionsAccounted(t, &g)
		}
	}
}

// conserveBlind judges a watcher without counters: whatever it merged on the
// way, every key's final state must have arrived.
func (j *judge) conserveBlind(t *tally, owed map[string]*owed) {
	t.note("the watcher gives no counters: the equation is unknown")
	if j.h.Cut {
		t.note("cut: what was not sent may still be queued")
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(owed)) {
		o := owed[kind]
		t.judged += o.keys
		if o.unsent > 0 {
			t.failN(o.unsent, func() string {
				return fmt.Sprintf("the final state of %d of %d %s keys is in no applied request; the first is %s", o.unsent, o.keys, kind, o.unsentKey)
			})
		}
	}
}

// group is one kind, or all kinds, with every account of it.
type group struct {
	name     string // the kind, or "all kinds"
	counters result.Events
	requests kindAccount
	owed     *owed // nil when versions are accounted kind by kind
	relisted bool
}

const allKinds = "all kinds"

func (j *judge) groups(kinds map[string]*owed) []group {
	c := j.h.Counters
	total := group{name: allKinds, counters: c.Total, requests: j.acc.total()}
	if len(c.Kinds) == 0 {
		sum := &owed{}
		for _, k := range slices.Sorted(maps.Keys(kinds)) {
			sum.add(kinds[k])
		}
		for _, n := range c.Relists {
			total.relisted = total.relisted || n > 0
		}
		if j.book.haveOps {
			total.owed = sum
		}
		return []group{total}
	}
	names := make(map[string]bool)
	for k := range c.Kinds {
		names[k] = true
	}
	for k := range kinds {
		names[k] = true
	}
	for k := range j.acc.kinds {
		names[k] = true
	}
	groups := []group{total}
	for _, k := range slices.Sorted(maps.Keys(names)) {
		g := group{name: k, counters: c.Kinds[k], owed: kinds[k], relisted: c.Relists[k] > 0}
		if a := j.acc.kinds[k]; a != nil {
			g.requests = *a
		}
		groups = append(groups, g)
	}
	return groups
}

func (o *owed) add(p *owed) {
	o.expected += p.expected
	o.missing += p.missing
	o.skipped += p.skipped
	o.keys += p.keys
	o.lost += p.lost
	if o.example == "" {
		o.example = p.example
	}
	o.unsent += p.unsent
	if o.unsentKey == "" {
		o.unsentKey = p.unsentKey
	}
}

// settledEvents is the right side of the conservation law.
func settledEvents(e *result.Events) int64 {
	return e.Sent + e.Coalesced + e.Filtered + e.Parked + e.Queued + e.Dropped
}

func (j *judge) equation(t *tally, g *group) {
	t.judged++
	e := &g.counters
	diff := e.Received - settledEvents(e)
	if torn := g.requests.near + j.book.moving(g.name); torn > 0 && diff != 0 && abs(diff) <= torn {
		t.noteAll(g, "%d events were in motion while the counters were read", abs(diff))
		return
	}
	if diff != 0 {
		t.failN(abs(diff), func() string {
			return fmt.Sprintf("%s: received %d ≠ sent %d + coalesced %d + filtered %d + parked %d + queued %d + dropped %d = %d",
				g.name, e.Received, e.Sent, e.Coalesced, e.Filtered, e.Parked, e.Queued, e.Dropped, settledEvents(e))
		})
	}
}

func (j *judge) sentIsLedger(t *tally, g *group) {
	t.judged++
	r := &g.requests
	low, high := r.sure, r.sure+r.near+r.maybe
	if s := g.counters.Sent; s < low || s > high {
		t.failN(max(low-s, s-high), func() string {
			return fmt.Sprintf("%s: the watcher counted %d sent events, the ledger has %s acknowledged requests", g.name, s, span(low, high))
		})
		return
	}
	if r.maybe > 0 {
		t.noteAll(g, "%d requests of unknown outcome may or may not count as sent", r.maybe)
	}
}

// noteAll notes what the sum over all kinds shows, once.
func (t *tally) noteAll(g *group, format string, args ...any) {
	if g.name == allKinds {
		t.note(format, args...)
	}
}

func (j *judge) dropsAsked(t *tally, g *group) {
	if g.counters.Dropped > 0 && j.h.QueueFull != QueueFullDrop && g.name == allKinds {
		t.failN(g.counters.Dropped, func() string {
			return fmt.Sprintf("%d events were dropped although queueFull is %q, not %q", g.counters.Dropped, j.h.QueueFull, QueueFullDrop)
		})
	}
}

// versionsAccounted compares what the ledger lacks to what the watcher says it
// did not send.
func (j *judge) versionsAccounted(t *tally, g *group) {
	e, o := &g.counters, g.owed
	if g.relisted {
		t.note("%s: relists may have skipped versions, which are not counted one by one", g.name)
	} else {
		t.judged += o.expected
		j.missingAccounted(t, g)
		if j.h.QueueFull == QueueFullDrop {
			j.dropsFound(t, g)
		}
	}
	if j.h.Cut {
		return
	}
	t.judged += o.keys
	if held := e.Dropped + e.Parked + e.Queued; o.unsent > held {
		t.failN(o.unsent-held, func() string {
			return fmt.Sprintf("%s: the final state of %d keys is in no applied request, but the watcher dropped, parked or still queues only %d events; the first is %s",
				g.name, o.unsent, held, o.unsentKey)
		})
	}
}

func (j *judge) missingAccounted(t *tally, g *group) {
	e, o := &g.counters, g.owed
	accounted := e.Coalesced + e.Filtered + e.Parked + e.Queued + e.Dropped
	allowed := accounted + g.requests.near
	if unreceived := o.expected - e.Received; j.h.Cut && unreceived > 0 {
		allowed += unreceived
		t.note("%s: cut with %d versions not yet received", g.name, unreceived)
	}
	if o.missing > allowed {
		t.failN(o.missing-allowed, func() string {
			return fmt.Sprintf("%s: %d acknowledged versions are in no applied request, but only %d events were coalesced, filtered, parked, queued or dropped; the first is %s",
				g.name, o.missing, accounted, o.example)
		})
	}
}

// dropsFound is the other direction: every dropped event is a version that the
// ledger lacks, apart from events the op log knows nothing of.
func (j *judge) dropsFound(t *tally, g *group) {
	e, o := &g.counters, g.owed
	foreign := max(0, e.Received-o.expected)
	if found := o.missing + o.skipped; e.Dropped > found+foreign {
		t.failN(e.Dropped-found-foreign, func() string {
			return fmt.Sprintf("%s: the watcher counted %d dropped events, but only %d acknowledged versions are in no applied request", g.name, e.Dropped, found)
		})
		return
	}
	if e.Dropped > 0 {
		t.note("%s: %d events dropped; %d acknowledged versions found missing in storage's record", g.name, e.Dropped, o.missing)
	}
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func span(low, high int64) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}
