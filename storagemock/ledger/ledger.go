package ledger

import (
	"errors"
	"iter"
	"sync"
)

// Ledger keeps entries in memory: 56 bytes per request, 16 per object identity
// and about 110 per key, so that millions of requests fit. It is safe for
// concurrent use.
type Ledger struct {
	mu      sync.RWMutex // guards everything; held only for copies, never for I/O
	chunks  [][]record
	n       uint64 // entries; also the last Seq
	keys    keyTable
	ids     identities
	scopes  interner[scope]
	gone    map[uint64]int64 // Entry.Gone by Seq: few have it
	faults  interner[string]
	methods interner[string]
}

// chunkLen is the number of records allocated at once: 448 KiB.
const chunkLen = 8192

// record is an Entry with its strings interned. Identity 0 is "none".
type record struct {
	received, applied, responded int64
	version                      uint64
	key, uid, bytes              uint32
	code                         int32
	status, fault                uint16
	instance                     uint8
	method, effect               uint8
}

// MaxEntries is the highest Seq the compact form can hold.
const MaxEntries = 1<<32 - 1

// ErrFull is returned by Append when MaxEntries is reached.
var ErrFull = errors.New("the ledger is full: it holds 2^32-1 entries")

// New returns an empty ledger.
func New() *Ledger { return &Ledger{gone: map[uint64]int64{}} }

var effects = [...]string{"", EffectCreated, EffectReplaced, EffectDeleted, EffectNone, EffectRejected}

func effectIndex(effect string) uint8 {
	for i, e := range effects {
		if e == effect {
			return uint8(i)
		}
	}
	return 0
}

// Append stores e and returns its Seq; the Seq in e is ignored. The order of calls is
// the order of application. It returns ErrFull beyond MaxEntries.
func (l *Ledger) Append(e Entry) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n >= MaxEntries {
		return 0, ErrFull
	}
	if l.n%chunkLen == 0 {
		l.chunks = append(l.chunks, make([]record, 0, chunkLen))
	}
	l.n++
	id := l.keys.find(key{l.scopes.id(scope{e.Cluster, e.Kind, e.Namespace}), e.Name})
	k := l.keys.at(id)
	r := record{
		received: e.Received, applied: e.Applied, responded: e.Responded,
		version: e.ResourceVersion,
		key:     id, uid: l.ids.id(e.UID, k.identity), bytes: uint32(e.Bytes), code: int32(e.Code),
		status: uint16(e.Status), fault: uint16(l.faults.id(e.Fault)),
		instance: uint8(e.Instance), method: uint8(l.methods.id(e.Method)), effect: effectIndex(e.Effect),
	}
	if r.uid != 0 {
		k.identity = r.uid
	}
	if e.Gone != 0 {
		l.gone[l.n] = e.Gone
	}
	last := len(l.chunks) - 1
	l.chunks[last] = append(l.chunks[last], r)
	return l.n, nil
}

// Answered records when the answer to entry seq was handed to the socket, in Unix
// nanoseconds, and its status and code. An unknown seq is ignored.
func (l *Ledger) Answered(seq uint64, at int64, status, code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.at(seq); r != nil {
		r.responded, r.status, r.code = at, uint16(status), int32(code)
	}
}

// Gone records when the connection of entry seq, which has no answer, ended. An unknown seq
// is ignored.
func (l *Ledger) Gone(seq uint64, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at(seq) != nil {
		l.gone[seq] = at
	}
}

// at is the record of seq, nil when there is none; l.mu is held.
func (l *Ledger) at(seq uint64) *record {
	if seq == 0 || seq > l.n {
		return nil
	}
	return &l.chunks[(seq-1)/chunkLen][(seq-1)%chunkLen]
}

// Len is the number of entries, and the last Seq.
func (l *Ledger) Len() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.n
}

// batchLen is how many entries are copied under one lock: about 10 µs.
const batchLen = 256

// From yields the entries from seq on, in order, up to the last one that existed when
// the iteration began. Entries may be appended meanwhile.
func (l *Ledger) From(seq uint64) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		batch := make([]Entry, 0, batchLen)
		end := l.Len()
		for seq = max(seq, 1); seq <= end; {
			batch = batch[:0]
			l.mu.RLock()
			for ; seq <= end && len(batch) < batchLen; seq++ {
				batch = append(batch, l.entry(seq))
			}
			l.mu.RUnlock()
			for _, e := range batch {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// entry expands the record of seq; l.mu is held.
func (l *Ledger) entry(seq uint64) Entry {
	r := l.at(seq)
	k := l.keys.at(r.key)
	s := l.scopes.get(k.scope)
	return Entry{
		Seq: seq, Instance: int(r.instance),
		Method: l.methods.get(uint32(r.method)), Cluster: s.cluster, Kind: s.kind, Namespace: s.namespace, Name: k.name,
		UID: l.ids.get(r.uid), ResourceVersion: r.version, Bytes: int(r.bytes),
		Received: r.received, Applied: r.applied, Responded: r.responded, Gone: l.gone[seq],
		Status: int(r.status), Code: int(r.code), Effect: effects[r.effect], Fault: l.faults.get(uint32(r.fault)),
	}
}
