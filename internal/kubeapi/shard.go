package kubeapi

import (
	"fmt"
	"math"
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

// HoldsName reports whether the object of that name is in the range, where it is one of hashes of namespace/name. No
// apiserver filters by that.
func (r Range) HoldsName(namespace, name string) bool {
	return r.has(fnv1a(fnv1a(fnv1a(fnvStart, namespace), "/"), name))
}

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

// afterAll is the end of a range that holds the last hash: 2^64.
const afterAll = "0x10000000000000000"

// String is the range as the parameter shardSelector of a request.
func (r Range) String() string {
	end := afterAll
	if r.Last < math.MaxUint64 {
		end = fmt.Sprintf("0x%016x", r.Last+1)
	}
	return fmt.Sprintf("shardRange(object.metadata.uid, '0x%016x', '%s')", r.From, end)
}

var shardRange = regexp.MustCompile(`^\s*shardRange\(\s*object\.metadata\.uid\s*,\s*` + `(['"])0x([0-9a-f]{16})(['"])` +
	`\s*,\s*(['"])(0x1?[0-9a-f]{16})(['"])\s*\)\s*$`)

// ParseRange reads a shardSelector: one range of object.metadata.uid. Several, and such of namespaces, which an
// apiserver takes, are refused.
func ParseRange(text string) (r Range, err error) {
	m := shardRange.FindStringSubmatch(text)
	if m == nil || m[1] != m[3] || m[4] != m[6] {
		return r, BadRequest("shardSelector: %q: want %s", text, Split(1)[0])
	}
	from, err := strconv.ParseUint(m[2], 16, 64)
	if err != nil {
		return r, BadRequest("shardSelector: %q: %v", text, err)
	}
	r = Range{From: from, Last: math.MaxUint64}
	if m[5] != afterAll {
		end, err := strconv.ParseUint(m[5][2:], 16, 64)
		if err != nil || end <= from {
			return r, BadRequest("shardSelector: %q: the end is to be after the start", text)
		}
		r.Last = end - 1
	}
	return r, nil
}
