package check

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/watchbench/watchbench/loadgen/oplog"
	"github.com/watchbench/watchbench/scenarios/history"
)

// book is what the judge remembers, one entry per key. Its size follows the
// number of keys and acknowledged versions, not the number of requests.
type book struct {
	meta *Meta
	ids  map[keyName]uint32
	// chunks hold the keys. They never move, so that pointers stay good and growing
	// costs no copy.
	chunks [][]keyState
	ready  int64 // versions acknowledged before are exempt from counting; see Meta.WatcherReady
	// opsNear counts, per kind, acknowledged operations that finished about when
	// the counters were read.
	opsNear   map[string]int64
	ops       int64 // acknowledged operations on keys that are wanted
	haveOps   bool
	haveState bool
}

// keyChunk is the number of keys allocated at once, about 1 MiB.
const keyChunk = 4096

type keyName struct{ kind, namespace, name string }

func (k keyName) String() string { return history.KeyText(k.kind, k.namespace, k.name) }

// keyState is one name with all the objects that bore it.
type keyState struct {
	keyName
	wanted   bool
	tampered bool
	lives    []life    // in order of first appearance
	versions []version // acknowledged by the apiserver; ascending once sorted

	live, stored finalState // both sides in the end
	differs      bool       // by G1

	held     touch // the PUT whose state storage holds, by the ledger
	heldLife int32 // its index in lives; -1 when storage holds none
	replaced bool  // a request for this key took effect at least once

	newestRemoved int32  // index of the youngest uid a DELETE removed, -1 when none
	none          *touch // last DELETE that found nothing
	looked        int32  // DELETEs that were not taken while there was nothing to delete
	deletes       int32  // DELETEs of the watcher that took effect, whatever they hit
}

// life is one uid under a name.
type life struct {
	uid       string
	created   uint64 // resourceVersion of its creation by the op log, else the lowest one seen there
	known     bool   // the op log has it
	wrong     bool   // removed by a DELETE while it was alive
	byHarness bool   // removed by tampering
	withdrawn bool   // removed while its kind was not served
	exemptDel bool   // its deletion came before the watcher was ready
	ending    bool   // a PUT carried its terminating state, which no operation answers
	alive     int64  // it certainly existed at this time
	deleted   int64  // start of the operation that deleted it; 0 when none did
	top       touch  // the PUT with the highest version applied so far
	removed   touch  // the last DELETE that removed it
}

// touch is one applied request. The zero touch is none.
type touch struct {
	seq, rv           uint64
	received, applied int64
}

// version is one state the apiserver acknowledged.
type version struct {
	rv    uint64
	op    uint32 // id of the operation; 0 when it does not fit
	life  uint16
	flags uint8
}

const (
	versionSeen      = 1 << iota // an applied PUT carried it
	versionExempt                // acknowledged before the watcher was ready
	versionHeartbeat             // may lawfully be skipped
)

// maxLives bounds the uids one name can have; the index is 16 bits wide.
const maxLives = math.MaxUint16

func newBook(m *Meta, ready int64) *book {
	return &book{meta: m, ids: make(map[keyName]uint32), ready: ready, opsNear: make(map[string]int64)}
}

// key is the entry of a name, made when missing.
func (b *book) key(kind, namespace, name string) *keyState {
	k := keyName{kind, namespace, name}
	if known := b.lookup(k); known != nil {
		return known
	}
	id := uint32(len(b.ids))
	if id%keyChunk == 0 {
		b.chunks = append(b.chunks, make([]keyState, 0, keyChunk))
	}
	b.ids[k] = id
	last := &b.chunks[id/keyChunk]
	*last = append(*last, keyState{
		keyName: k, wanted: b.meta.Rules.Wants(kind, namespace, name),
		heldLife: -1, newestRemoved: -1,
	})
	return &(*last)[id%keyChunk]
}

// lookup is the entry of a name, nil when there is none.
func (b *book) lookup(k keyName) *keyState {
	id, ok := b.ids[k]
	if !ok {
		return nil
	}
	return &b.chunks[id/keyChunk][id%keyChunk]
}

// all yields every key in the order of first appearance.
func (b *book) all() iter.Seq[*keyState] {
	return func(yield func(*keyState) bool) {
		for _, chunk := range b.chunks {
			for i := range chunk {
				if !yield(&chunk[i]) {
					return
				}
			}
		}
	}
}

// life is the index of a uid under the key, made when missing.
func (k *keyState) life(uid string) int32 {
	for i := len(k.lives) - 1; i >= 0; i-- {
		if k.lives[i].uid == uid {
			return int32(i)
		}
	}
	if len(k.lives) == maxLives {
		return maxLives - 1
	}
	k.lives = append(k.lives, life{uid: uid})
	return int32(len(k.lives) - 1)
}

// readOps fills the book from the op log.
func (b *book) readOps(ctx context.Context, h *History) error {
	if h.Ops == nil {
		return nil
	}
	b.haveOps = true
	n := 0
	for r, err := range ahead(h.Ops) {
		if err != nil {
			return err
		}
		if n++; n%ctxEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b.addOp(&r)
	}
	for k := range b.all() {
		k.sortVersions()
	}
	return nil
}

// ctxEvery is how many records are read between looks at the context.
const ctxEvery = 1 << 16

func (b *book) addOp(r *oplog.Record) {
	if !r.OK() || b.meta.Until != 0 && r.Started > b.meta.Until || !b.meta.Rules.Wants(r.Kind, r.Namespace, r.Name) {
		return
	}
	b.ops++
	if b.meta.nearScrape(r.Finished) {
		b.opsNear[r.Kind]++
	}
	k := b.key(r.Kind, r.Namespace, r.Name)
	i := int32(-1)
	if r.Type == oplog.TypeDelete && r.UID == "" {
		i, _ = k.newest() // records stand in the order of their answers
	}
	if i < 0 {
		i = k.life(r.UID)
	}
	l := &k.lives[i]
	l.known = true
	l.alive = max(l.alive, r.Started)
	exempt := r.Finished < b.ready || b.ready == 0 && r.Phase == oplog.PhasePrepare
	if r.Type == oplog.TypeDelete {
		if l.deleted == 0 {
			l.deleted = r.Started
		}
		l.exemptDel = exempt
		return
	}
	if r.ResourceVersion == 0 {
		return
	}
	if r.Type == oplog.TypeCreate || l.created == 0 || l.created > r.ResourceVersion {
		l.created = r.ResourceVersion
	}
	v := version{rv: r.ResourceVersion, life: uint16(i)}
	if r.ID > 0 && r.ID <= math.MaxUint32 {
		v.op = uint32(r.ID)
	}
	if exempt {
		v.flags |= versionExempt
	}
	if r.Type == oplog.TypeHeartbeat && !b.meta.Rules.KeepHeartbeats {
		v.flags |= versionHeartbeat
	}
	k.versions = append(k.versions, v)
}

// sortVersions orders by version and drops repeats: a write that changes nothing
// is answered with the version that was there.
func (k *keyState) sortVersions() {
	byRV := func(a, b version) int {
		switch {
		case a.rv != b.rv:
			if a.rv < b.rv {
				return -1
			}
			return 1
		default:
			return int(a.op) - int(b.op)
		}
	}
	if !slices.IsSortedFunc(k.versions, byRV) {
		slices.SortFunc(k.versions, byRV)
	}
	k.versions = slices.CompactFunc(k.versions, func(a, b version) bool { return a.rv == b.rv && a.life == b.life })
}

// see marks the version an applied PUT carried and reports whether one had before.
func (k *keyState) see(life int32, rv uint64) (again bool) {
	v := k.find(life, rv)
	if v == nil {
		l := &k.lives[life]
		l.ending = l.ending || l.deleted != 0 && rv > k.finalVersion(life)
		return false
	}
	again = v.flags&versionSeen != 0
	v.flags |= versionSeen
	return again
}

// find is the acknowledged version of a uid, nil when the op log has none.
func (k *keyState) find(life int32, rv uint64) *version {
	i, ok := slices.BinarySearchFunc(k.versions, rv, func(v version, rv uint64) int {
		switch {
		case v.rv < rv:
			return -1
		case v.rv > rv:
			return 1
		}
		return 0
	})
	for ; ok && i < len(k.versions) && k.versions[i].rv == rv; i++ {
		if int32(k.versions[i].life) == life {
			return &k.versions[i]
		}
	}
	return nil
}

// older reports whether uid a (as written with version rvA) came before uid b.
// Versions are taken from one counter for the whole cluster, so those of a later
// object are higher; the op log's creations decide where it has both.
func (k *keyState) older(a int32, rvA uint64, b int32, rvB uint64) bool {
	if a == b {
		return rvA < rvB
	}
	ca, cb := k.lives[a].created, k.lives[b].created
	if ca != 0 && cb != 0 && ca != cb {
		return ca < cb
	}
	return rvA < rvB
}

// newest is the youngest uid the op log knows, -1 when it knows none, and how
// many it knows.
func (k *keyState) newest() (index int32, known int) {
	index = -1
	for i := range k.lives {
		if !k.lives[i].known {
			continue
		}
		known++
		if index < 0 || k.lives[i].created > k.lives[index].created {
			index = int32(i)
		}
	}
	return index, known
}

// finalVersion is the last version of a uid that storage must end with, 0 when
// the op log has none.
func (k *keyState) finalVersion(life int32) uint64 {
	for i := len(k.versions) - 1; i >= 0; i-- {
		v := k.versions[i]
		if int32(v.life) == life && v.flags&versionHeartbeat == 0 {
			return v.rv
		}
	}
	return 0
}

// selected reports whether a label selector decides if the kind's objects are seen.
func (b *book) selected(kind string) bool { return slices.Contains(b.meta.Rules.SelectedKinds, kind) }

// moving is how many operations of a kind may have moved the counters while they
// were read.
func (b *book) moving(kind string) int64 {
	if kind != allKinds {
		return b.opsNear[kind]
	}
	var n int64
	for _, k := range b.opsNear {
		n += k
	}
	return n
}

// canonicalKind undoes the lower case of ExportService's endpoint (contract E15).
func canonicalKind(kind string) string {
	if strings.EqualFold(kind, kindExportService) {
		return kindExportService
	}
	return kind
}
