package matrix

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

// Attempts counts write requests and the states they carried.
type Attempts struct {
	Tried    int64
	from, to int64
	deletes  int64
	states   map[uint64]struct{}
}

// NewAttempts counts requests received between two times (Unix nanoseconds).
func NewAttempts(from, to int64) *Attempts {
	return &Attempts{from: from, to: to, states: map[uint64]struct{}{}}
}

// Request takes an entry of the ledger.
func (a *Attempts) Request(e *ledger.Entry) {
	if e.Received < a.from || e.Received > a.to {
		return
	}
	a.Tried++
	switch {
	case !e.Took():
	case e.Method != http.MethodPut:
		a.deletes++ // which object it removed does not matter
	default:
		a.states[maphash.Comparable(seed, struct {
			kind, namespace, name, uid string
			version                    uint64
		}{e.Kind, e.Namespace, e.Name, e.UID, e.ResourceVersion})] = struct{}{}
	}
}

// States is how many states reached storage, deletions included.
func (a *Attempts) States() int64 { return int64(len(a.states)) + a.deletes }

// Throttle counts requests for a key that came earlier than an answer with Retry-After
// allowed.
type Throttle struct {
	Obeyed, Disobeyed int64
	First             string // the first that was too early
	asked             func(*ledger.Entry) time.Duration
	until             map[uint64]int64
}

// throttleSlack lies between the mock's reading of the clock and the socket.
const throttleSlack = int64(20 * time.Millisecond)

// NewThrottle takes the pause that the answer to a request asked for, 0 for none.
func NewThrottle(asked func(*ledger.Entry) time.Duration) *Throttle {
	return &Throttle{asked: asked, until: map[uint64]int64{}}
}

// Request takes an entry of the ledger.
func (t *Throttle) Request(e *ledger.Entry) {
	k := object(e.Kind, e.Namespace, e.Name)
	if until, waiting := t.until[k]; waiting {
		delete(t.until, k)
		if e.Received >= until-throttleSlack {
			t.Obeyed++
		} else if t.Disobeyed++; t.First == "" {
			t.First = fmt.Sprintf("%s/%s/%s came %.3f s too early", e.Kind, e.Namespace, e.Name, float64(until-e.Received)/1e9)
		}
	}
	if p := t.asked(e); p > 0 && e.Responded != 0 {
		t.until[k] = e.Responded + int64(p)
	}
}
