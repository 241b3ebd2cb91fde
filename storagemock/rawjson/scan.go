// Package rawjson reads JSON without decoding it: it validates a value in one
// pass, tells where its parts begin and end, and walks to a path. The mock keeps
// what it was sent as bytes; only the few fields it needs are ever looked at.
package rawjson

import (
	"errors"
	"fmt"
)

// MaxDepth is how deep objects and arrays may nest. The real server keeps
// documents in MongoDB, which refuses more than 100 levels.
const MaxDepth = 100

// SyntaxError says where the input stops being JSON.
type SyntaxError struct {
	Offset int    // byte, from 0
	Want   string // what would have been right there
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not valid JSON at byte %d: want %s", e.Offset, e.Want)
}

// ErrTooDeep is returned for input that nests deeper than MaxDepth.
var ErrTooDeep = errors.New("JSON nests deeper than 100 levels")

// Valid reports nil when b is exactly one JSON value.
func Valid(b []byte) error {
	end, err := Skip(b, skipSpace(b, 0), 0)
	if err != nil {
		return err
	}
	if end = skipSpace(b, end); end != len(b) {
		return &SyntaxError{end, "end of input"}
	}
	return nil
}

// Skip validates the value that starts at b[i] and returns the index after it.
// depth is the number of containers around it.
func Skip(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return i, &SyntaxError{i, "a value"}
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		return skipObject(b, i, depth+1)
	case c == '[':
		return skipArray(b, i, depth+1)
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(b, i)
	case c == 't':
		return skipWord(b, i, "true")
	case c == 'f':
		return skipWord(b, i, "false")
	case c == 'n':
		return skipWord(b, i, "null")
	}
	return i, &SyntaxError{i, "a value"}
}

func skipObject(b []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, ErrTooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		var err error
		if _, i, err = memberKey(b, i); err != nil {
			return i, err
		}
		if i, err = Skip(b, i, depth); err != nil {
			return i, err
		}
		var done bool
		if i, done, err = afterElement(b, i, '}'); err != nil || done {
			return i, err
		}
	}
}

func skipArray(b []byte, i, depth int) (int, error) {
	if depth > MaxDepth {
		return i, ErrTooDeep
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = Skip(b, i, depth); err != nil {
			return i, err
		}
		var done bool
		if i, done, err = afterElement(b, i, ']'); err != nil || done {
			return i, err
		}
	}
}

// memberKey reads `"key" :` and returns the key with its quotes and the index of
// the member's value.
func memberKey(b []byte, i int) (key []byte, next int, err error) {
	if i >= len(b) || b[i] != '"' {
		return nil, i, &SyntaxError{i, "a key in double quotes"}
	}
	end, err := skipString(b, i)
	if err != nil {
		return nil, end, err
	}
	key = b[i:end]
	i = skipSpace(b, end)
	if i >= len(b) || b[i] != ':' {
		return nil, i, &SyntaxError{i, "a colon after the key"}
	}
	return key, skipSpace(b, i+1), nil
}

// afterElement consumes what may follow an element: a comma (more follows) or
// the closing byte (done).
func afterElement(b []byte, i int, closing byte) (next int, done bool, err error) {
	i = skipSpace(b, i)
	if i >= len(b) {
		return i, false, &SyntaxError{i, "a comma or " + string(closing)}
	}
	switch b[i] {
	case ',':
		return skipSpace(b, i+1), false, nil
	case closing:
		return i + 1, true, nil
	}
	return i, false, &SyntaxError{i, "a comma or " + string(closing)}
}

// plain marks the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

func skipString(b []byte, i int) (int, error) {
	start := i
	for i++; i < len(b); {
		c := b[i]
		switch {
		case plain[c]:
			i++
		case c == '"':
			return i + 1, nil
		case c == '\\':
			n, err := escapeLen(b, i)
			if err != nil {
				return i, err
			}
			i += n
		default:
			return i, &SyntaxError{i, "no control character in a string"}
		}
	}
	return i, &SyntaxError{i, fmt.Sprintf("the end of the string that began at byte %d", start)}
}

// escapeLen is the length of the escape sequence at b[i].
func escapeLen(b []byte, i int) (int, error) {
	if i+1 >= len(b) {
		return 0, &SyntaxError{i, "a complete escape sequence"}
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
		if i+6 > len(b) {
			return 0, &SyntaxError{i, "four hexadecimal digits after \\u"}
		}
		for _, c := range b[i+2 : i+6] {
			if !isHex(c) {
				return 0, &SyntaxError{i, "four hexadecimal digits after \\u"}
			}
		}
		return 6, nil
	}
	return 0, &SyntaxError{i, "one of the escapes of JSON"}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func skipNumber(b []byte, i int) (int, error) {
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && b[i] >= '1' && b[i] <= '9':
		i = skipDigits(b, i)
	default:
		return i, &SyntaxError{i, "a digit"}
	}
	if i < len(b) && b[i] == '.' {
		if n := skipDigits(b, i+1); n > i+1 {
			i = n
		} else {
			return n, &SyntaxError{n, "a digit after the point"}
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		n := skipDigits(b, i)
		if n == i {
			return n, &SyntaxError{n, "a digit in the exponent"}
		}
		i = n
	}
	return i, nil
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

func skipWord(b []byte, i int, word string) (int, error) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, &SyntaxError{i, word}
	}
	return i + len(word), nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}
