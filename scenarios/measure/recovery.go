package measure

import (
	"fmt"
	"iter"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

type key struct{ kind, namespace, name string }

// Recovery is how long after the end of a fault storage first had everything that
// had happened until then, in seconds. ok is false when it never had, or nothing
// happened before that time.
func Recovery(changes iter.Seq[history.Change], end int64) (seconds float64, ok bool) {
	last := end
	for c := range changes {
		if c.Finished > end || c.Stored == 0 && c.Gone {
			continue
		}
		if c.Stored == 0 {
			return 0, false
		}
		last, ok = max(last, c.Stored), true
	}
	return float64(last-end) / 1e9, ok
}

// BystanderFromAnswer is the bystander's freshness counted from the apiserver's answer
// instead of the intended time: where a fault keeps the apiserver itself busy, this is
// the part that is the watcher's. Changes that never arrived are missing from it; G1
// and G6 have them.
func BystanderFromAnswer(changes iter.Seq[history.Change]) *Histogram {
	h := NewHistogram()
	for c := range changes {
		if c.Bystander && c.Stored != 0 {
			h.Add(max(0, c.Stored-c.Finished)) // the watch may be faster than the answer
		}
	}
	return h
}

// FreshnessOfOthers is the freshness of changes of keys that no fault hit.
func FreshnessOfOthers(changes iter.Seq[history.Change]) *Histogram {
	h := NewHistogram()
	for c := range changes {
		if !c.Bystander && !c.Hit && c.Stored != 0 {
			h.Add(c.Stored - c.Intended)
		}
	}
	return h
}

// Attempts counts write requests and the states they carried: a retry of a state, or
// a write of what storage had already, is an attempt more.
func Attempts(entries []ledger.Entry, from, to int64) (attempts, states int64) {
	type state struct {
		key
		uid string
		rv  uint64
	}
	seen := map[state]bool{}
	var deletes int64
	for _, e := range entries {
		if e.Received < from || e.Received > to {
			continue
		}
		attempts++
		switch {
		case !e.Took():
		case e.Method != "PUT":
			deletes++ // which object it removed does not matter
		default:
			seen[state{key{e.Kind, e.Namespace, e.Name}, e.UID, e.ResourceVersion}] = true
		}
	}
	return attempts, int64(len(seen)) + deletes
}

// Disobeyed counts requests for a key that came earlier than an answer with
// Retry-After allowed, and tells the first. pause gives the time a fault asked for, 0
// for none; slack is what clocks and scheduling may take away.
func Disobeyed(entries []ledger.Entry, pause func(fault string) int64, slack int64) (obeyed, disobeyed int64, first string) {
	until := map[key]int64{}
	for _, e := range entries {
		k := key{e.Kind, e.Namespace, e.Name}
		if t, waiting := until[k]; waiting {
			delete(until, k)
			if e.Received < t-slack {
				disobeyed++
				if first == "" {
					first = fmt.Sprintf("%s/%s/%s came %.3f s too early", k.kind, k.namespace, k.name, float64(t-e.Received)/1e9)
				}
			} else {
				obeyed++
			}
		}
		if p := pause(e.Fault); p > 0 && e.Responded != 0 {
			until[k] = e.Responded + p
		}
	}
	return obeyed, disobeyed, first
}

// PeakLive is the largest number of objects that existed at once, by the op log.
func PeakLive(ops []oplog.Record) int {
	live, peak := map[key]bool{}, 0
	for _, op := range ops {
		if !op.OK() || op.Phase == oplog.PhaseTeardown {
			continue
		}
		switch op.Type {
		case oplog.TypeDelete:
			delete(live, key{op.Kind, op.Namespace, op.Name})
		case oplog.TypeHeartbeat:
		default:
			live[key{op.Kind, op.Namespace, op.Name}] = true
		}
		peak = max(peak, len(live))
	}
	return peak
}
