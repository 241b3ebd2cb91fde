package rawjson

import (
	"encoding/json"
	"iter"
	"strconv"
)

// Kind is the type of a value, told by its first byte.
type Kind byte

// The types of JSON.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// KindOf tells the type of a value.
func KindOf(v []byte) Kind {
	if len(v) == 0 {
		return Invalid
	}
	switch c := v[0]; {
	case c == '{':
		return Object
	case c == '[':
		return Array
	case c == '"':
		return String
	case c == 'n':
		return Null
	case c == 't' || c == 'f':
		return Bool
	case c == '-' || c >= '0' && c <= '9':
		return Number
	}
	return Invalid
}

// Members yields the members of a valid object, key unquoted, in their order.
// Anything but an object has none.
func Members(obj []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for key, val := range RawMembers(obj) {
			if !yield(Unquote(key), val) {
				return
			}
		}
	}
}

// RawMembers is Members with the keys as they stand, quotes included.
func RawMembers(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
		if KindOf(obj) != Object {
			return
		}
		i := skipSpace(obj, 1)
		for i < len(obj) && obj[i] != '}' {
			key, start, err := memberKey(obj, i)
			if err != nil {
				return
			}
			end, err := Skip(obj, start, 0)
			if err != nil || !yield(key, obj[start:end]) {
				return
			}
			next, done, err := afterElement(obj, end, '}')
			if err != nil || done {
				return
			}
			i = next
		}
	}
}

// Elements yields the elements of a valid array. Anything but an array has none.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if KindOf(arr) != Array {
			return
		}
		i := skipSpace(arr, 1)
		for i < len(arr) && arr[i] != ']' {
			end, err := Skip(arr, i, 0)
			if err != nil || !yield(arr[i:end]) {
				return
			}
			next, done, err := afterElement(arr, end, ']')
			if err != nil || done {
				return
			}
			i = next
		}
	}
}

// Get returns the value of a member of a valid object; of equal keys the last
// one counts, as in encoding/json. It is nil when there is none.
func Get(obj []byte, key string) []byte {
	var found []byte
	for k, v := range RawMembers(obj) {
		if keyIs(k, key) {
			found = v
		}
	}
	return found
}

// GetPath is Get along nested keys.
func GetPath(obj []byte, keys ...string) []byte {
	for _, k := range keys {
		if obj = Get(obj, k); obj == nil {
			return nil
		}
	}
	return obj
}

// Unquote decodes a valid JSON string; any other value gives its own text.
func Unquote(v []byte) string {
	if KindOf(v) != String {
		return string(v)
	}
	inner := v[1 : len(v)-1]
	for _, c := range inner {
		if c == '\\' || c >= 0x80 {
			var s string
			if json.Unmarshal(v, &s) == nil {
				return s
			}
			return string(inner)
		}
	}
	return string(inner)
}

// Text is the decoded string, or "" when v is no string.
func Text(v []byte) string {
	if KindOf(v) != String {
		return ""
	}
	return Unquote(v)
}

// Int is the integer behind v, and whether there is one.
func Int(v []byte) (int64, bool) {
	if KindOf(v) != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; !plain[c] || c >= 0x80 || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil { // never for a string
				return append(dst, `""`...)
			}
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// keyIs compares a quoted key with plain text.
func keyIs(quoted []byte, key string) bool {
	if len(quoted) == len(key)+2 && string(quoted[1:len(quoted)-1]) == key {
		return true
	}
	for _, c := range quoted {
		if c == '\\' {
			return Unquote(quoted) == key
		}
	}
	return false
}
