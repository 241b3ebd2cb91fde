package pseudonym

import (
	"strconv"
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
	lower     = "abcdefghijklmnopqrstuvwxyz"
	upper     = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits    = "0123456789"
	hexDigits = "0123456789abcdef"
)

// symbol is one character as a digit of its class: 0 ≤ value < radix. It stands for that one of its alphabet, or
// without one for the number least+value.
type symbol struct {
	value, radix uint32
	alphabet     string
	least        uint32
}

func (s symbol) append(dst []byte) []byte {
	if s.alphabet != "" {
		return append(dst, s.alphabet[s.value])
	}
	return strconv.AppendUint(dst, uint64(s.least+s.value), 10)
}

func of(alphabet string, value byte) symbol {
	return symbol{value: uint32(value), radix: uint32(len(alphabet)), alphabet: alphabet}
}

// fixed is a character of text that stays.
func fixed(text string, i int) symbol { return symbol{radix: 1, alphabet: text[i : i+1]} }

func alphanumeric(c byte) symbol {
	switch {
	case c >= '0' && c <= '9':
		return of(digits, c-'0')
	case c >= 'A' && c <= 'Z':
		return of(upper, c-'A')
	case c >= 'a' && c <= 'z':
		return of(lower, c-'a')
	}
	return of(lower, c%26)
}

func hexadecimal(c byte) symbol {
	if c >= 'A' {
		return of(hexDigits, c|0x20-'a'+10)
	}
	return of(hexDigits, c-'0')
}

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

// spell makes the symbols of n characters.
func (w *words) spell(n int, symbolAt func(i int) symbol) {
	w.symbols = w.symbols[:0]
	for i := range n {
		w.symbols = append(w.symbols, symbolAt(i))
	}
}

// permuted appends what becomes of the symbols.
func (w *words) permuted(dst []byte) []byte {
	w.permutation.apply(w.symbols)
	for _, s := range w.symbols {
		dst = s.append(dst)
	}
	return dst
}

// appendText appends text with its words replaced.
func (w *words) appendText(dst []byte, text string) []byte {
	for len(text) > 0 {
		word, n := isWord(text[0]), 0
		if word || strings.HasPrefix(text, "::") {
			if n = uidLen(text); n > 0 {
				dst, text = w.appendUID(dst, text[:n]), text[n:]
				continue
			}
			if n = addressLen(text); n > 0 {
				n += maskLen(text[n:])
				dst, text = w.appendAddress(dst, text[:n]), text[n:]
				continue
			}
		}
		for n < len(text) && isWord(text[n]) {
			n++
		}
		if n > 0 {
			dst, text = w.appendWord(dst, text[:n]), text[n:]
			continue
		}
		dst, text = append(dst, text[0]), text[1:]
	}
	return dst
}

// isWord reports whether c belongs to a word: letters, digits, and all bytes that are not ASCII.
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
		w.cache[strings.Clone(word)] = done // word may share memory with an object
	}
	return append(dst, done...)
}

// replace returns the pseudonym, valid until the next call.
func (w *words) replace(word string) []byte {
	digest, class := isDigest(word), alphanumeric
	if digest {
		class = hexadecimal
	}
	ascii := strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	w.spell(len(word), func(i int) symbol { return class(word[i]) })
	for {
		w.buf = w.permuted(w.buf[:0])
		// A word of the vocabulary stands for itself only, and a digest for a digest. Going on from it to the next free
		// one keeps the mapping one to one, and ends: the way leads back to the word itself. Of a word with other
		// characters it might not.
		if !ascii || !w.kept(string(w.buf)) && isDigest(string(w.buf)) == digest {
			return w.buf
		}
	}
}

// appendNumber replaces the digits of a JSON number, 4711 by 1823, since it may be a PIN. It remains valid: leading
// zeros, sign, point and exponent stay, as do true, false and null.
func (w *words) appendNumber(dst []byte, text string) []byte {
	mantissa := text[:len(text)-len(strings.TrimLeft(text, "-.0123456789"))]
	first := true
	w.spell(len(mantissa), func(i int) symbol {
		switch c := mantissa[i]; {
		case c < '0' || c == '0' && first:
			return fixed(mantissa, i)
		case first:
			first = false
			return of(digits[1:], c-'1')
		default:
			return of(digits, c-'0')
		}
	})
	return append(w.permuted(dst), text[len(mantissa):]...)
}

// isDigest reports whether a word is one of hexadecimal digits, as those of containers and images.
func isDigest(word string) bool { return len(word) >= 12 && strings.Trim(word, hexDigits) == "" }
