package jsonscan

import (
	"encoding/json"
	"errors"
	"fmt"
	"unsafe"
)

// MaxDepth is the deepest nesting of arrays and objects that is accepted, the same as encoding/json's.
const MaxDepth = 10000

// ErrUnexpectedEnd says that the text ends inside a value: reading more may help, whereas a SyntaxError is final.
var ErrUnexpectedEnd = errors.New("unexpected end of JSON")

// SyntaxError is text that no continuation can turn into JSON.
type SyntaxError struct {
	Offset int    // in bytes from the start of the text
	Msg    string // what is there and what should be
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Msg)
}

// Range is a stretch of the scanned text, End exclusive. The zero Range is
// "absent": no value of a larger document starts at byte 0.
type Range struct{ Start, End int }

// Empty reports whether r holds no bytes.
func (r Range) Empty() bool { return r.End <= r.Start }

// Of is the part of b that r describes. It shares memory with b.
func (r Range) Of(b []byte) []byte { return b[r.Start:r.End] }

// Str is a string token: the range between the quotes.
type Str struct {
	Range
	Escaped bool // holds at least one backslash
}

// Is reports whether the string equals want.
func (s Str) Is(b []byte, want string) bool {
	if !s.Escaped {
		return string(b[s.Start:s.End]) == want
	}
	return s.Text(b) == want
}

// Text is the decoded string. Without escapes it shares memory with b, which
// must then not be written to for as long as the string is in use.
func (s Str) Text(b []byte) string {
	if s.End == s.Start {
		return ""
	}
	if !s.Escaped {
		return unsafe.String(&b[s.Start], s.End-s.Start)
	}
	var text string
	// The token has passed the scanner, so this cannot fail.
	if err := json.Unmarshal(b[s.Start-1:s.End+1], &text); err != nil {
		return ""
	}
	return text
}

// bytes is Text as bytes.
func (s Str) bytes(b []byte) []byte {
	if !s.Escaped {
		return s.Of(b)
	}
	return []byte(s.Text(b))
}

// Scanner is a position in a text. The zero Scanner reads an empty text; use New.
type Scanner struct {
	b      []byte
	pos    int
	spaced bool
	esc    bool
	err    error
}

// New starts at the first byte of b.
func New(b []byte) Scanner { return Scanner{b: b} }

// At starts at byte pos of b.
func At(b []byte, pos int) Scanner { return Scanner{b: b, pos: pos} }

// Pos is the offset of the next byte.
func (s *Scanner) Pos() int { return s.pos }

// Spaced reports whether white space was passed between tokens so far, that is, whether the text is not compact.
func (s *Scanner) Spaced() bool { return s.spaced }

// Peek passes white space and returns the next byte without consuming it.
func (s *Scanner) Peek() (byte, error) {
	for s.pos < len(s.b) {
		c := s.b[s.pos]
		if c > ' ' {
			return c, nil
		}
		if !isSpace(c) {
			s.bad(s.pos, misplaced)
			return 0, s.err
		}
		s.spaced = true
		s.pos++
	}
	return 0, ErrUnexpectedEnd
}

var tokens = [...]string{
	'"': "a string", ':': "a colon", ',': "a comma",
	'[': "an array", '{': "an object", ']': "the end of the array", '}': "the end of the object",
}

// Expect passes white space and consumes the byte want.
func (s *Scanner) Expect(want byte) error {
	c, err := s.Peek()
	if err != nil {
		return err
	}
	if c != want {
		s.unexpected(s.pos, tokens[want])
		return s.err
	}
	s.pos++
	return nil
}

// String consumes a string.
func (s *Scanner) String() (Str, error) { return s.string(tokens['"']) }

// name is String for a member's key.
func (s *Scanner) name() (Str, error) { return s.string(fieldName) }

const fieldName = "a field name in quotes"

func (s *Scanner) string(want string) (Str, error) {
	c, err := s.Peek()
	if err != nil {
		return Str{}, err
	}
	if c != '"' {
		s.unexpected(s.pos, want)
		return Str{}, s.err
	}
	start := s.pos + 1
	s.esc = false
	end := s.str(start)
	if end < 0 {
		return Str{}, s.err
	}
	s.pos = end
	return Str{Range{start, end - 1}, s.esc}, nil
}

// Value consumes one value of any type and returns where it lies.
func (s *Scanner) Value() (Range, error) {
	if _, err := s.Peek(); err != nil {
		return Range{}, err
	}
	start := s.pos
	end := s.value(start, 0)
	if end < 0 {
		return Range{}, s.err
	}
	s.pos = end
	return Range{start, end}, nil
}

// EnterObject consumes the opening brace and reports whether a member follows; if
// none does, the closing brace is consumed too.
func (s *Scanner) EnterObject() (more bool, err error) { return s.enter('{', '}') }

// EnterArray is EnterObject for an array.
func (s *Scanner) EnterArray() (more bool, err error) { return s.enter('[', ']') }

func (s *Scanner) enter(opening, closing byte) (bool, error) {
	if err := s.Expect(opening); err != nil {
		return false, err
	}
	c, err := s.Peek()
	if err != nil {
		return false, err
	}
	if c == closing {
		s.pos++
		return false, nil
	}
	return true, nil
}

// Key consumes a member's key and the colon.
func (s *Scanner) Key() (Str, error) {
	key, err := s.name()
	if err != nil {
		return key, err
	}
	return key, s.Expect(':')
}

// NextMember consumes the comma behind a member and returns true, or the closing brace and returns false.
func (s *Scanner) NextMember() (more bool, err error) { return s.next('}') }

// NextElement is NextMember for an array.
func (s *Scanner) NextElement() (more bool, err error) { return s.next(']') }

func (s *Scanner) next(closing byte) (bool, error) {
	c, err := s.Peek()
	if err != nil {
		return false, err
	}
	switch c {
	case ',':
		s.pos++
		return true, nil
	case closing:
		s.pos++
		return false, nil
	}
	s.unclosed(s.pos, tokens[closing])
	return false, s.err
}

// End passes white space and fails if anything else is left.
func (s *Scanner) End() error {
	_, err := s.Peek()
	if err == nil {
		s.unexpected(s.pos, "the end of the text")
		return s.err
	}
	if errors.Is(err, ErrUnexpectedEnd) {
		return nil
	}
	return err
}
