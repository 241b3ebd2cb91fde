package measure

import (
	"net/http"
	"sort"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/storagemock/ledger"
)

type key struct{ kind, namespace, name string }

// Acks answers, for any operation, when storage first acknowledged a state of its
// object at least as new.
type Acks struct {
	byKey map[key]*keyAcks
	// deleted tells when the deletion of a uid was asked for, where Learn was told.
	deleted map[string]int64
}

// Learn takes deletions from an op log. A DELETE names the object that storage held,
// which may be a predecessor of the one that was deleted: two lives of a name that
// came and went while storage was away end in one DELETE.
func (a *Acks) Learn(ops []oplog.Record) {
	a.deleted = map[string]int64{}
	for _, op := range ops {
		if op.Type == oplog.TypeDelete && op.OK() && op.UID != "" {
			a.deleted[op.UID] = op.Started
		}
	}
}

// keyAcks is what storage acknowledged of one name. PUTs of one uid are sorted by
// version; best[i] is the earliest acknowledgement of versions[i] or a later one.
type keyAcks struct {
	puts    map[string]*versions
	deletes []ack // in order of receipt
	order   []ack // PUTs in order of receipt, for "a later uid of this name"
}

type ack struct {
	uid       string
	received  int64
	responded int64
}

type versions struct {
	rv   []uint64
	best []int64
}

// NewAcks indexes the acknowledged requests of a ledger.
func NewAcks(entries []ledger.Entry) *Acks {
	a := &Acks{byKey: map[key]*keyAcks{}}
	type put struct {
		rv        uint64
		responded int64
	}
	puts := map[*keyAcks]map[string][]put{}
	for _, e := range entries {
		if !e.Acked() || !e.Took() {
			continue
		}
		k := key{e.Kind, e.Namespace, e.Name}
		ka := a.byKey[k]
		if ka == nil {
			ka = &keyAcks{puts: map[string]*versions{}}
			a.byKey[k] = ka
			puts[ka] = map[string][]put{}
		}
		if e.Method == http.MethodDelete {
			ka.deletes = append(ka.deletes, ack{e.UID, e.Received, e.Responded})
			continue
		}
		ka.order = append(ka.order, ack{e.UID, e.Received, e.Responded})
		puts[ka][e.UID] = append(puts[ka][e.UID], put{e.ResourceVersion, e.Responded})
	}
	for ka, uids := range puts {
		for uid, list := range uids {
			sort.Slice(list, func(i, j int) bool { return list[i].rv < list[j].rv })
			v := &versions{rv: make([]uint64, len(list)), best: make([]int64, len(list))}
			for i := len(list) - 1; i >= 0; i-- {
				v.rv[i], v.best[i] = list[i].rv, list[i].responded
				if i+1 < len(list) {
					v.best[i] = min(v.best[i], v.best[i+1])
				}
			}
			ka.puts[uid] = v
		}
	}
	return a
}

// Gone reports whether an object was deleted, by the op log. One that came and went
// while the watcher could not see is never stored, and nobody misses it.
func (a *Acks) Gone(uid string) bool {
	_, deleted := a.deleted[uid]
	return deleted
}

// Of returns when the state an operation made, or a newer one, was first
// acknowledged, in Unix nanoseconds. Newer states are a later version of the same
// uid, its deletion, and any request for a successor of the same name.
func (a *Acks) Of(op oplog.Record) (int64, bool) {
	ka := a.byKey[key{op.Kind, op.Namespace, op.Name}]
	if ka == nil {
		return 0, false
	}
	first := int64(0)
	take := func(t int64) {
		if first == 0 || t < first {
			first = t
		}
	}
	if v := ka.puts[op.UID]; v != nil && op.Type != oplog.TypeDelete {
		if i := sort.Search(len(v.rv), func(i int) bool { return v.rv[i] >= op.ResourceVersion }); i < len(v.rv) {
			take(v.best[i])
		}
	}
	for _, d := range ka.deletes {
		// A DELETE that found nothing names no uid. It speaks for this operation
		// only if it was sent after it: the object had never been stored.
		gone, known := a.deleted[op.UID]
		if d.uid == op.UID || (d.uid == "" && d.received >= op.Started) || known && d.received >= gone {
			take(d.responded)
		}
	}
	for _, p := range ka.order {
		if p.uid != op.UID && p.received >= op.Finished && op.Finished != 0 {
			take(p.responded)
			break
		}
	}
	return first, first != 0
}

// Freshness is the age of the cluster's state at the moment storage had it.
type Freshness struct {
	Load      *Histogram // operations on the loaded kind
	Bystander *Histogram
	Acked     int64 // operations of the load phase whose state arrived
	Missing   int64 // those whose state did not
}

// FreshnessOf matches every successful operation of the load phase with its
// acknowledgement, counted from the intended time.
func FreshnessOf(ops []oplog.Record, acks *Acks) Freshness {
	acks.Learn(ops)
	f := Freshness{Load: NewHistogram(), Bystander: NewHistogram()}
	for _, op := range ops {
		if op.Phase != oplog.PhaseLoad || op.Type == oplog.TypeHeartbeat || !op.OK() {
			continue
		}
		t, ok := acks.Of(op)
		h := f.Load
		if op.Bystander {
			h = f.Bystander
		}
		if ok {
			h.Add(t - op.Intended)
		}
		switch {
		case op.Bystander:
		case ok:
			f.Acked++
		default:
			f.Missing++
		}
	}
	return f
}

// BystanderFromAnswer is the bystander's freshness counted from the apiserver's answer
// instead of the intended time: where a fault keeps the apiserver itself busy, this is
// the part that is the watcher's. Operations whose state never arrived are missing from
// it as they are from Freshness; G1 and G6 have them.
func BystanderFromAnswer(ops []oplog.Record, acks *Acks) *Histogram {
	acks.Learn(ops)
	h := NewHistogram()
	for _, op := range ops {
		if op.Phase != oplog.PhaseLoad || !op.Bystander || op.Type == oplog.TypeHeartbeat || !op.OK() {
			continue
		}
		if t, ok := acks.Of(op); ok {
			h.Add(max(0, t-op.Finished)) // the watch may be faster than the answer
		}
	}
	return h
}
