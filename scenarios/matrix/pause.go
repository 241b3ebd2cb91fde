package matrix

import (
	"hash/maphash"
	"iter"
	"math"
	"slices"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Pauses finds the times in which nothing was sent for a kind although changes waited.
// Its methods Operation and Request belong into a Rule.
type Pauses struct {
	kind     string
	requests []span
	uids     map[int64]uint64 // of the operations on the kind, by their ID
	sent     map[uint64]bool  // uids that storage has seen
}

// span is one request; answered is 0 where it was not acknowledged.
type span struct{ received, answered int64 }

// NewPauses looks at one kind.
func NewPauses(kind string) *Pauses {
	return &Pauses{kind: kind, uids: map[int64]uint64{}, sent: map[uint64]bool{}}
}

// Operation takes a record of the op log.
func (p *Pauses) Operation(op *oplog.Record) {
	if op.Kind == p.kind {
		p.uids[op.ID] = maphash.String(seed, op.UID)
	}
}

// Request takes an entry of the ledger.
func (p *Pauses) Request(e *ledger.Entry) {
	if e.Kind != p.kind {
		return
	}
	r := span{received: e.Received}
	if e.Acked() {
		r.answered = e.Responded
	}
	p.requests = append(p.requests, r)
	p.sent[maphash.String(seed, e.UID)] = true
}

// Longest is the longest time (ns) between two requests, as storage received them, of
// what began or ended between from and to and in which a change waited. A change waits
// from the apiserver's answer until the request that brings it, so what the watch takes
// to deliver it is counted too. Requests that failed are requests.
func (p *Pauses) Longest(changes iter.Seq[history.Change], from, to int64) (longest int64) {
	var waits []history.Change
	for c := range changes {
		if c.Kind != p.kind || c.Gone && !p.sent[p.uids[c.Operation]] {
			continue // of another kind, or it came and went unseen
		}
		if c.Arrived > from && c.Finished < c.Arrived {
			waits = append(waits, c)
		}
	}
	slices.SortFunc(p.requests, func(a, b span) int { return int(a.received - b.received) })
	for i := 1; i < len(p.requests); i++ {
		a, b := p.requests[i-1].received, p.requests[i].received
		if b <= from || a >= to || b-a <= longest {
			continue
		}
		since := int64(math.MaxInt64)
		for _, w := range waits {
			if w.Arrived >= b {
				since = min(since, w.Finished)
			}
		}
		longest = max(longest, b-max(a, since))
	}
	return longest
}

// InFlight is the mean time (ns) that acknowledged requests took, of those that storage
// received between from and to, and the longest; 0 if there were none.
func (p *Pauses) InFlight(from, to int64) (mean, longest int64) {
	sum, n := int64(0), int64(0)
	for _, r := range p.requests {
		if r.answered != 0 && r.received >= from && r.received < to {
			took := r.answered - r.received
			sum, n, longest = sum+took, n+1, max(longest, took)
		}
	}
	if n == 0 {
		return 0, 0
	}
	return sum / n, longest
}

// seed of the hashes by which rules distinguish objects and states: a record may have
// millions, and their names are not kept.
var seed = maphash.MakeSeed()

// object is a hash of an object's key.
func object(kind, namespace, name string) uint64 {
	return maphash.Comparable(seed, [3]string{kind, namespace, name})
}
