package check

import "github.com/watchbench/watchbench/storagemock/ledger"

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
