package jsonscan

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

var errUnknown = errors.New("unknown field")

// Decode reads one JSON object, such as a line of a recorded file. For each member, in order and repeated ones
// included, field returns the variable to set: a *string (interned by in), *bool, *int (32 bits), *int64 or *uint64,
// all zero for null; or a *[]byte for the JSON of any value, nil for null. That JSON and key may share memory with
// line. nil means that the member is unknown, which is an error.
//
// An error in the text names the column, counted from 1; one in a value names its member.
func Decode(line []byte, in *Interner, field func(key []byte) any) error {
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
		if err := set(field(key.bytes(line)), at.Of(line), s.esc, in); err != nil {
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

var (
	errWantString = errors.New("want a string")
	errWantNumber = errors.New("want a whole number in range")
	errWantBool   = errors.New("want true or false")
)

// set stores a value, which holds escapes if it is a string and esc is set.
func set(to any, v []byte, esc bool, in *Interner) (err error) {
	null := v[0] == 'n'
	switch p := to.(type) {
	case *string:
		if *p = ""; v[0] == '"' {
			*p = in.Get(Str{Range{1, len(v) - 1}, esc}.bytes(v))
		} else if !null {
			err = errWantString
		}
	case *bool:
		if *p = v[0] == 't'; !null && !*p && v[0] != 'f' {
			err = errWantBool
		}
	case *[]byte:
		if *p = v; null {
			*p = nil
		}
	case *int:
		var n int64
		n, err = signed(v, 32)
		*p = int(n)
	case *int64:
		*p, err = signed(v, 64)
	case *uint64:
		*p, err = unsigned(v)
	case nil:
		err = errUnknown
	default:
		panic(fmt.Sprintf("jsonscan: %T cannot hold a member", p))
	}
	return err
}

// signed reads a whole number of so many bits; null is 0.
func signed(v []byte, bits int) (int64, error) {
	sign := int64(1)
	if v[0] == '-' {
		sign, v = -1, v[1:]
	}
	n, err := unsigned(v)
	if err != nil || n > 1<<(bits-1)-1 && (sign > 0 || n > 1<<(bits-1)) {
		return 0, errWantNumber
	}
	return sign * int64(n), nil
}

// unsigned reads a whole number that is not below 0; null is 0. A record is mostly numbers: this takes half the time of
// strconv with its string.
func unsigned(v []byte) (n uint64, err error) {
	if v[0] == 'n' {
		return 0, nil
	}
	if len(v) > 19 { // it may not fit
		if n, err = strconv.ParseUint(string(v), 10, 64); err != nil {
			return 0, errWantNumber
		}
		return n, nil
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, errWantNumber
		}
		n = n*10 + uint64(c-'0')
	}
	return n, nil
}

// FieldsOf returns, for Decode, the fields of the struct that record points to, by their names in JSON. It is fastest
// for members in the struct's order.
func FieldsOf(record any) func(key []byte) any {
	v := reflect.ValueOf(record).Elem()
	names, fields, next := make([]string, v.NumField()), make([]any, v.NumField()), 0
	for i := range fields {
		field := v.Field(i).Addr()
		if v.Field(i).Kind() == reflect.String {
			field = field.Convert(reflect.TypeFor[*string]())
		}
		names[i], _, _ = strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		fields[i] = field.Interface()
	}
	return func(key []byte) any {
		for range names {
			if next == len(names) {
				next = 0
			}
			if next++; names[next-1] == string(key) {
				return fields[next-1]
			}
		}
		return nil
	}
}
