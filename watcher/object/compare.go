package object

import (
	"bytes"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// HeartbeatPaths are what changes in a Node that only says it is alive. "*" is any
// index.
var HeartbeatPaths = [][]string{
	{"metadata", "resourceVersion"},
	managedFieldsPath,
	{"status", "conditions", "*", "lastHeartbeatTime"},
}

// EqualIgnoring reports whether a and b are the same bytes apart from the fields
// that the paths name; "*" is any key or index. The apiserver writes keys in a
// fixed order, so equal bytes are what equal objects have. Text that is not JSON
// is never equal.
func EqualIgnoring(a, b []byte, paths [][]string) bool {
	cutA, err := findCuts(a, paths, wild)
	if err != nil {
		return false
	}
	cutB, err := findCuts(b, paths, wild)
	if err != nil {
		return false
	}
	ra, rb := rest{a, cutA, 0}, rest{b, cutB, 0}
	pa, pb := ra.next(), rb.next()
	for len(pa) > 0 && len(pb) > 0 {
		n := min(len(pa), len(pb))
		if !bytes.Equal(pa[:n], pb[:n]) {
			return false
		}
		if pa = pa[n:]; len(pa) == 0 {
			pa = ra.next()
		}
		if pb = pb[n:]; len(pb) == 0 {
			pb = rb.next()
		}
	}
	return len(pa) == 0 && len(pb) == 0
}

// rest yields what lies between cuts.
type rest struct {
	b    []byte
	cuts []jsonscan.Range
	from int
}

// next is the next part that is not empty, or nil at the end.
func (r *rest) next() []byte {
	for len(r.cuts) > 0 {
		part := r.b[r.from:r.cuts[0].Start]
		r.from = r.cuts[0].End
		r.cuts = r.cuts[1:]
		if len(part) > 0 {
			return part
		}
	}
	part := r.b[r.from:]
	r.from = len(r.b)
	return part
}
