package jsonscan

import "hash/maphash"

// Interner makes strings of bytes and reuses those seen lately. It is a bounded, direct-mapped cache: a miss costs an
// allocation, never memory that stays. It is not safe for concurrent use.
type Interner struct {
	seed  maphash.Seed
	slots [internSlots]string
}

const internSlots = 1 << 14

// NewInterner returns an empty cache of 256 KiB.
func NewInterner() *Interner { return &Interner{seed: maphash.MakeSeed()} }

// Get returns b as a string of its own. A nil Interner keeps nothing.
func (in *Interner) Get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if in == nil {
		return string(b)
	}
	slot := &in.slots[maphash.Bytes(in.seed, b)%internSlots]
	if *slot != string(b) {
		*slot = string(b)
	}
	return *slot
}
