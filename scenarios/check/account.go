package check

import (
	"fmt"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

// scrapeSlack is how long before and after the counters were read a request or an operation may have been counted or
// not.
const scrapeSlack = int64(250e6)

func (m *Meta) nearScrape(t int64) bool {
	c := m.Counters
	return c != nil && c.ScrapeStarted != 0 && t >= c.ScrapeStarted-scrapeSlack && t <= c.ScrapeFinished+scrapeSlack
}

// inMotion reports whether an answer at t may not be in the counters. A watcher that says that nothing is queued or in
// flight has counted every answer before.
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
	kinds map[string]requests
	total requests
}

type requests struct {
	failed int64 // not acknowledged
	sure   int64 // acknowledged, and the client knew
	near   int64 // acknowledged while counters were read
	maybe  int64 // the client may have taken it for a success, or for a failure
}

// acked is between how many of them the client may know to be acknowledged.
func (r requests) acked() (low, high int64) { return r.sure, r.sure + r.near + r.maybe }

// tooLate reports whether the client may have given up before it read the answer: its clock begins before storage reads
// the request and ends after storage has answered, 0.7 s apart on a machine that stood still for 4.3 s.
func (m *Meta) tooLate(e *ledger.Entry) bool {
	return m.StorageTimeout > 0 && e.Responded-e.Received > m.StorageTimeout/2
}

// request counts one request. confirmed: storage was as the request wanted, without an answer that said so. A watcher
// that then looks may count the event as sent.
func (a *account) request(e *ledger.Entry, unknown, confirmed bool) {
	if e.Received < a.since || a.meta.afterScrape(e.Received) {
		return
	}
	kind := a.kinds[e.Kind]
	for _, r := range []*requests{&kind, &a.total} {
		switch {
		case !e.Acked():
			r.failed++
			if confirmed || e.Responded != 0 && e.Code == 0 && e.Status != 0 {
				r.maybe++ // or: success in the envelope, failure in the status
			}
		case unknown || a.meta.tooLate(e):
			r.maybe++
		case a.meta.inMotion(e.Responded):
			r.near++
		default:
			r.sure++
		}
	}
	a.kinds[e.Kind] = kind
}

// owed counts what the watcher must have handled of one kind, or of all, by the op log.
type owed struct {
	expected  int64 // versions and deletions it must have received
	missing   int64 // those that no applied request carried, heartbeats left out
	skipped   int64 // heartbeats that no applied request carried
	deleted   int64 // deletions among the expected
	ending    int64 // deleted objects whose terminating state a request carried
	keys      int64
	lost      int64 // keys whose final state storage lacks
	unsent    int64 // those of them whose final state no applied request carried
	example   string
	unsentKey string
}

func (j *judge) compare() map[string]*owed {
	kinds := make(map[string]*owed)
	together := j.h.Counters != nil && len(j.h.Counters.Kinds) == 0
	for _, k := range j.book.keys {
		if _, known := k.newest(); known == 0 || !k.wanted {
			continue
		}
		name := k.Kind
		if together {
			name = allKinds
		}
		o := kinds[name]
		if o == nil {
			o = &owed{}
			kinds[name] = o
		}
		o.keys++
		o.versions(k)
		o.deletions(k)
		if j.holdsFinal(k) || j.book.haveState && !j.h.Cut && !k.differs {
			continue
		}
		o.lost++
		if k.finalSent() {
			continue // sent, and then undone: a matter of order, not of conservation
		}
		if o.unsent == 0 {
			o.unsentKey = fmt.Sprintf("%s: %s", k, k.lastRequest())
		}
		o.unsent++
	}
	return kinds
}

func (o *owed) versions(k *keyState) {
	for i := range k.versions {
		v := &k.versions[i]
		if v.flags&(versionExempt|versionUncounted) != 0 {
			continue
		}
		o.expected++
		switch {
		case v.flags&versionSeen != 0:
		case v.flags&versionHeartbeat != 0:
			o.skipped++
		default:
			if o.missing == 0 {
				o.example = fmt.Sprintf("%s uid %s version %d (operation %d)", k, k.uid(int32(v.life)), v.rv, v.op)
			}
			o.missing++
		}
	}
}

// deletions compares numbers: a DELETE names no uid, and may have found nothing or, late, another object than the one
// it was sent for.
func (o *owed) deletions(k *keyState) {
	if k.Kind == kindEvent {
		return
	}
	expected := k.deletions()
	o.expected += int64(expected)
	o.deleted += int64(expected)
	for i := range k.lives {
		if l := &k.lives[i]; l.terminating && !l.exemptDel {
			o.ending++
		}
	}
	done := k.deletes + k.looked // a watcher that looked had no need to ask again
	missing := int64(max(0, expected-done))
	if missing == 0 {
		return
	}
	for i := range k.lives {
		if l := &k.lives[i]; o.missing == 0 && l.deleted() != 0 && l.removed().seq == 0 {
			o.example = fmt.Sprintf("%s uid %s: its deletion at %s", k, k.uid(int32(i)), clock(l.deleted()))
			break
		}
	}
	if o.missing == 0 && o.example == "" {
		o.example = fmt.Sprintf("%s: %d deletions, %d DELETE requests", k, expected, k.deletes)
	}
	o.missing += missing
}
