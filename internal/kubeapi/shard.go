package kubeapi

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
)

// Range is a part of the 64-bit FNV-1a hashes: of uids in a sharded list or watch (KEP-5866).
type Range struct {
	From uint64
	Last uint64 // is part of it
}

// Split divides all hashes into n ranges that differ by 1 in size at most; of less than two it makes one.
func Split(n int) []Range {
	if n < 2 {
		return []Range{{Last: math.MaxUint64}}
	}
	width := math.MaxUint64/uint64(n) + 1
	all := make([]Range, n)
	for i := range all {
		all[i] = Range{From: uint64(i) * width, Last: uint64(i+1)*width - 1}
	}
	all[n-1].Last = math.MaxUint64
	return all
}

// Holds reports whether the object with this uid is in the range.
func (r Range) Holds(uid string) bool { return r.has(fnv1a(fnvStart, uid)) }

func (r Range) has(hash uint64) bool { return r.From <= hash && hash <= r.Last }

// fnvStart is the hash of nothing.
const fnvStart, fnvPrime uint64 = 0xcbf29ce484222325, 0x100000001b3

// fnv1a goes on with a hash. Unlike hash/fnv it needs no memory, and it is asked for every object.
func fnv1a(hash uint64, text string) uint64 {
	for i := range len(text) {
		hash = (hash ^ uint64(text[i])) * fnvPrime
	}
	return hash
}

// mixed has every bit depend on all. The upper ones of FNV-1a, by which a range goes, hardly depend on the last three
// characters, in which names with running numbers differ: 100 of them would be in one of four ranges.
func mixed(hash uint64) uint64 { return (hash ^ hash>>32) * 0x9e3779b97f4a7c15 }

// String is the parameter shardSelector for uids.
func (r Range) String() string { return Shard{Range: r}.String() }

// By is what of an object is hashed.
type By string

// An apiserver knows the first two. The name is hashed with its namespace: namespace/name.
const (
	ByUID       By = "uid"
	ByNamespace By = "namespace"
	ByName      By = "name"
)

// Shard is the objects of which a property has its hash in a range; without By that is the uid.
type Shard struct {
	Range
	By By
}

// Holds reports whether an object is in the shard.
func (s Shard) Holds(namespace, name, uid string) bool {
	switch s.By {
	case ByName:
		return s.has(mixed(fnv1a(fnv1a(fnv1a(fnvStart, namespace), "/"), name)))
	case ByNamespace:
		return s.has(fnv1a(fnvStart, namespace))
	}
	return s.Range.Holds(uid)
}

// afterAll is the end of a range that holds the last hash: 2^64.
const afterAll = "0x10000000000000000"

// String is the parameter shardSelector of a request; empty by name, of which no apiserver knows.
func (s Shard) String() string {
	if s.By == ByName {
		return ""
	}
	end := afterAll
	if s.Last < math.MaxUint64 {
		end = fmt.Sprintf("0x%016x", s.Last+1)
	}
	return fmt.Sprintf("shardRange(object.metadata.%s, '0x%016x', '%s')", cmp.Or(s.By, ByUID), s.From, end)
}

var shardRange = regexp.MustCompile(`^\s*shardRange\(\s*object\.metadata\.(uid|namespace)\s*,\s*` +
	`(['"])0x([0-9a-f]{16})(['"])\s*,\s*(['"])(0x1?[0-9a-f]{16})(['"])\s*\)\s*$`)

// ParseShard reads a shardSelector of one range; several, which an apiserver takes, are refused. The error is an
// internal one, as that of an apiserver is.
func ParseShard(text string) (s Shard, err error) {
	m := shardRange.FindStringSubmatch(text)
	if m == nil || m[2] != m[4] || m[5] != m[7] {
		return s, errShard("%q: want one range, like %s", text, Split(1)[0])
	}
	from, err := strconv.ParseUint(m[3], 16, 64)
	if err != nil {
		return s, errShard("%q: %v", text, err)
	}
	s = Shard{Range{From: from, Last: math.MaxUint64}, By(m[1])}
	if m[6] != afterAll {
		end, err := strconv.ParseUint(m[6][2:], 16, 64)
		if err != nil || end <= from {
			return s, errShard("%q: the end is to be after the start", text)
		}
		s.Last = end - 1
	}
	return s, nil
}

func errShard(format string, args ...any) error {
	return Status(http.StatusInternalServerError, "", "invalid shard selector: "+format, args...)
}
