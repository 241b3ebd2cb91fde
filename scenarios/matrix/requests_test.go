package matrix

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// TestPatience: failed is a request that was answered 503, unknown one that never was.
func TestPatience(t *testing.T) {
	const ms = int64(time.Millisecond)
	at := func(received, responded int64, status int) ledger.Entry {
		return ledger.Entry{Method: "PUT", Kind: "Pod", Name: "a", Received: received * ms, Responded: responded * ms, Status: status}
	}
	ok := func(received int64) ledger.Entry { return at(received, received+5, 200) }
	failed := func(received int64) ledger.Entry { return at(received, received+5, 503) }
	unknown := func(received int64) ledger.Entry { return at(received, 0, 0) }
	gone := unknown(1000)
	gone.Gone = 1030 * ms
	other := ok(1001)
	other.Name = "b"
	for _, tc := range []struct {
		name          string
		entries       []ledger.Entry
		backoff, held float64 // writes that came too early; -1: there is no such fact
	}{
		{"nothing failed", []ledger.Entry{ok(1), ok(2)}, -1, -1},
		{"half a step later", []ledger.Entry{failed(1000), ok(1055), ok(1056)}, 0, -1},
		{"at once", []ledger.Entry{failed(1000), ok(1006)}, 1, -1},
		{"another object", []ledger.Entry{failed(1000), other, ok(1100)}, 0, -1},
		{"a second failure doubles it", []ledger.Entry{failed(1000), failed(1060), ok(1120), failed(2000), ok(2060)}, 1, -1},
		{"a refusal needs no backoff", []ledger.Entry{at(1000, 1005, 422), ok(1006)}, -1, -1},
		{"behind the fence", []ledger.Entry{unknown(1000), ok(7000)}, -1, 0},
		{"in the fence, which begins when the client gives up", []ledger.Entry{unknown(1000), ok(6100)}, -1, 1},
		{"behind the fence of a connection that was reset", []ledger.Entry{gone, ok(6030)}, -1, 0},
		{"in the fence", []ledger.Entry{unknown(1000), ok(2100)}, -1, 1},
		{"an answer after the client gave up", []ledger.Entry{at(1000, 2500, 200), ok(2600)}, -1, 1},
		{"applied late, so that it stands behind what came in the fence", []ledger.Entry{ok(2100), unknown(1000)}, -1, 1},
	} {
		p := patience{timeout: time.Second, tries: map[uint64][]try{}}
		for i := range tc.entries {
			p.request(&tc.entries[i])
		}
		backoff, held := -1.0, -1.0
		for _, f := range p.facts() {
			if f.OK != (f.Value == 0) {
				t.Errorf("%s: %+v", tc.name, f)
			}
			if f.Column == "A" {
				backoff = f.Value
			} else {
				held = f.Value
			}
		}
		if backoff != tc.backoff || held != tc.held {
			t.Errorf("%s: backoff %v, fence %v; want %v, %v", tc.name, backoff, held, tc.backoff, tc.held)
		}
	}
}

// TestPatienceIsEstablished: where too few writes had to wait, none that came too early proves nothing.
func TestPatienceIsEstablished(t *testing.T) {
	failed := ledger.Entry{Method: "PUT", Kind: "Pod", Name: "a", Received: 1e9, Responded: 2e9, Status: 503}
	unknown := ledger.Entry{Method: "PUT", Kind: "Pod", Name: "a", Received: 1e9}
	ok := ledger.Entry{Method: "PUT", Kind: "Pod", Name: "a", Received: 60e9, Responded: 61e9, Status: 200}
	const backoff, fence = "A writes before the backoff of their object had passed", "O writes within the fence of their object"
	for _, tc := range []struct {
		name   string
		faults []string
		pairs  map[string]int // writes that had to wait, by the status of the one before
		want   string         // facts that are missing
	}{
		{"errors", []string{"503:1%"}, map[string]int{"failed": MinKeys}, ""},
		{"few errors", []string{"503:1%"}, map[string]int{"failed": MinKeys - 1}, backoff},
		{"no answers", []string{"blackhole:1%"}, map[string]int{"unknown": MinKeys}, ""},
		{"answers instead of none", []string{"late(3s):1%"}, map[string]int{"failed": MinKeys}, fence},
		{"answers after the timeout", []string{"stall(6s):1%"}, map[string]int{"unknown": MinKeys}, ""},
		{"answers in time", []string{"503:1%", "stall(4s):1%"}, map[string]int{"failed": MinKeys}, ""},
		{"pages of a proxy", []string{"html:1%"}, nil, backoff},
		{"errors before the effect", []string{"late(3s,answer=503):1%"}, nil, backoff},
		{"both, of which one never came", []string{"503:1%", "truncate:1%"}, map[string]int{"failed": MinKeys}, fence},
	} {
		c := ordinary()
		c.Cell.Scenario.Storage.Faults, c.Cell.Scenario.Fault.Patience = tc.faults, true
		rule := patienceRule(c)
		for what, n := range tc.pairs {
			for i := range n {
				e, next := failed, ok
				if what == "unknown" {
					e = unknown
				}
				e.Name, next.Name = fmt.Sprint(what, i), fmt.Sprint(what, i)
				rule.Request(&e)
				rule.Request(&next)
			}
		}
		var missing []string
		for _, f := range rule.Facts(Seen{}) {
			if f.Missing {
				missing = append(missing, f.Column+" "+f.Name)
			}
		}
		if got := strings.Join(missing, "; "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestRetries: the object a was deleted at 10 s.
func TestRetries(t *testing.T) {
	const s = int64(1e9)
	put := func(uid string, received int64, status int) ledger.Entry {
		return ledger.Entry{Method: "PUT", Kind: "Pod", Name: "a", UID: uid, Received: received, Responded: received, Status: status}
	}
	remove := put("", 13*s, 200)
	remove.Method = "DELETE"
	unanswered := put("u", 9*s, 0)
	unanswered.Responded = 0
	for _, tc := range []struct {
		name    string
		entries []ledger.Entry
		want    float64 // -1: nothing was tried again
	}{
		{"nothing failed, a long queue", []ledger.Entry{put("u", 13*s, 200)}, -1},
		{"the deletion takes its place", []ledger.Entry{put("u", 9*s, 500), remove}, 0},
		{"a retry of it", []ledger.Entry{put("u", 9*s, 500), put("u", 13*s, 500), put("u", 14*s, 200), put("u", 15*s, 200)}, 2},
		{"after no answer", []ledger.Entry{unanswered, put("u", 13*s, 200)}, 1},
		{"before it can be known", []ledger.Entry{put("u", 9*s, 500), put("u", 11*s, 200)}, 0},
		{"its successor", []ledger.Entry{put("u", 9*s, 500), put("v", 13*s, 200)}, 0},
		{"refused for good", []ledger.Entry{put("u", 9*s, 422), put("u", 13*s, 200)}, -1},
	} {
		r := retries{deleted: map[uint64]int64{}, failing: map[uint64]bool{}}
		r.operation(&oplog.Record{Type: oplog.TypeDelete, Kind: "Pod", Name: "a", UID: "u", Finished: 10 * s, Status: 200})
		for i := range tc.entries {
			r.request(&tc.entries[i])
		}
		got := -1.0
		for _, f := range r.facts() {
			if got = f.Value; f.OK != (got == 0) {
				t.Errorf("%s: %+v", tc.name, f)
			}
		}
		if got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
