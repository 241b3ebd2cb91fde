package pseudonym

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxCached bounds the cache of words, and cachedBytes the words in it: about 20 MiB.
	maxCached   = 1 << 17
	cachedBytes = 64
)

// words replaces the words of texts. It is not safe for concurrent use.
type words struct {
	permutation *permutation
	keep        map[string]struct{} // never written to
	cache       map[string]string
	symbols     []symbol
	buf         []byte
}

func newWords(p *permutation, keep map[string]struct{}) *words {
	return &words{permutation: p, keep: keep, cache: map[string]string{}}
}

// appendText appends text with its words replaced.
func (w *words) appendText(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		rest := text[i:]
		word := isWord(text[i])
		n := 0
		if word {
			if n = uidLen(rest); n > 0 {
				dst, i = w.appendUID(dst, rest[:n]), i+n
				continue
			}
		}
		if word || strings.HasPrefix(rest, "::") {
			if n = addressLen(rest); n > 0 {
				n += maskLen(rest[n:])
				dst, i = w.appendAddress(dst, rest[:n]), i+n
				continue
			}
		}
		for n < len(rest) && isWord(rest[n]) {
			n++
		}
		if n > 0 {
			dst, i = w.appendWord(dst, rest[:n]), i+n
			continue
		}
		dst = append(dst, text[i])
		i++
	}
	return dst
}

// isWord reports whether c belongs to a word: letters, digits, and all bytes that are
// not ASCII.
func isWord(c byte) bool {
	return c >= utf8.RuneSelf || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func (w *words) kept(word string) bool {
	_, ok := w.keep[word]
	return ok
}

func (w *words) appendWord(dst []byte, word string) []byte {
	if w.kept(word) {
		return append(dst, word...)
	}
	if len(word) > cachedBytes {
		return append(dst, w.replace(word)...)
	}
	done, ok := w.cache[word]
	if !ok {
		if len(w.cache) >= maxCached {
			clear(w.cache)
		}
		done = string(w.replace(word))
		w.cache[string([]byte(word))] = done // word may share memory with an object
	}
	return append(dst, done...)
}

// replace returns the pseudonym, valid until the next call.
func (w *words) replace(word string) []byte {
	letters, digest := alphanumeric, isDigest(word)
	if digest {
		letters = hexadecimal
	}
	w.symbols = w.symbols[:0]
	ascii := true
	for i := 0; i < len(word); {
		ascii = ascii && word[i] < utf8.RuneSelf
		s, size := letters(word[i:])
		w.symbols, i = append(w.symbols, s), i+size
	}
	for {
		w.permutation.apply(w.symbols)
		w.buf = w.buf[:0]
		for i, k := 0, 0; i < len(word); k++ {
			var size int
			w.buf, size = appendSymbol(w.buf, word[i:], w.symbols[k])
			i += size
		}
		// A word of the vocabulary stands for itself only, and a digest for a digest. Going on from it to the next
		// free one keeps the mapping one to one, and ends: the way leads back to the word
		// itself. Of a word with other characters it might not.
		if !ascii || !w.kept(string(w.buf)) && isDigest(string(w.buf)) == digest {
			return w.buf
		}
	}
}

// appendNumber replaces the digits of a JSON number, 4711 by 1823, since it may be a PIN. It
// remains valid: leading zeros, sign, point and exponent stay, as do true, false and null.
func (w *words) appendNumber(dst []byte, text string) []byte {
	mantissa := text[:len(text)-len(strings.TrimLeft(text, "-.0123456789"))]
	w.symbols = w.symbols[:0]
	first := true
	for _, c := range []byte(mantissa) {
		s := symbol{0, 1}
		switch {
		case c < '0' || c == '0' && first:
		case first:
			s, first = symbol{uint32(c - '1'), 9}, false
		default:
			s = symbol{uint32(c - '0'), 10}
		}
		w.symbols = append(w.symbols, s)
	}
	w.permutation.apply(w.symbols)
	for i, s := range w.symbols {
		c := mantissa[i]
		if s.radix > 1 {
			c = byte('0' + 10 - s.radix + s.value)
		}
		dst = append(dst, c)
	}
	return append(dst, text[len(mantissa):]...)
}

// isDigest reports whether a word is one of hexadecimal digits, as those of containers
// and images.
func isDigest(word string) bool {
	if len(word) < 12 {
		return false
	}
	for i := range len(word) {
		if c := word[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Other characters than ASCII's become ones of the same number of bytes. These are not
// in names, so it does not matter that two may meet.
const (
	cyrillic, cyrillics = 0x430, 32
	han, hans           = 0x4E00, 20000
	symbolsFrom, wide   = 0x1F300, 256
	hexRadix            = 16
	hexDigits           = "0123456789abcdef"
)

// alphanumeric is the first character of text as a symbol, and its size.
func alphanumeric(text string) (symbol, int) {
	switch c := text[0]; {
	case c >= 'a' && c <= 'z':
		return symbol{uint32(c - 'a'), 26}, 1
	case c >= 'A' && c <= 'Z':
		return symbol{uint32(c - 'A'), 26}, 1
	case c >= '0' && c <= '9':
		return symbol{uint32(c - '0'), 10}, 1
	}
	r, size := utf8.DecodeRuneInString(text)
	switch size {
	case 2:
		return symbol{uint32(r) % cyrillics, cyrillics}, 2
	case 3:
		return symbol{uint32(r) % hans, hans}, 3
	case 4:
		return symbol{uint32(r) % wide, wide}, 4
	}
	return symbol{uint32(text[0]) % 26, 26}, 1 // not UTF-8
}

func hexadecimal(text string) (symbol, int) { return symbol{hexValue(text[0]), hexRadix}, 1 }

func hexValue(c byte) uint32 {
	if c >= 'A' {
		return uint32(c|0x20-'a') + 10
	}
	return uint32(c - '0')
}

// appendSymbol appends s in the place of the first character of text, of which it returns
// the size.
func appendSymbol(dst []byte, text string, s symbol) ([]byte, int) {
	c := text[0]
	switch {
	case s.radix == hexRadix:
		return append(dst, hexDigits[s.value]), 1
	case c >= '0' && c <= '9':
		return append(dst, '0'+byte(s.value)), 1
	case c >= 'A' && c <= 'Z':
		return append(dst, 'A'+byte(s.value)), 1
	case c < utf8.RuneSelf:
		return append(dst, 'a'+byte(s.value)), 1
	}
	_, size := utf8.DecodeRuneInString(text)
	switch s.radix {
	case cyrillics:
		return utf8.AppendRune(dst, cyrillic+rune(s.value)), size
	case hans:
		return utf8.AppendRune(dst, han+rune(s.value)), size
	case wide:
		return utf8.AppendRune(dst, symbolsFrom+rune(s.value)), size
	}
	return append(dst, 'a'+byte(s.value)), 1
}
