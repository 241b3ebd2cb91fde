package jsonscan

import (
	"errors"
	"fmt"
)

// Fields reads one JSON object, such as a line of a recorded file, and calls field
// for each member in order, repeated keys included. Nested values are checked and
// handed over as they stand. key and v share memory with line unless they hold
// escapes, and are valid only during the call.
//
// An error in the text names the column, counted from 1, and what belongs there;
// an error of field is wrapped with the member's key and ends the reading.
func Fields(line []byte, field func(key []byte, v Value) error) error {
	s := New(line)
	if err := s.Expect('{'); err != nil {
		return s.column(err, tokens['{'])
	}
	c, err := s.Peek()
	more := err != nil || c != '}'
	if !more {
		s.pos++
	}
	for more {
		key, err := s.name()
		if err != nil {
			return s.column(err, fieldName)
		}
		if err := s.Expect(':'); err != nil {
			return s.column(err, tokens[':'])
		}
		s.esc = false
		at, err := s.Value()
		if err != nil {
			return s.column(err, "a value")
		}
		v := Value{kind: line[at.Start], text: at.Of(line)}
		if v.kind == '"' {
			v.text = Str{Range{at.Start + 1, at.End - 1}, s.esc}.bytes(line)
		}
		if err := field(key.bytes(line), v); err != nil {
			return fmt.Errorf("field %q: %w", key.bytes(line), err)
		}
		if more, err = s.NextMember(); err != nil {
			return s.column(err, "a comma or "+tokens['}'])
		}
	}
	if _, err := s.Peek(); err == nil {
		s.unexpected(s.pos, "the end of the line")
		return s.column(s.err, "")
	} else if !errors.Is(err, ErrUnexpectedEnd) {
		return s.column(err, "")
	}
	return nil
}

// column restates an error in terms of columns; want names what the line may lack.
func (s *Scanner) column(err error, want string) error {
	var syntax *SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("column %d: %s", syntax.Offset+1, syntax.Msg)
	case s.pos < len(s.b):
		return fmt.Errorf("column %d: the value does not end", s.pos+1)
	}
	return fmt.Errorf("the line ends where %s should stand", want)
}

// Value is a member's value. Its methods read null as the zero value and report an
// error for any other type than their own.
type Value struct {
	kind byte   // the first byte
	text []byte // the decoded content of a string, anything else as it stands
}

var (
	errWantObject = errors.New("want an object")
	errWantString = errors.New("want a string")
	errWantNumber = errors.New("want a whole number in range")
	errWantBool   = errors.New("want true or false")
)

// Raw is the decoded content of a string, or the JSON text of any other value.
func (v Value) Raw() []byte { return v.text }

// Object returns the JSON text of an object.
func (v Value) Object() ([]byte, error) {
	switch v.kind {
	case '{':
		return v.text, nil
	case 'n':
		return nil, nil
	}
	return nil, errWantObject
}

// Text returns a string from in, so that repeated ones share memory.
func (v Value) Text(in *Interner) (string, error) {
	switch v.kind {
	case '"':
		return in.Get(v.text), nil
	case 'n':
		return "", nil
	}
	return "", errWantString
}

// Uint returns a number without sign, fraction and exponent.
func (v Value) Uint() (uint64, error) {
	if v.kind == 'n' {
		return 0, nil
	}
	if v.kind < '0' || v.kind > '9' {
		return 0, errWantNumber
	}
	var n uint64
	for _, c := range v.text {
		if c < '0' || c > '9' {
			return 0, errWantNumber
		}
		d := uint64(c - '0')
		if n > (1<<64-1-d)/10 {
			return 0, errWantNumber
		}
		n = n*10 + d
	}
	return n, nil
}

// Int returns a number without fraction and exponent.
func (v Value) Int() (int64, error) {
	if v.kind == '-' { // a digit follows, the scanner has seen to that
		n, err := Value{kind: v.text[1], text: v.text[1:]}.Uint()
		if err != nil || n > 1<<63 {
			return 0, errWantNumber
		}
		return -int64(n), nil
	}
	n, err := v.Uint()
	if err != nil || n > 1<<63-1 {
		return 0, errWantNumber
	}
	return int64(n), nil
}

// Bool returns true or false.
func (v Value) Bool() (bool, error) {
	switch v.kind {
	case 't':
		return true, nil
	case 'f', 'n':
		return false, nil
	}
	return false, errWantBool
}
