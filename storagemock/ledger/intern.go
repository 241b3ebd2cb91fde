package ledger

import (
	"strings"
)

type scope struct{ cluster, kind, namespace string }

// key names an object: the number of its scope, and its name.
type key struct {
	scope uint32
	name  string
}

// interner numbers the distinct values of a field, from 0.
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

func (in *interner[T]) get(id uint32) T { return in.values[id] }

// keyTable numbers keys from 0.
type keyTable struct {
	ids    map[key]uint32
	chunks [][]keyState
}

// keyState is a key in 24 bytes, and the identity of its latest entry that had one.
type keyState struct {
	name            string
	scope, identity uint32
}

const keyChunkLen = 4096

// find returns the number of k, which it adds if it is new. The name is then copied:
// it may be part of a larger text, such as a request's head.
func (t *keyTable) find(k key) uint32 {
	if id, known := t.ids[k]; known {
		return id
	}
	if t.ids == nil {
		t.ids = map[key]uint32{}
	}
	id := uint32(len(t.ids))
	if id%keyChunkLen == 0 {
		t.chunks = append(t.chunks, make([]keyState, 0, keyChunkLen))
	}
	k.name = strings.Clone(k.name)
	t.ids[k] = id
	last := len(t.chunks) - 1
	t.chunks[last] = append(t.chunks[last], keyState{name: k.name, scope: k.scope})
	return id
}

func (t *keyTable) at(id uint32) *keyState { return &t.chunks[id/keyChunkLen][id%keyChunkLen] }

// identities numbers uids from 1. Kubernetes' are UUIDs and take 16 bytes;
// others are kept as strings. Only equality with a key's latest identity is
// looked for, so a uid that comes back after another takes a new number.
type identities struct {
	chunks [][][16]byte
	n      uint32
	odd    map[uint32]string // those other than lower-case UUIDs
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
	b, ok := ParseUUID(uid)
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
	b, ok := ParseUUID(uid)
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
	return FormatUUID(t.chunks[(id-1)/identityChunkLen][(id-1)%identityChunkLen])
}
