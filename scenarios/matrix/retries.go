package matrix

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// learns is how long after the apiserver's answer a watcher has heard of a deletion for certain.
const learns = 2 * time.Second

// retriesRule: what is tried again is the latest state of its object, never one whose deletion has long been known.
func retriesRule(*Case) Rule {
	r := retries{deleted: map[uint64]int64{}, failing: map[uint64]bool{}}
	return Rule{Operation: r.operation, Request: r.request, Facts: func(Seen) []result.Fact { return r.facts() }}
}

type retries struct {
	deleted    map[uint64]int64 // by a hash of the uid: when the apiserver had answered
	failing    map[uint64]bool  // objects whose last request failed
	all, stale int64
	first      string
}

func (r *retries) operation(op *oplog.Record) {
	if op.Type == oplog.TypeDelete && op.OK() && op.UID != "" {
		r.deleted[maphash.String(seed, op.UID)] = op.Finished
	}
}

func (r *retries) request(e *ledger.Entry) {
	if e.Fault == history.FaultTamper {
		return
	}
	k := object(e.Kind, e.Namespace, e.Name)
	if r.failing[k] {
		r.all++
		gone, ok := r.deleted[maphash.String(seed, e.UID)]
		if after := e.Received - gone; ok && e.Method == http.MethodPut && after > int64(learns) {
			if r.stale++; r.first == "" {
				r.first = fmt.Sprintf("%s/%s/%s uid %s, %.3f s after its deletion", e.Kind, e.Namespace, e.Name, e.UID,
					float64(after)/1e9)
			}
		}
	}
	if e.Responded == 0 || e.Status >= http.StatusInternalServerError {
		r.failing[k] = true
	} else {
		delete(r.failing, k)
	}
}

func (r *retries) facts() []result.Fact {
	if r.all == 0 {
		return nil
	}
	return []result.Fact{None("O", "retries of what was deleted", r.stale, r.first)}
}
