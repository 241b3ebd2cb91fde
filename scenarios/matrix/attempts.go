package matrix

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

// attempts counts write requests and the states they carried.
type attempts struct {
	from, to int64 // receipt of those that count, Unix nanoseconds
	tried    int64
	states   map[uint64]struct{} // that reached storage, deletions included
}

func (a *attempts) request(e *ledger.Entry) {
	if e.Received < a.from || e.Received > a.to {
		return
	}
	a.tried++
	if !e.Took() {
		return
	}
	uid, state := e.UID, e.ResourceVersion
	if e.Method != http.MethodPut {
		// Which object it removed does not matter, nor whether it was applied twice.
		uid, state = "", uint64(e.Received)
	}
	a.states[maphash.Comparable(seed, struct {
		kind, namespace, name, uid, method string
		state                              uint64
	}{e.Kind, e.Namespace, e.Name, uid, e.Method, state})] = struct{}{}
}

// throttle counts requests for a key that came earlier than an answer with Retry-After allowed.
type throttle struct {
	asked             func(*ledger.Entry) time.Duration // 0: nothing
	until             map[uint64]int64
	obeyed, disobeyed int64
	first             string // the first that was too early
}

// throttleSlack lies between the mock's reading of the clock and the socket.
const throttleSlack = int64(20 * time.Millisecond)

func (t *throttle) request(e *ledger.Entry) {
	k := object(e.Kind, e.Namespace, e.Name)
	if until, waiting := t.until[k]; waiting {
		delete(t.until, k)
		if e.Received >= until-throttleSlack {
			t.obeyed++
		} else if t.disobeyed++; t.first == "" {
			t.first = fmt.Sprintf("%s/%s/%s came %.3f s too early", e.Kind, e.Namespace, e.Name, float64(until-e.Received)/1e9)
		}
	}
	if p := t.asked(e); p > 0 && e.Responded != 0 {
		t.until[k] = e.Responded + int64(p)
	}
}
