package store

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"

	"github.com/watchbench/watchbench/internal/bcsapi"
	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/internal/pack"
)

// Key names a document. Namespace is empty in the cluster scope.
type Key struct{ Cluster, Kind, Namespace, Name string }

// Record is one state of a document. It is immutable.
type Record struct {
	Key
	ID              ObjectID
	UID             string // of the content's metadata
	ResourceVersion uint64 // of the content's metadata
	Created         time.Time
	Updated         time.Time
	Event           *bcsapi.EventRecord // of an event, without its data

	packed pack.Text // the content; it is plain where that is smaller
	plain  []byte
}

// Data is the content: JSON, in memory that may be shared. Nobody may write to it.
func (r *Record) Data() []byte {
	if r.packed.IsZero() {
		return r.plain
	}
	data, err := r.packed.Unpack(nil)
	if err != nil {
		panic(fmt.Sprintf("document %s/%s/%s: %v", r.Kind, r.Namespace, r.Name, err)) // only this package writes it
	}
	return data
}

// size is about how many bytes the record takes.
func (r *Record) size() int { return 256 + r.packed.Size() + len(r.plain) }

// keep makes data the content.
func (c *collection) keep(r *Record, data []byte) {
	if data != nil {
		r.packed, r.plain = c.packer.Pack(func(dst []byte) []byte { return append(dst, data...) })
	}
}

// ObjectID is a document identifier in the database's form.
type ObjectID [12]byte

// String is the identifier in hexadecimal.
func (id ObjectID) String() string { return hex.EncodeToString(id[:]) }

// idSource makes identifiers: seconds, a seeded part, a counter.
type idSource struct {
	middle  [5]byte
	counter uint32
}

func newIDSource(seed uint64) idSource {
	var s idSource
	var b [8]byte
	r := rand.New(rand.NewPCG(seed, 0x6f626a6964))
	binary.BigEndian.PutUint64(b[:], r.Uint64())
	copy(s.middle[:], b[:5])
	s.counter = r.Uint32()
	return s
}

func (s *idSource) next(now time.Time) ObjectID {
	var id ObjectID
	binary.BigEndian.PutUint32(id[:4], uint32(now.Unix()))
	copy(id[4:9], s.middle[:])
	s.counter++
	id[9], id[10], id[11] = byte(s.counter>>16), byte(s.counter>>8), byte(s.counter)
	return id
}

// Fields yields the document's fields as the real server returns them.
func (r *Record) Fields() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		data := r.Data()
		if data == nil {
			data = []byte("null")
		}
		ok := yield("_id", quote(r.ID.String())) &&
			yield("clusterId", quote(r.Cluster)) &&
			(r.Namespace == "" && r.Event == nil || yield("namespace", quote(r.Namespace))) &&
			yield("resourceType", quote(r.Kind)) &&
			yield("resourceName", quote(r.Name)) &&
			yield("data", data) &&
			yield("createTime", appendTime(nil, r.Created)) &&
			yield("updateTime", appendTime(nil, r.Updated))
		if ok && r.Event != nil {
			fields(r.Event, yield)
		}
	}
}

func quote(s string) []byte { return jsonscan.AppendString(make([]byte, 0, len(s)+2), s) }

// Change describes the effect of a Put or Delete on one document.
type Change struct {
	Key             Key
	Effect          string // one of the ledger's effects
	UID             string // of the stored or removed object
	ResourceVersion uint64
	Refusal         string // why a precondition failed; Effect is then EffectRejected
}
