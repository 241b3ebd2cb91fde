package matrix

import (
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

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
