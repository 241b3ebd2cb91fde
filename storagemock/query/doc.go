// Package query decides which stored documents a request means and which of
// their fields it gets, as the real server's database does: dotted paths that
// also look into arrays, equality by value and type, soft existence.
//
// Keys of stored objects that contain a dot or a dollar sign are kept under
// U+FF0E and U+FF04 by the real server; keys in queries are not converted. So a
// path that was split at such a dot matches nothing, and a query that spells
// U+FF0E does match. Both hold here.
package query

import (
	"bytes"
	"iter"
	"strconv"
	"strings"

	"github.com/watchbench/watchbench/storagemock/rawjson"
)

// Document is one stored document.
type Document interface {
	// Fields yields the top-level fields in their order, values as JSON.
	Fields() iter.Seq2[string, []byte]
}

// Path is a dotted path, split.
type Path []string

// ParsePath splits a dotted path.
func ParsePath(s string) Path { return strings.Split(s, ".") }

func (p Path) String() string { return strings.Join(p, ".") }

// Values yields every value the path leads to.
func (p Path) Values(doc Document) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for name, v := range doc.Fields() {
			if name == p[0] {
				walk(v, p[1:], yield)
				return
			}
		}
	}
}

// walk goes down the path; into an array by index and, for what are objects, by
// each element. It returns false when yield wants no more.
func walk(v []byte, p Path, yield func([]byte) bool) bool {
	if len(p) == 0 {
		return yield(v)
	}
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		var found []byte
		for key, member := range rawjson.RawMembers(v) {
			if keyMatches(key, p[0]) {
				found = member
			}
		}
		return found == nil || walk(found, p[1:], yield)
	case rawjson.Array:
		index, err := strconv.Atoi(p[0])
		isIndex := err == nil && index >= 0
		i := 0
		for e := range rawjson.Elements(v) {
			if isIndex && i == index && !walk(e, p[1:], yield) {
				return false
			}
			if rawjson.KindOf(e) == rawjson.Object && !walk(e, p, yield) {
				return false
			}
			i++
		}
	}
	return true
}

// storedKey is how the server's database spells a key.
var storedKey = strings.NewReplacer(".", "．", "$", "＄")

// keyMatches compares a quoted key of an object with a segment of a query.
func keyMatches(quoted []byte, segment string) bool {
	inner := quoted[1 : len(quoted)-1]
	if bytes.ContainsAny(inner, `.$\`) {
		return storedKey.Replace(rawjson.Unquote(quoted)) == segment
	}
	return string(inner) == segment
}
