package query

import (
	"github.com/watchbench/watchbench/storagemock/rawjson"
)

// Projection keeps the fields at some paths. The zero value keeps all.
type Projection struct{ root *branch }

// branch is a level of the tree of paths; a nil child keeps all below it.
type branch struct{ children map[string]*branch }

// ParseProjection reads the paths of a field parameter. The identifier _id is
// always kept. Of two paths of which one is the beginning of the other, the
// shorter counts.
func ParseProjection(paths []string) Projection {
	var p Projection
	for _, path := range paths {
		if path == "" {
			continue
		}
		if p.root == nil {
			p.root = &branch{map[string]*branch{"_id": nil}}
		}
		p.root.add(ParsePath(path))
	}
	return p
}

func (b *branch) add(p Path) {
	for len(p) > 0 {
		child, known := b.children[p[0]]
		switch {
		case known && child == nil:
			return
		case len(p) == 1:
			b.children[p[0]] = nil
			return
		case !known:
			child = &branch{map[string]*branch{}}
			b.children[p[0]] = child
		}
		b, p = child, p[1:]
	}
}

// Append appends the projected document as a JSON object.
func (p Projection) Append(dst []byte, doc Document) []byte {
	dst = append(dst, '{')
	first := true
	for name, v := range doc.Fields() {
		var child *branch
		if p.root != nil {
			c, keep := p.root.children[name]
			if !keep {
				continue
			}
			child = c
		}
		mark := len(dst)
		if !first {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, name)
		dst = append(dst, ':')
		var some bool
		if dst, some = child.append(dst, v); !some {
			dst = dst[:mark]
			continue
		}
		first = false
	}
	return append(dst, '}')
}

// append appends what is kept of v; some is false when that is nothing.
func (b *branch) append(dst, v []byte) (out []byte, some bool) {
	if b == nil {
		return append(dst, v...), true
	}
	switch rawjson.KindOf(v) {
	case rawjson.Object:
		dst = append(dst, '{')
		first := true
		for key, member := range rawjson.RawMembers(v) {
			child, keep := b.lookup(key)
			if !keep {
				continue
			}
			mark := len(dst)
			if !first {
				dst = append(dst, ',')
			}
			dst = append(dst, key...)
			dst = append(dst, ':')
			if dst, some = child.append(dst, member); !some {
				dst = dst[:mark]
				continue
			}
			first = false
		}
		return append(dst, '}'), true
	case rawjson.Array:
		dst = append(dst, '[')
		first := true
		for e := range rawjson.Elements(v) {
			mark := len(dst)
			if !first {
				dst = append(dst, ',')
			}
			if dst, some = b.append(dst, e); !some {
				dst = dst[:mark]
				continue
			}
			first = false
		}
		return append(dst, ']'), true
	}
	return dst, false
}

func (b *branch) lookup(quoted []byte) (*branch, bool) {
	if child, ok := b.children[string(quoted[1:len(quoted)-1])]; ok && keyMatches(quoted, string(quoted[1:len(quoted)-1])) {
		return child, true
	}
	for segment, child := range b.children {
		if keyMatches(quoted, segment) {
			return child, true
		}
	}
	return nil, false
}
