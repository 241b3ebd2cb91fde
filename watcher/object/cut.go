package object

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// member follows the members of one object, or the elements of one array, and
// says which bytes to cut so that commas stay right whichever of them go.
type member struct {
	start, end int // the member at hand
	comma      int // the comma before it; meaningful once something was kept
	kept       int
}

// passed is called when the scanner has passed the member's comma (more) or
// the closing bracket, at pos. It returns what to cut if the member goes.
func (m *member) passed(pos int, more, cut bool) jsonscan.Range {
	var r jsonscan.Range
	switch {
	case !cut:
		m.kept++
	case m.kept > 0:
		r = jsonscan.Range{Start: m.comma, End: m.end}
	case more:
		r = jsonscan.Range{Start: m.start, End: pos}
	default:
		r = jsonscan.Range{Start: m.start, End: m.end}
	}
	if more {
		m.comma = pos - 1
	}
	return r
}

// matching says how the segments of a path meet the document.
type matching bool

const (
	// exact: a segment is a key or an index; a path that cannot apply to the document's shape is an error.
	exact matching = false
	// wild: "*" is any key or index; a path that does not apply finds nothing.
	wild matching = true
)

const anySegment = "*"

// PathError says that a field cannot be removed because the document has another shape than the path expects.
type PathError struct {
	Segment string // the first segment that does not fit
	Found   string // the value at that place
}

func (e *PathError) Error() string {
	return fmt.Sprintf("path segment %q does not fit: it meets %s", e.Segment, e.Found)
}

type cutter struct {
	b    []byte
	s    jsonscan.Scanner
	mode matching
	out  []jsonscan.Range
}

// findCuts returns, in ascending order, the ranges to cut so that every field that a path names is gone, also where
// keys stand twice. Absent fields are ignored.
func findCuts(b []byte, paths [][]string, mode matching) ([]jsonscan.Range, error) {
	c := cutter{b: b, s: jsonscan.New(b), mode: mode}
	if err := c.walk(paths); err != nil {
		return nil, err
	}
	return c.out, c.s.End()
}

func (c *cutter) walk(paths [][]string) error {
	first, err := c.s.Peek()
	if err != nil {
		return err
	}
	switch first {
	case '{':
		return c.object(paths)
	case '[':
		return c.array(paths)
	}
	v, err := c.s.Value()
	if err != nil || len(paths) == 0 || c.mode == wild || string(v.Of(c.b)) == "null" {
		return err
	}
	return &PathError{Segment: paths[0][0], Found: "a value that has no fields"}
}

func (c *cutter) object(paths [][]string) error {
	var m member
	more, err := c.s.EnterObject()
	for more {
		m.start = c.s.Pos()
		key, err := c.s.Key()
		if err != nil {
			return err
		}
		// Most members match nothing: look before making a list.
		cut, deeper := c.match(paths, func(segment string) bool { return key.Is(c.b, segment) })
		if more, err = c.member(&m, cut, deeper, (*jsonscan.Scanner).NextMember); err != nil {
			return err
		}
	}
	return err
}

func (c *cutter) array(paths [][]string) error {
	if c.mode == exact {
		for _, p := range paths {
			if !isIndex(p[0]) {
				return &PathError{Segment: p[0], Found: "an array, where only an index fits"}
			}
		}
	}
	var m member
	more, err := c.s.EnterArray()
	for i := 0; more; i++ {
		m.start = c.s.Pos()
		cut, deeper := c.match(paths, func(segment string) bool {
			n, err := strconv.Atoi(segment)
			return err == nil && n == i && isIndex(segment)
		})
		if more, err = c.member(&m, cut, deeper, (*jsonscan.Scanner).NextElement); err != nil {
			return err
		}
	}
	return err
}

// member passes one value, cut or searched, and what follows it.
func (c *cutter) member(m *member, cut bool, deeper [][]string, next func(*jsonscan.Scanner) (bool, error)) (bool,
	error) {
	// The range of an outer member comes before those within, and a cut member is
	// not searched: out has the order of the text.
	var err error
	if cut || len(deeper) == 0 {
		_, err = c.s.Value()
	} else {
		err = c.walk(deeper)
	}
	if err != nil {
		return false, err
	}
	m.end = c.s.Pos()
	more, err := next(&c.s)
	if err != nil {
		return false, err
	}
	if r := m.passed(c.s.Pos(), more, cut); !r.Empty() {
		c.out = append(c.out, r)
	}
	return more, nil
}

// match reports whether a path ends at this member, and which go on below it.
func (c *cutter) match(paths [][]string, is func(string) bool) (cut bool, deeper [][]string) {
	for _, p := range paths {
		if fits := c.mode == wild && p[0] == anySegment || is(p[0]); !fits {
			continue
		}
		if len(p) == 1 {
			return true, nil
		}
		deeper = append(deeper, p[1:])
	}
	return false, deeper
}

// isIndex reports whether a segment is a decimal index in its only spelling.
func isIndex(segment string) bool {
	if segment == "" || len(segment) > 1 && segment[0] == '0' {
		return false
	}
	return !slices.ContainsFunc([]byte(segment), func(c byte) bool { return c < '0' || c > '9' })
}
