package check

import (
	"encoding/binary"

	"github.com/watchbench/watchbench/storagemock/ledger"
)

// uid is an object's uid in 16 bytes instead of 52: its value where it has the usual
// form of a UUID, else eight zeros and its number among the uids that have not.
type uid [16]byte

func (id uid) odd() bool { return binary.BigEndian.Uint64(id[:8]) == 0 }

// uids packs uids and keeps the texts of odd ones.
type uids struct {
	texts   []string // number n is at n-1; number 0 is the empty uid
	numbers map[string]uint64
}

func (u *uids) pack(text string) uid {
	id, usual := ledger.ParseUUID(text)
	if text == "" || usual && !uid(id).odd() {
		return id
	}
	n, ok := u.numbers[text]
	if !ok {
		u.texts = append(u.texts, text)
		n = uint64(len(u.texts))
		if u.numbers == nil {
			u.numbers = make(map[string]uint64)
		}
		u.numbers[text] = n
	}
	odd := uid{}
	binary.BigEndian.PutUint64(odd[8:], n)
	return odd
}

func (u *uids) text(id uid) string {
	switch n := binary.BigEndian.Uint64(id[8:]); {
	case id == uid{}:
		return ""
	case id.odd():
		return u.texts[n-1]
	}
	return ledger.FormatUUID(id)
}
