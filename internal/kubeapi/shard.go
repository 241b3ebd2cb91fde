package kubeapi

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
)

// By is what of an object is hashed.
type By string

// An apiserver knows the first two. The name is hashed with its namespace: namespace/name.
const (
	ByUID       By = "uid"
	ByNamespace By = "namespace"
	ByName      By = "name"
)

// Shard is the objects of which a property has its 64-bit FNV-1a hash in a range (KEP-5866).
type Shard struct {
	From, Last uint64 // both are part of it
	By         By
}

// Split divides all objects into n shards of about the same size; of less than two it makes one.
func Split(n int, by By) []Shard {
	all := make([]Shard, max(1, n))
	width := math.MaxUint64 / uint64(len(all))
	for i := range all {
		all[i] = Shard{From: uint64(i) * (width + 1), Last: uint64(i)*(width+1) + width, By: by}
	}
	all[len(all)-1].Last = math.MaxUint64
	return all
}

// Holds reports whether an object is in the shard.
func (s Shard) Holds(namespace, name, uid string) bool {
	var hash uint64
	switch s.By {
	case ByName:
		hash = mixed(fnv1a(fnv1a(fnv1a(fnvStart, namespace), "/"), name))
	case ByNamespace:
		hash = fnv1a(fnvStart, namespace)
	case ByUID:
		hash = fnv1a(fnvStart, uid)
	}
	return s.From <= hash && hash <= s.Last
}

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
	return fmt.Sprintf("shardRange(object.metadata.%s, '0x%016x', '%s')", s.By, s.From, end)
}

var shardRange = regexp.MustCompile(`^\s*shardRange\(\s*object\.metadata\.(uid|namespace)\s*,\s*` +
	`(['"])0x([0-9a-f]{16})(['"])\s*,\s*(['"])(0x1?[0-9a-f]{16})(['"])\s*\)\s*$`)

// ParseShard reads a shardSelector of one range; several, which an apiserver takes, are refused. The error is an
// internal one, as that of an apiserver is.
func ParseShard(text string) (s Shard, err error) {
	m := shardRange.FindStringSubmatch(text)
	if m == nil || m[2] != m[4] || m[5] != m[7] {
		return s, errShard("%q: want one range, like %s", text, Split(1, ByUID)[0])
	}
	from, _ := strconv.ParseUint(m[3], 16, 64) // 16 digits always fit
	s = Shard{From: from, Last: math.MaxUint64, By: By(m[1])}
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
