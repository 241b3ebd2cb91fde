package check

import (
	"encoding/binary"
	"encoding/hex"
)

// uid is an object's uid in 16 bytes instead of 52: its value where it has the usual
// form of a UUID, else {0, its number among the uids that have not}.
type uid struct{ hi, lo uint64 }

// uids packs uids and keeps the texts of unusual ones.
type uids struct {
	texts   []string // number n is at n-1; number 0 is the empty uid
	numbers map[string]uint64
}

func (u *uids) pack(text string) uid {
	if text == "" {
		return uid{}
	}
	if id, ok := parseUUID(text); ok {
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
	return uid{lo: n}
}

func (u *uids) text(id uid) string {
	switch {
	case id == uid{}:
		return ""
	case id.hi == 0:
		return u.texts[id.lo-1]
	}
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], id.hi)
	binary.BigEndian.PutUint64(raw[8:], id.lo)
	b := make([]byte, 0, uuidLen)
	for i, part := range [...][]byte{raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return string(b)
}

const uuidLen = 36

// parseUUID reads the canonical form: lower case, with dashes. A value that text could
// take for an unusual uid's number is not accepted.
func parseUUID(s string) (id uid, ok bool) {
	if len(s) != uuidLen || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return uid{}, false
	}
	digits := 0
	for i := range uuidLen {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c == '-' && (i == 8 || i == 13 || i == 18 || i == 23):
			continue
		default:
			return uid{}, false
		}
		if digits < 16 {
			id.hi = id.hi<<4 | uint64(c)
		} else {
			id.lo = id.lo<<4 | uint64(c)
		}
		digits++
	}
	return id, id.hi != 0
}
