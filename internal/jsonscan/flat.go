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
	f := flat{s: Scanner{b: line}}
	if !f.take('{') {
		return f.unexpected("an object")
	}
	if f.take('}') {
		return f.end()
	}
	for {
		key, err := f.key()
		if err != nil {
			return err
		}
		if !f.take(':') {
			return f.unexpected("a colon")
		}
		v, err := f.value()
		if err != nil {
			return err
		}
		if err := field(key, v); err != nil {
			return fmt.Errorf("field %q: %w", key, err)
		}
		if f.take(',') {
			continue
		}
		if f.take('}') {
			return f.end()
		}
		return f.unexpected("a comma or the end of the object")
	}
}

// Value is a member's value. Its methods read null as the zero value and report an
// error for any other type than their own.
type Value struct {
	kind byte   // the first byte
	text []byte // the decoded content of a string, anything else as it stands
}

var (
	errWantString = errors.New("want a string")
	errWantNumber = errors.New("want a whole number in range")
	errWantBool   = errors.New("want true or false")
)

// Raw is the decoded content of a string, or the JSON text of any other value.
func (v Value) Raw() []byte { return v.text }

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

// flat is Fields' position in the line.
type flat struct{ s Scanner }

// space passes white space. At the end of the line it stays there.
func (f *flat) space() {
	for f.s.pos < len(f.s.b) && isSpace(f.s.b[f.s.pos]) {
		f.s.pos++
	}
}

// take passes white space and consumes c if that is next.
func (f *flat) take(c byte) bool {
	f.space()
	if f.s.pos < len(f.s.b) && f.s.b[f.s.pos] == c {
		f.s.pos++
		return true
	}
	return false
}

func (f *flat) end() error {
	f.space()
	if f.s.pos < len(f.s.b) {
		return f.unexpected("the end of the line")
	}
	return nil
}

func (f *flat) key() ([]byte, error) {
	f.space()
	if f.s.pos == len(f.s.b) || f.s.b[f.s.pos] != '"' {
		return nil, f.unexpected("a field name in quotes")
	}
	return f.str()
}

func (f *flat) value() (Value, error) {
	f.space()
	start := f.s.pos
	if start == len(f.s.b) {
		return Value{}, f.unexpected("a value")
	}
	kind := f.s.b[start]
	if kind == '"' {
		text, err := f.str()
		return Value{kind, text}, err
	}
	next := f.s.value(start, 0)
	if next < 0 {
		return Value{}, f.explain(start)
	}
	f.s.pos = next
	return Value{kind, f.s.b[start:next]}, nil
}

// str consumes the string that starts at the next byte.
func (f *flat) str() ([]byte, error) {
	start := f.s.pos
	f.s.esc = false
	next := f.s.str(start + 1)
	if next < 0 {
		return nil, f.explain(start)
	}
	f.s.pos = next
	if f.s.esc {
		return []byte(Str{Range{start + 1, next - 1}, true}.Text(f.s.b)), nil
	}
	return f.s.b[start+1 : next-1], nil
}

// explain puts the scanner's error about the value that starts at start in terms
// of columns.
func (f *flat) explain(start int) error {
	var syntax *SyntaxError
	if errors.As(f.s.err, &syntax) {
		return fmt.Errorf("column %d: %s", syntax.Offset+1, syntax.Msg)
	}
	return fmt.Errorf("column %d: the value does not end", start+1)
}

// unexpected reports the next byte, or the end of the line, in the place of want.
func (f *flat) unexpected(want string) error {
	if f.s.pos == len(f.s.b) {
		return fmt.Errorf("the line ends where %s should stand", want)
	}
	return fmt.Errorf("column %d: %q where %s should stand", f.s.pos+1, f.s.b[f.s.pos], want)
}
