package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// The functions below return the offset behind what they passed, or -1 with
// s.err set: one register instead of three on the hot path.

func (s *Scanner) bad(at int, msg string) int {
	s.err = &SyntaxError{Offset: at, Msg: msg}
	return -1
}

// unexpected reports the byte at i in the place of want.
func (s *Scanner) unexpected(i int, want string) int {
	return s.bad(i, fmt.Sprintf("%q where %s should stand", s.b[i], want))
}

// unclosed reports the byte at i in the place of a comma or a closing bracket.
func (s *Scanner) unclosed(i int, end string) int {
	if c := s.b[i]; c == '}' || c == ']' {
		return s.unexpected(i, "the matching bracket")
	}
	return s.unexpected(i, "a comma or "+end)
}

func (s *Scanner) short() int {
	s.err = ErrUnexpectedEnd
	return -1
}

// misplaced is the message of space and Peek: with a call to make a better one they
// would be too large to be inlined, and scanning half as fast again.
const misplaced = "a control character between tokens"

const tooDeep = "nested too deeply"

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// space passes white space from i and stops at the first other byte.
func (s *Scanner) space(i int) int {
	for i < len(s.b) {
		c := s.b[i]
		if c > ' ' {
			return i
		}
		if !isSpace(c) {
			return s.bad(i, misplaced)
		}
		s.spaced = true
		i++
	}
	return s.short()
}

func (s *Scanner) value(i, depth int) int {
	if i = s.space(i); i < 0 {
		return -1
	}
	switch c := s.b[i]; {
	case c == '"':
		return s.str(i + 1)
	case c == '{':
		return s.members(i+1, depth+1, '}')
	case c == '[':
		return s.members(i+1, depth+1, ']')
	case c == 't':
		return s.word(i, "true")
	case c == 'f':
		return s.word(i, "false")
	case c == 'n':
		return s.word(i, "null")
	case c == '-' || c >= '0' && c <= '9':
		return s.number(i)
	default:
		return s.unexpected(i, "a value")
	}
}

// members skips the contents of an object or an array, and its end, '}' or ']', from
// the byte behind the opening bracket.
func (s *Scanner) members(i, depth int, end byte) int {
	if depth > MaxDepth {
		return s.bad(i, tooDeep)
	}
	if i = s.space(i); i < 0 {
		return -1
	}
	if s.b[i] == end {
		return i + 1
	}
	for {
		if end == '}' {
			if i = s.space(i); i < 0 {
				return -1
			}
			if s.b[i] != '"' {
				return s.unexpected(i, fieldName)
			}
			if i = s.str(i + 1); i < 0 {
				return -1
			}
			if i >= len(s.b) || s.b[i] != ':' {
				if i = s.space(i); i < 0 {
					return -1
				}
				if s.b[i] != ':' {
					return s.unexpected(i, "a colon")
				}
			}
			i++
		}
		if i = s.value(i, depth); i < 0 {
			return -1
		}
		if i = s.space(i); i < 0 {
			return -1
		}
		switch s.b[i] {
		case ',':
			i++
		case end:
			return i + 1
		default:
			return s.unclosed(i, tokens[end])
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// str passes a string's content and its closing quote, from the byte behind the opening quote. Eight bytes at a time:
// a byte below 0x20, a quote or a backslash sets the high bit of its lane. Borrows spoil only lanes above the lowest
// hit, which is the one that counts.
func (s *Scanner) str(i int) int {
	b := s.b
	for {
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			q := w ^ ones*'"'
			e := w ^ ones*'\\'
			hit := ((w-ones*0x20)&^w | (q-ones)&^q | (e-ones)&^e) & highs
			if hit == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(hit) >> 3
			break
		}
		if i >= len(b) {
			return s.short()
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			s.esc = true
			if i = s.escape(i); i < 0 {
				return -1
			}
		case c < 0x20:
			return s.unexpected(i, "the rest of a string")
		default: // among the last seven bytes of the text
			i++
		}
	}
}

func (s *Scanner) escape(i int) int {
	b := s.b
	if i+1 >= len(b) {
		return s.short()
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if k >= len(b) {
				return s.short()
			}
			if c := b[k] | 0x20; (c < '0' || c > '9' || b[k] < '0') && (c < 'a' || c > 'f') {
				return s.unexpected(k, "a hexadecimal digit")
			}
		}
		return i + 6
	}
	return s.unexpected(i+1, "an escape sequence")
}

func (s *Scanner) word(i int, want string) int {
	for k := range len(want) {
		if i+k >= len(s.b) {
			return s.short()
		}
		if s.b[i+k] != want[k] {
			return s.bad(i, "'"+want[:1]+"' where "+want+" should stand") // cheap enough to inline
		}
	}
	return i + len(want)
}

func (s *Scanner) number(i int) int {
	b := s.b
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return s.short()
	case b[i] == '0':
		i++
	case !digits():
		return s.unexpected(i, "a digit")
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return s.noDigit(i)
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return s.noDigit(i)
		}
	}
	return i
}

func (s *Scanner) noDigit(i int) int {
	if i >= len(s.b) {
		return s.short()
	}
	return s.unexpected(i, "a digit")
}
