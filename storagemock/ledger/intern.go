package ledger

import (
	"encoding/hex"
	"hash/maphash"
)

type scope struct{ cluster, kind, namespace string }

// interner numbers the few distinct values of a field, from 0.
type interner[T comparable] struct {
	ids    map[T]uint32
	values []T
}

func (in *interner[T]) id(v T) uint32 {
	if id, ok := in.ids[v]; ok {
		return id
	}
	if in.ids == nil {
		in.ids = map[T]uint32{}
	}
	id := uint32(len(in.values))
	in.ids[v] = id
	in.values = append(in.values, v)
	return id
}

func (in *interner[T]) lookup(v T) (uint32, bool) {
	id, ok := in.ids[v]
	return id, ok
}

func (in *interner[T]) get(id uint32) T { return in.values[id] }

// keyTable numbers (scope, name) from 1. It holds no pointers per key, so that
// the garbage collector does not walk it: names lie in an arena, keys in chunks,
// and the hash table holds key numbers. The table is split into shards so that
// growing one never takes long.
type keyTable struct {
	shards [keyShards]keyShard
	keys   [][]key // chunks
	n      int
	arena  [][]byte
}

type keyShard struct {
	slots []uint32 // key numbers, 0 is free; open addressing, length a power of two
	used  int
}

type key struct {
	arena, off uint32 // where the name lies
	scope      uint32
	hash       uint32
	last       uint32 // Seq of its latest entry
	uid        uint32 // identity of its latest entry that had one
	len        uint32
}

const (
	keyShards   = 64
	keyChunkLen = 4096
	arenaChunk  = 256 << 10
)

var seed = maphash.MakeSeed()

func hashKey(scope uint32, name string) uint32 {
	h := maphash.String(seed, name) ^ uint64(scope)*0x9e3779b97f4a7c15
	return uint32(h ^ h>>32)
}

// keyRef is a key and its number.
type keyRef struct {
	id  uint32
	key *key
}

func (t *keyTable) at(id uint32) *key { return &t.keys[(id-1)/keyChunkLen][(id-1)%keyChunkLen] }

func (t *keyTable) text(k *key) []byte { return t.arena[k.arena][k.off : k.off+k.len] }

func (t *keyTable) name(id uint32) (scope uint32, name string) {
	k := t.at(id)
	return k.scope, string(t.text(k))
}

func (t *keyTable) lookup(scope uint32, name string) *key {
	h := hashKey(scope, name)
	sh := &t.shards[h%keyShards]
	if len(sh.slots) == 0 {
		return nil
	}
	if id := sh.slots[t.probe(sh, h, scope, name)]; id != 0 {
		return t.at(id)
	}
	return nil
}

// probe is the slot of the key, or the free slot where it belongs.
func (t *keyTable) probe(sh *keyShard, h, scope uint32, name string) uint32 {
	mask := uint32(len(sh.slots) - 1)
	for i := h / keyShards & mask; ; i = (i + 1) & mask {
		id := sh.slots[i]
		if id == 0 {
			return i
		}
		if k := t.at(id); k.hash == h && k.scope == scope && string(t.text(k)) == name {
			return i
		}
	}
}

// find returns the key, adding it when it is new.
func (t *keyTable) find(scope uint32, name string) keyRef {
	h := hashKey(scope, name)
	sh := &t.shards[h%keyShards]
	if sh.used*4 >= len(sh.slots)*3 {
		t.grow(sh)
	}
	i := t.probe(sh, h, scope, name)
	if id := sh.slots[i]; id != 0 {
		return keyRef{id, t.at(id)}
	}
	if t.n%keyChunkLen == 0 {
		t.keys = append(t.keys, make([]key, 0, keyChunkLen))
	}
	t.n++
	k := key{scope: scope, hash: h, len: uint32(len(name))}
	k.arena, k.off = t.store(name)
	last := len(t.keys) - 1
	t.keys[last] = append(t.keys[last], k)
	sh.slots[i] = uint32(t.n)
	sh.used++
	return keyRef{uint32(t.n), t.at(uint32(t.n))}
}

func (t *keyTable) store(name string) (arena, off uint32) {
	last := len(t.arena) - 1
	if last < 0 || cap(t.arena[last])-len(t.arena[last]) < len(name) {
		t.arena = append(t.arena, make([]byte, 0, max(arenaChunk, len(name))))
		last++
	}
	off = uint32(len(t.arena[last]))
	t.arena[last] = append(t.arena[last], name...)
	return uint32(last), off
}

func (t *keyTable) grow(sh *keyShard) {
	old := sh.slots
	sh.slots = make([]uint32, max(16, 2*len(old)))
	mask := uint32(len(sh.slots) - 1)
	for _, id := range old {
		if id == 0 {
			continue
		}
		i := t.at(id).hash / keyShards & mask
		for sh.slots[i] != 0 {
			i = (i + 1) & mask
		}
		sh.slots[i] = id
	}
}

// identities numbers uids from 1. Kubernetes' are UUIDs and take 16 bytes;
// others are kept as strings. Only equality with a key's latest identity is
// looked for, so a uid that comes back after another takes a new number.
type identities struct {
	chunks [][][16]byte
	n      uint32
	odd    map[uint32]string // those that are no UUID in lower-case text
}

const identityChunkLen = 16384

func (t *identities) id(uid string, latest uint32) uint32 {
	if uid == "" {
		return 0
	}
	if latest != 0 && t.is(latest, uid) {
		return latest
	}
	if t.n%identityChunkLen == 0 {
		t.chunks = append(t.chunks, make([][16]byte, 0, identityChunkLen))
	}
	t.n++
	b, ok := parseUUID(uid)
	if !ok {
		if t.odd == nil {
			t.odd = map[uint32]string{}
		}
		t.odd[t.n] = uid
	}
	last := len(t.chunks) - 1
	t.chunks[last] = append(t.chunks[last], b)
	return t.n
}

func (t *identities) is(id uint32, uid string) bool {
	b, ok := parseUUID(uid)
	odd, isOdd := t.odd[id]
	if !ok {
		return isOdd && odd == uid
	}
	return !isOdd && b == t.chunks[(id-1)/identityChunkLen][(id-1)%identityChunkLen]
}

func (t *identities) get(id uint32) string {
	if id == 0 {
		return ""
	}
	if s, ok := t.odd[id]; ok {
		return s
	}
	return formatUUID(t.chunks[(id-1)/identityChunkLen][(id-1)%identityChunkLen])
}

// uuidGroups are the lengths, in bytes, between the dashes of a UUID's text.
var uuidGroups = [...]int{4, 2, 2, 2, 6}

func parseUUID(s string) (b [16]byte, ok bool) {
	if len(s) != 36 {
		return b, false
	}
	from, to := 0, 0
	for i, n := range uuidGroups {
		if i > 0 {
			if s[from] != '-' {
				return b, false
			}
			from++
		}
		for range n {
			hi, lo := hexValue(s[from]), hexValue(s[from+1])
			if hi > 15 || lo > 15 {
				return b, false
			}
			b[to] = hi<<4 | lo
			from, to = from+2, to+1
		}
	}
	return b, true
}

// hexValue is above 15 for anything but a lower-case digit, so that what parses
// also prints the same.
func hexValue(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

func formatUUID(b [16]byte) string {
	var out [36]byte
	to, from := 0, 0
	for i, n := range uuidGroups {
		if i > 0 {
			out[to] = '-'
			to++
		}
		hex.Encode(out[to:], b[from:from+n])
		to, from = to+2*n, from+n
	}
	return string(out[:])
}
