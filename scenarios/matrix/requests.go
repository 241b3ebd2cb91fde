package matrix

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/reports/result"
	"github.com/watchbench/watchbench/scenarios/check"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// The watcher's backoff of an object: delays double from the first to the longest, and jitter may halve each.
const firstBackoff, longestBackoff = 100 * time.Millisecond, 5 * time.Second

// patienceRule: an object whose request failed is left alone for a while. It keeps every request that met a fault or
// came near one, for rows in which the same watcher runs throughout.
func patienceRule(c *Case) Rule {
	if !c.Cell.Scenario.Fault.Patience {
		return Rule{}
	}
	p := patience{timeout: c.Cell.Scenario.Watcher.StorageTimeout.Std(), tries: map[uint64][]try{}}
	p.errors, p.silence = c.Cell.Scenario.Failures()
	return Rule{Request: p.request, Facts: func(Seen) []result.Fact { return p.facts() }}
}

type try struct {
	received, responded int64
	failed, unknown     bool
	until               int64 // the end of its fence
	what                string
}

type patience struct {
	timeout time.Duration // of a request
	tries   map[uint64][]try
	// errors and silence say that requests must have failed, and had no answer.
	errors, silence bool
}

func (p *patience) request(e *ledger.Entry) {
	if e.Fault == history.FaultTamper {
		return
	}
	k := object(e.Kind, e.Namespace, e.Name)
	p.tries[k] = append(p.tries[k], try{
		received: e.Received, responded: e.Responded,
		unknown: e.Responded == 0 || time.Duration(e.Responded-e.Received) > p.timeout,
		failed:  e.Status >= http.StatusInternalServerError,
		until:   check.FenceEnd(e, p.timeout),
		what:    e.Kind + "/" + e.Namespace + "/" + e.Name,
	})
}

// pauses counts the writes that came too early, of those before which one had to wait.
type pauses struct {
	early, all int64
	first      string
}

func (w *pauses) note(t try, until int64) {
	w.all++
	if short := until - t.received; short > throttleSlack {
		if w.early++; w.first == "" {
			w.first = fmt.Sprintf("%s came %.3f s too early", t.what, float64(short)/1e9)
		}
	}
}

// facts: the ledger is in the order of effects, and what was applied late was received long before.
func (p *patience) facts() (facts []result.Fact) {
	var backoff, fenced pauses
	for _, all := range p.tries {
		slices.SortFunc(all, func(a, b try) int { return int(a.received - b.received) })
		failures := 0
		for i, t := range all {
			if i > 0 {
				switch before := all[i-1]; {
				case before.unknown:
					fenced.note(t, before.until)
				case before.failed:
					backoff.note(t, before.responded+int64(leastBackoff(failures)))
				}
			}
			if failures++; !t.unknown && !t.failed {
				failures = 0
			}
		}
	}
	for _, f := range []struct {
		pauses
		due          bool
		column, name string
	}{{backoff, p.errors, "A", "writes before the backoff of their object had passed"},
		{fenced, p.silence, "O", "writes within the fence of their object"}} {
		switch {
		case f.due && f.all < MinKeys && f.early == 0:
			facts = append(facts, Missing(f.column, f.name, "",
				fmt.Sprintf("%d writes had to wait, at least %d are needed", f.all, MinKeys)))
		case f.all > 0:
			facts = append(facts, None(f.column, f.name, f.early, strings.TrimSuffix(fmt.Sprintf("%d writes had to wait; %s",
				f.all, f.first), "; ")))
		}
	}
	return facts
}

func leastBackoff(failures int) time.Duration {
	d := firstBackoff
	for range failures - 1 {
		d = min(2*d, longestBackoff)
	}
	return d / 2
}

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
