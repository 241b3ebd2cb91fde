package matrix

import (
	"testing"
	"time"

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
		{"behind the fence", []ledger.Entry{unknown(1000), ok(6000)}, -1, 0},
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
