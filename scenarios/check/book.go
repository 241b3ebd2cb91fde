package check

import (
	"math"
	"strings"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
)

// book holds one entry per key. It grows with keys, objects and operations, not with requests.
type book struct {
	meta  *Meta
	index map[history.Key]*keyState
	keys  []*keyState // in order of first appearance
	ready int64       // versions acknowledged before are exempt from counting; see Meta.WatcherReady
	// opsNear counts, per kind and for allKinds, acknowledged operations that finished about when the counters were read,
	// and may have moved them.
	opsNear   map[string]int64
	haveOps   bool
	haveState bool
	restored  bool // the final state belongs to another history

	records   int64 // of the op log
	exist     int   // wanted objects, by the op log so far
	peak      int   // the most of them at once
	deletions []deletion
	// differs says which fields are not as expected, of the keys that the record has it of.
	differs map[*keyState]string
}

type keyState struct {
	history.Key
	lives    []life    // in order of first appearance
	versions []version // acknowledged by the apiserver; ascending once sorted

	// live and stored are the final states of apiserver and storage; nil for none, and one pointer where they agree.
	live, stored *finalState

	held     touch // the PUT whose state storage holds, by the ledger
	heldLife int32 // its index in lives; -1 when storage holds none

	newestRemoved int32  // index of the youngest uid a DELETE removed, -1 when none
	none          *touch // last DELETE that found nothing
	looked        int32  // DELETEs that were not taken while there was nothing to delete
	deletes       int32  // DELETEs of the watcher that took effect, whatever they hit
	deletion      int32  // the last of its deletions by the load, as an index in book.deletions plus 1; 0 for none

	wanted   bool
	differs  bool // by G1
	replaced bool // a request for this key took effect at least once
	exists   bool // by the op log so far
	hit      bool // by a fault of storage
	open     bool // an ending may still turn out to be another's; see book.deliver
}

// touch is one applied request. The zero touch is none.
type touch struct {
	seq, rv           uint64
	received, applied int64
}

func newBook(m *Meta, ready int64) *book {
	return &book{
		meta: m, ready: ready, index: make(map[history.Key]*keyState),
		opsNear: make(map[string]int64), differs: make(map[*keyState]string),
	}
}

func (b *book) key(kind, namespace, name string) *keyState {
	id := history.Key{Kind: kind, Namespace: namespace, Name: name}
	k := b.index[id]
	if k == nil {
		k = &keyState{Key: id, wanted: b.meta.Rules.Wants(kind, namespace, name), heldLife: -1, newestRemoved: -1}
		b.index[id] = k
		b.keys = append(b.keys, k)
	}
	return k
}

func (b *book) lookup(kind, namespace, name string) *keyState {
	return b.index[history.Key{Kind: kind, Namespace: namespace, Name: name}]
}

func (b *book) addOp(r *oplog.Record) {
	b.records++
	if !r.OK() || b.meta.Until != 0 && r.Started > b.meta.Until || !b.meta.Rules.Wants(r.Kind, r.Namespace, r.Name) {
		return
	}
	if b.meta.nearScrape(r.Finished) {
		b.opsNear[r.Kind]++
		b.opsNear[allKinds]++
	}
	k := b.key(r.Kind, r.Namespace, r.Name)
	b.count(k, r)
	i := int32(-1)
	if r.Type == oplog.TypeDelete && r.UID == "" {
		i, _ = k.newest() // records are in the order of their answers
	}
	if i < 0 {
		i = k.life(r.UID)
	}
	l := &k.lives[i]
	l.known = true
	l.alive = max(l.alive, r.Started)
	exempt := r.Finished < b.ready || b.ready == 0 && r.Phase == oplog.PhasePrepare
	if r.Type == oplog.TypeDelete {
		l.end().deletedBy(r)
		l.exemptDel = exempt
		b.addDeletion(k, i, r)
		return
	}
	v := newVersion(r)
	v.life = uint16(i)
	if v.rv == 0 {
		if v.flags&versionChange == 0 {
			return
		}
		if last := k.lastVersion(i, 0); last != nil {
			v.rv = last.rv // at least what was there before
		}
		v.flags |= versionUncounted
	} else if r.Type == oplog.TypeCreate || l.created == 0 || l.created > v.rv {
		l.created = v.rv
	}
	if exempt {
		v.flags |= versionExempt
	}
	if r.Type == oplog.TypeHeartbeat {
		v.flags |= versionHeartbeat
	}
	if k.versions == nil {
		k.versions = make([]version, 0, usualVersions)
	}
	k.versions = append(k.versions, v)
}

// usualVersions is about how many versions a pod has: it is created, bound, started and changed a little.
const usualVersions = 4

func (b *book) count(k *keyState, r *oplog.Record) {
	switch {
	case r.Phase == oplog.PhaseTeardown || r.Type == oplog.TypeHeartbeat:
	case r.Type == oplog.TypeDelete && k.exists:
		k.exists = false
		b.exist--
	case r.Type != oplog.TypeDelete && !k.exists:
		k.exists = true
		b.exist++
		b.peak = max(b.peak, b.exist)
	}
}

// canonicalKind undoes the lower case of ExportService's endpoint (contract E15).
func canonicalKind(kind string) string {
	if strings.EqualFold(kind, kindExportService) {
		return kindExportService
	}
	return kind
}

// maxLives bounds the uids one name can have; the index is 16 bits wide.
const maxLives = math.MaxUint16
