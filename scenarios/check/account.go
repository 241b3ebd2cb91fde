package check

import "github.com/watchbench/watchbench/storagemock/ledger"

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

// request counts one request. confirmed says that storage was as the request wanted
// it although the client was not told so: a watcher that looks, after an outcome it
// could not know, may count the event as sent.
func (a *account) request(e *ledger.Entry, unknown, confirmed bool) {
	if e.Received < a.since || a.meta.afterScrape(e.Received) {
		return
	}
	k := a.of(e.Kind)
	k.requests++
	switch {
	case !e.Acked():
		k.failed++
		if confirmed || e.Responded != 0 && e.Code == 0 && e.Status != 0 {
			k.maybe++ // or: success in the envelope, failure in the status
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
