package check

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

// TestStoredByDefinition compares the index with the definition, word by word, on histories in which requests come at
// any time and in any order.
func TestStoredByDefinition(t *testing.T) {
	deletions := 0
	for seed := range uint64(400) {
		rng := newRand(seed)
		ops := simulate(seed, 1, 4+rng.IntN(16)).ops
		entries := anyRequests(rng, ops)
		d := define(ops, entries)
		for c := range Changes(&Meta{}, ops, entries) {
			op := ops[c.Operation-1]
			stored, arrived := d.stored(op)
			if c.Stored != stored || c.Arrived != arrived {
				t.Errorf("seed %d: %s of %s version %d: stored %d, arrived %d, want %d and %d", seed, op.Type, op.UID, op.ResourceVersion,
					since(c.Stored), since(c.Arrived), since(stored), since(arrived))
			}
			if c.Deletion && c.Stored != 0 {
				deletions++
			}
		}
		if t.Failed() {
			for _, e := range entries {
				t.Logf("%s %s %d received %d applied %d responded %d %s", e.Method, e.UID, e.ResourceVersion, since(e.Received), since(e.Applied), since(e.Responded), e.Effect)
			}
			return
		}
	}
	if deletions < 200 {
		t.Errorf("only %d deletions were stored: the histories show little", deletions)
	}
}

func since(ns int64) int64 { return max(-1, (ns-t0)/1e6) }

// anyRequests are requests that some watcher might send for these operations: each after its operation, but with any
// delay, some of them never or more than once.
func anyRequests(rng *rand.Rand, ops []oplog.Record) []ledger.Entry {
	var all []ledger.Entry
	for _, op := range ops {
		for range rng.IntN(3) {
			e := ledger.Entry{
				Method: "PUT", Kind: op.Kind, Namespace: op.Namespace, Name: op.Name, UID: op.UID, ResourceVersion: op.ResourceVersion,
				Received: op.Finished + rng.Int64N(40e6), Status: 200,
			}
			if op.Type == oplog.TypeDelete {
				e.Method, e.UID, e.ResourceVersion = "DELETE", "", 0
			}
			e.Applied = e.Received + rng.Int64N(10e6)
			e.Responded = e.Applied + rng.Int64N(10e6)
			if rng.IntN(8) == 0 {
				e.Responded, e.Status = 0, 0
			}
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b ledger.Entry) int { return cmp.Compare(a.Applied, b.Applied) })
	applyAll(all)
	return all
}

// definition is history.Change's "stored", for one name.
type definition struct {
	entries []ledger.Entry
	last    map[string]uint64 // versions
	alive   map[string]int64  // last operation
	deleted map[string]int64
}

func define(ops []oplog.Record, entries []ledger.Entry) *definition {
	d := &definition{entries, map[string]uint64{}, map[string]int64{}, map[string]int64{}}
	for _, op := range ops {
		d.alive[op.UID] = op.Started
		if op.Type == oplog.TypeDelete {
			d.deleted[op.UID] = op.Started
		}
		d.last[op.UID] = max(d.last[op.UID], op.ResourceVersion)
	}
	return d
}

func (d *definition) stored(op oplog.Record) (stored, arrived int64) {
	for i, e := range d.entries {
		if e.Acked() && e.Took() && d.newer(i, op) {
			if stored == 0 {
				stored, arrived = e.Responded, e.Received
			}
			stored, arrived = min(stored, e.Responded), min(arrived, e.Received)
		}
	}
	return stored, arrived
}

// newer reports whether the state after request i is at least as new as the operation's.
func (d *definition) newer(i int, op oplog.Record) bool {
	e := d.entries[i]
	if e.Method == "PUT" {
		if op.Type == oplog.TypeDelete {
			return e.UID != op.UID && e.ResourceVersion > d.last[op.UID]
		}
		return e.ResourceVersion >= op.ResourceVersion
	}
	if e.UID != "" && d.alive[e.UID] > e.Received {
		return false // it removed an object that lived on
	}
	if e.UID != "" && d.last[e.UID] >= d.last[op.UID] {
		return true
	}
	// It may be the end of this object, or of a later one that was never stored.
	for id, at := range d.deleted {
		if at <= e.Received && d.last[id] >= d.last[op.UID] && !d.older(i, id) {
			return true
		}
	}
	return false
}

// older reports whether a state of that object, or of an older one, is written after request i.
func (d *definition) older(i int, id string) bool {
	return slices.ContainsFunc(d.entries[i+1:], func(e ledger.Entry) bool {
		return e.Method == "PUT" && e.Took() && e.ResourceVersion <= d.last[id]
	})
}
