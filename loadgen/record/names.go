package record

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"unicode/utf8"
)

const (
	// maxCached bounds the cache of words, and cachedBytes the words in it: about 20 MiB.
	maxCached   = 1 << 17
	cachedBytes = 64
)

// The alphabets of symbols. A byte that is not ASCII becomes a letter.
const (
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits = "0123456789"
)

// symbol is one character by its place in its alphabet.
type symbol struct {
	value    uint32
	alphabet string
}

func symbolOf(c byte) symbol {
	for _, alphabet := range []string{lower, upper, digits} {
		if i := strings.IndexByte(alphabet, c); i >= 0 {
			return symbol{uint32(i), alphabet}
		}
	}
	return symbol{uint32(c) % 26, lower}
}

// names replaces words by words of the same shape, one to one. It is not safe for concurrent use.
//
// The permutation runs over a word forth and back, twice; each character is shifted by what a keyed function makes of
// its place and of all characters passed before in this run. Each run can be undone from its result, so no two words
// meet; after two runs each character depends on all others. Words are short, where the standard modes of
// format-preserving encryption want at least a million possible values and one radix.
type names struct {
	block cipher.Block
	cache map[string]string // of words outside the vocabulary
}

func newNames(salt []byte) names {
	key := sha256.Sum256(append([]byte("watchbench pseudonym\x00"), salt...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	return names{block, map[string]string{}}
}

func (n *names) permute(s []symbol) {
	for run := range 4 {
		var state [aes.BlockSize]byte
		binary.LittleEndian.PutUint32(state[:], uint32(run))
		binary.LittleEndian.PutUint32(state[4:], uint32(len(s)))
		n.block.Encrypt(state[:], state[:])
		for k := range s {
			i := k
			if run%2 == 1 {
				i = len(s) - 1 - k
			}
			radix := uint32(len(s[i].alphabet))
			// The alphabet is part of the state: shapes have permutations of their own.
			mix(&state, 0, radix|uint32(s[i].alphabet[0])<<8)
			n.block.Encrypt(state[:], state[:])
			shift := binary.LittleEndian.Uint64(state[8:]) % uint64(radix)
			s[i].value = (s[i].value + uint32(shift)) % radix
			mix(&state, 4, s[i].value+1)
		}
	}
}

func mix(state *[aes.BlockSize]byte, at int, v uint32) {
	b := state[at : at+4]
	binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)^v)
}

// text replaces the words of a text that are not to be kept.
func (n *names) text(text string, keep map[string]bool) string {
	var b strings.Builder
	b.Grow(len(text))
	for len(text) > 0 {
		i := strings.IndexFunc(text, func(r rune) bool { return r < utf8.RuneSelf && !isWord(byte(r)) })
		switch {
		case i < 0:
			i = len(text)
		case i == 0:
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		b.WriteString(n.word(text[:i], keep))
		text = text[i:]
	}
	return b.String()
}

// isWord reports whether c belongs to a word: letters, digits, and all bytes that are not ASCII.
func isWord(c byte) bool {
	return c >= utf8.RuneSelf || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func (n *names) word(word string, keep map[string]bool) string {
	if keep[word] {
		return word
	}
	if keep == nil || len(word) > cachedBytes {
		return n.replace(word, keep)
	}
	done, ok := n.cache[word]
	if !ok {
		if len(n.cache) >= maxCached {
			clear(n.cache)
		}
		done = n.replace(word, keep)
		n.cache[strings.Clone(word)] = done // word may share memory with an object
	}
	return done
}

func (n *names) replace(word string, keep map[string]bool) string {
	symbols := make([]symbol, len(word))
	ascii := true
	for i := range len(word) {
		symbols[i] = symbolOf(word[i])
		ascii = ascii && word[i] < utf8.RuneSelf
	}
	for {
		n.permute(symbols)
		// A word of the vocabulary maps to itself only. Going on from it to the next free one keeps the mapping one to
		// one, and ends: the way leads back to the word itself. Of a word with other characters it might not.
		if done := spelled(symbols); !ascii || !keep[done] {
			return done
		}
	}
}

func spelled(symbols []symbol) string {
	b := make([]byte, len(symbols))
	for i, s := range symbols {
		b[i] = s.alphabet[s.value]
	}
	return string(b)
}

// number replaces the digits of a JSON number, 4711 by 1823, since it may be a PIN. It remains valid: leading zeros,
// sign, point and exponent stay.
func (n *names) number(text string) string {
	mantissa := text[:len(text)-len(strings.TrimLeft(text, "-.0123456789"))]
	begin := len(mantissa) - len(strings.TrimLeft(mantissa, "-.0"))
	symbols := make([]symbol, len(mantissa))
	for i := range mantissa {
		switch c := mantissa[i]; {
		case i < begin || c == '.':
			symbols[i] = symbol{0, mantissa[i : i+1]}
		case i == begin:
			symbols[i] = symbol{uint32(c - '1'), digits[1:]}
		default:
			symbols[i] = symbolOf(c)
		}
	}
	n.permute(symbols)
	return spelled(symbols) + text[len(mantissa):]
}
