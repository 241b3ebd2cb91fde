package ledger

import (
	"iter"
	"slices"
	"strings"
	"sync"
)

// Ledger keeps entries in memory: 56 bytes per request, and about 270 per object with its uid, so that millions of
// requests fit. It is safe for concurrent use.
type Ledger struct {
	mu     sync.RWMutex // guards everything; held only for copies, never for I/O
	chunks [][]record
	n      uint64           // entries; also the last Seq
	gone   map[uint64]int64 // Entry.Gone by Seq: few have it
	// What many entries have in common.
	texts   interner[string]
	objects interner[object]
}

// chunkLen is the number of records allocated at once: 448 KiB.
const chunkLen = 8192

// record is an Entry with its texts interned.
type record struct {
	received, applied, responded int64
	version                      uint64
	object, uid, fault, bytes    uint32
	code                         int32
	status                       uint16
	instance, effect             uint8
}

// object is the numbers of method, cluster, kind, namespace and name.
type object [5]uint32

// interner numbers distinct values from 0.
type interner[T comparable] struct {
	ids    map[T]uint32
	values []T
}

func newInterner[T comparable]() interner[T] { return interner[T]{ids: map[T]uint32{}} }

// id is the number of v; one that is new is kept as clone makes it.
func (in *interner[T]) id(v T, clone func(T) T) uint32 {
	id, known := in.ids[v]
	if !known {
		id, v = uint32(len(in.values)), clone(v)
		in.ids[v] = id
		in.values = append(in.values, v)
	}
	return id
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{gone: map[uint64]int64{}, texts: newInterner[string](), objects: newInterner[object]()}
}

// text is the number of a text, which may be part of a larger one, such as a request's head.
func (l *Ledger) text(s string) uint32 { return l.texts.id(s, strings.Clone) }

var effects = [...]string{"", EffectCreated, EffectReplaced, EffectDeleted, EffectNone, EffectRejected}

// effectIndex is 0 for none of them.
func effectIndex(effect string) uint8 { return uint8(max(0, slices.Index(effects[:], effect))) }

// Append stores e and returns its Seq; the Seq in e is ignored. The order of calls is the order of application.
func (l *Ledger) Append(e Entry) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n%chunkLen == 0 {
		l.chunks = append(l.chunks, make([]record, 0, chunkLen))
	}
	l.n++
	of := object{l.text(e.Method), l.text(e.Cluster), l.text(e.Kind), l.text(e.Namespace), l.text(e.Name)}
	r := record{
		received: e.Received, applied: e.Applied, responded: e.Responded, version: e.ResourceVersion,
		object: l.objects.id(of, func(o object) object { return o }), uid: l.text(e.UID), fault: l.text(e.Fault),
		bytes: uint32(e.Bytes), code: int32(e.Code), status: uint16(e.Status), instance: uint8(e.Instance),
		effect: effectIndex(e.Effect),
	}
	if e.Gone != 0 {
		l.gone[l.n] = e.Gone
	}
	last := len(l.chunks) - 1
	l.chunks[last] = append(l.chunks[last], r)
	return l.n
}

// Answered records when the answer to entry seq was handed to the socket, in Unix nanoseconds, and its status and code.
// An unknown seq is ignored.
func (l *Ledger) Answered(seq uint64, at int64, status, code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.at(seq); r != nil {
		r.responded, r.status, r.code = at, uint16(status), int32(code)
	}
}

// Gone records when the connection of entry seq, which has no answer, ended. An unknown seq is ignored.
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

// From yields the entries from seq on, in order, up to the last one that existed when the iteration began. Entries may
// be appended meanwhile.
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
	o, text := l.objects.values[r.object], l.texts.values
	return Entry{
		Seq: seq, Instance: int(r.instance),
		Method: text[o[0]], Cluster: text[o[1]], Kind: text[o[2]], Namespace: text[o[3]], Name: text[o[4]],
		UID: text[r.uid], ResourceVersion: r.version, Bytes: int(r.bytes),
		Received: r.received, Applied: r.applied, Responded: r.responded, Gone: l.gone[seq],
		Status: int(r.status), Code: int(r.code), Effect: effects[r.effect], Fault: text[r.fault],
	}
}
