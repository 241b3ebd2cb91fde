package pseudonym

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
)

// filled is the multiple of bytes to which the length of a filler is rounded up, since it would
// be the length of a key or a password. Only the data of ConfigMaps keep their length.
const filled = 32

// filler makes texts that say nothing of the one for which they stand but whether it is
// the same.
type filler struct{ mac hash.Hash }

func newFiller(salt []byte) *filler {
	return &filler{hmac.New(sha256.New, append([]byte("watchbench filler\x00"), salt...))}
}

// append appends n characters of base64, a pattern of 40 that repeats: a filler takes
// little room in a compressed file, as text does. It has no padding, and is valid base64
// if n is a multiple of four.
func (f *filler) append(dst []byte, text string, n int) []byte {
	f.mac.Reset()
	f.mac.Write([]byte(text))
	var pattern [40]byte
	base64.StdEncoding.Encode(pattern[:], f.mac.Sum(nil)[:30])
	for n > 0 {
		k := min(n, len(pattern))
		dst = append(dst, pattern[:k]...)
		n -= k
	}
	return dst
}
