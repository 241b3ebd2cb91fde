package ledger

import (
	"encoding/hex"
	"strings"
)

// ParseUUID packs a UUID in its usual text: lower case, with dashes. No other text is ok, so
// that FormatUUID gives back what was parsed.
func ParseUUID(s string) (id [16]byte, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' || strings.ContainsAny(s, "ABCDEF") {
		return id, false
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return [16]byte{}, false
	}
	return id, true
}

// FormatUUID is the text of a UUID.
func FormatUUID(id [16]byte) string {
	digits := hex.EncodeToString(id[:])
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}
