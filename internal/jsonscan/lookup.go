package jsonscan

import (
	"bytes"
	"errors"
	"iter"
	"strings"
	"unicode/utf8"
)

// ErrTooDeep is the error for a value that nests deeper than the caller allows.
var ErrTooDeep = errors.New("JSON nests too deep")

// ValueWithin is Value for input of which arrays and objects may nest at most limit
// levels deep, the value itself included. Beyond that the error is ErrTooDeep.
func (s *Scanner) ValueWithin(limit int) (Range, error) {
	if _, err := s.Peek(); err != nil {
		return Range{}, err
	}
	start := s.pos
	if end := s.value(start, MaxDepth-limit); end >= 0 {
		s.pos = end
		return Range{start, end}, nil
	}
	var syntax *SyntaxError
	if errors.As(s.err, &syntax) && syntax.Msg == tooDeep {
		return Range{}, ErrTooDeep
	}
	return Range{}, s.err
}

// ValidWithin returns nil if b is exactly one value that nests at most limit levels
// deep, otherwise what is wrong with it.
func ValidWithin(b []byte, limit int) error {
	s := New(b)
	if _, err := s.ValueWithin(limit); err != nil {
		return err
	}
	return s.End()
}

// Object consumes an object. It calls visit with each key; visit must consume the value, which comes next.
func (s *Scanner) Object(visit func(key Str) error) error {
	more, err := s.EnterObject()
	for err == nil && more {
		var key Str
		if key, err = s.Key(); err != nil {
			break
		}
		if err = visit(key); err != nil {
			break
		}
		more, err = s.NextMember()
	}
	return err
}

// Members yields the members of a valid object in order: the key as it stands,
// quotes included, and the value. Anything but an object has none.
func Members(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		s := New(obj)
		if c, err := s.Peek(); err != nil || c != '{' {
			return
		}
		// Stopping early is the only error with valid input.
		_ = s.Object(func(key Str) error {
			value, err := s.Value()
			if err == nil && !yield(obj[key.Start-1:key.End+1], value.Of(obj)) {
				err = errStop
			}
			return err
		})
	}
}

// Elements yields the elements of a valid array in order. Anything but an array has none.
func Elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		s := New(array)
		if c, err := s.Peek(); err != nil || c != '[' {
			return
		}
		more, err := s.EnterArray()
		for err == nil && more {
			var at Range
			if at, err = s.Value(); err != nil || !yield(at.Of(array)) {
				return
			}
			more, err = s.NextElement()
		}
	}
}

var errStop = errors.New("iteration stopped")

// Lookup follows keys through nested objects of a valid value and returns the value they lead to, nil if they lead
// nowhere. Of equal keys the last one counts, as in encoding/json.
func Lookup(b []byte, keys ...string) []byte {
	for _, want := range keys {
		var found []byte
		for key, value := range Members(b) {
			if keyIs(key, want) {
				found = value
			}
		}
		if b = found; b == nil {
			return nil
		}
	}
	return b
}

// First returns the value at a path of keys, joined by dots, in a valid value; nil if it leads nowhere. It reads no
// further than it must, so of equal keys the first one counts: API servers write none twice.
func First(b []byte, path string) []byte {
	s := New(b)
	for name, rest, inner := strings.Cut(path, "."); s.seek(name); name, rest, inner = strings.Cut(rest, ".") {
		if !inner {
			at, err := s.Value()
			if err != nil {
				return nil
			}
			return at.Of(b)
		}
	}
	return nil
}

// seek enters an object and stops before the value of its first member of that name, if it has one.
func (s *Scanner) seek(name string) bool {
	if c, err := s.Peek(); err != nil || c != '{' {
		return false
	}
	more, err := s.EnterObject()
	for err == nil && more {
		var key Str
		if key, err = s.Key(); err != nil {
			break
		}
		if key.Is(s.b, name) {
			return true
		}
		if _, err = s.Value(); err == nil {
			more, err = s.NextMember()
		}
	}
	return false
}

// keyIs compares a quoted key with plain text.
func keyIs(quoted []byte, want string) bool {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner) == want
	}
	return Unquote(quoted) == want
}

// IsObject reports whether a valid value is an object.
func IsObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }

// IsString reports whether a valid value is a string.
func IsString(v []byte) bool { return len(v) > 0 && v[0] == '"' }

// Unquote returns a copy of the text of a valid string, "" for any other value.
// Bytes that are not UTF-8 become U+FFFD.
func Unquote(v []byte) string {
	s := New(v)
	str, err := s.String()
	if err != nil {
		return ""
	}
	text := str.Text(v)
	if !utf8.ValidString(text) {
		return string([]rune(text)) // a rune for each bad byte, as in encoding/json
	}
	return strings.Clone(text)
}
