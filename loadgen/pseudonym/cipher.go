package pseudonym

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
)

// permutation maps sequences of symbols to sequences of the same radices, one to one.
//
// It runs over the sequence forth and back, several times; each symbol is shifted by what
// a keyed function makes of its place and of all symbols passed before in this run. Each
// run can be undone from its result, so no two sequences meet; after two runs each symbol
// depends on all others. Sequences here are short (names), where the standard modes of
// format-preserving encryption want at least a million possible values and one radix.
type permutation struct{ block cipher.Block }

// runs is twice forth and twice back.
const runs = 4

func newPermutation(salt []byte) *permutation {
	key := sha256.Sum256(append([]byte("watchbench pseudonym\x00"), salt...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	return &permutation{block}
}

// apply permutes s in place.
func (p *permutation) apply(s []symbol) {
	for run := range runs {
		var state [aes.BlockSize]byte
		binary.LittleEndian.PutUint32(state[:], uint32(run))
		binary.LittleEndian.PutUint32(state[4:], uint32(len(s)))
		p.block.Encrypt(state[:], state[:])
		for k := range s {
			i := k
			if run%2 == 1 {
				i = len(s) - 1 - k
			}
			// The radix is part of the state: patterns have permutations of their own.
			mix(&state, 0, s[i].radix)
			p.block.Encrypt(state[:], state[:])
			shift := binary.LittleEndian.Uint64(state[8:]) % uint64(s[i].radix)
			s[i].value = (s[i].value + uint32(shift)) % s[i].radix
			mix(&state, 4, s[i].value+1)
		}
	}
}

func mix(state *[aes.BlockSize]byte, at int, v uint32) {
	b := state[at : at+4]
	binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)^v)
}
