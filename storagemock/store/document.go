package store

import (
	"slices"
	"strings"
	"time"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Value returns the JSON value at a dotted path, nil if there is none.
func Value(doc *Record, path string) []byte {
	keys := strings.Split(path, ".")
	for name, v := range doc.Fields() {
		if name == keys[0] {
			return jsonscan.Lookup(v, keys[1:]...)
		}
	}
	return nil
}

// In selects documents with a string at Path that is one of Values.
type In struct {
	Path   string
	Values []string
}

// Filter selects documents that match all of its conditions; all documents if empty.
type Filter []In

// Match reports whether the filter selects d.
func (f Filter) Match(d *Record) bool {
	for _, in := range f {
		v := Value(d, in.Path)
		if !jsonscan.IsString(v) || !slices.Contains(in.Values, jsonscan.Unquote(v)) {
			return false
		}
	}
	return true
}

// appendTime appends t as documents hold it: RFC 3339 with up to milliseconds, in quotes.
func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().Truncate(time.Millisecond).AppendFormat(append(dst, '"'), time.RFC3339Nano)
	return append(dst, '"')
}
