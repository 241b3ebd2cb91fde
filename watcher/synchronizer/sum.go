package synchronizer

import (
	"hash/maphash"
	"math"
	"strconv"

	"github.com/watchbench/watchbench/internal/jsonscan"
	"github.com/watchbench/watchbench/watcher/object"
)

var seed = maphash.MakeSeed()

// Sum is the same for objects of a kind that are the Same but for their managedFields: who
// wrote a row may have kept them. It differs from one process to the next; 0 is no object.
func Sum(kind string, raw []byte) uint64 {
	paths := [][]string{{"metadata", "managedFields"}}
	if kind == kindNode {
		paths = object.HeartbeatPaths
	}
	s := jsonscan.New(raw)
	sum, err := sumValue(&s, raw, paths)
	if err != nil {
		return 0
	}
	return sum
}

// sumValue is that of the next value of s, a scanner of b, without what paths name. Members
// of an object count in any order, and numbers by their value.
func sumValue(s *jsonscan.Scanner, b []byte, paths [][]string) (sum uint64, err error) {
	c, err := s.Peek()
	if err != nil {
		return 0, err
	}
	switch c {
	case '{':
		sum = 1
		err = s.Object(func(key jsonscan.Str) error {
			name := key.Text(b)
			below, cut := descend(paths, name)
			if cut {
				_, err := s.Value()
				return err
			}
			v, err := sumValue(s, b, below)
			sum += mixed(maphash.String(seed, name), v)
			return err
		})
		return sum, err
	case '[':
		sum = 2
		below, _ := descend(paths, "*")
		more, err := s.EnterArray()
		for ; more && err == nil; more, err = s.NextElement() {
			v, err := sumValue(s, b, below)
			if err != nil {
				return 0, err
			}
			sum = mixed(sum, v)
		}
		return sum, err
	}
	v, err := s.Value()
	if err != nil {
		return 0, err
	}
	text := v.Of(b)
	if number, err := strconv.ParseFloat(string(text), 64); c != '"' && err == nil {
		return mixed(3, math.Float64bits(number+0)), nil // -0 is 0
	}
	if c == '"' {
		return mixed(4, maphash.String(seed, jsonscan.Unquote(text))), nil
	}
	return mixed(5, maphash.Bytes(seed, text)), nil
}

// descend is what paths name below a member, and whether they name the member.
func descend(paths [][]string, name string) (below [][]string, itself bool) {
	for _, p := range paths {
		if p[0] == name && len(p) == 1 {
			return nil, true
		} else if p[0] == name {
			below = append(below, p[1:])
		}
	}
	return below, false
}

// mixed depends on both and on their order.
func mixed(a, b uint64) uint64 { return maphash.Comparable(seed, [2]uint64{a, b}) }
