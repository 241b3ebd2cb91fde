package store

import (
	"strings"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

// Projection keeps the fields at some paths. The zero value keeps all.
type Projection struct{ root branch }

// branch is one level of the tree of paths, by key. A nil branch keeps everything
// below it.
type branch map[string]branch

// ParseProjection reads the paths of a field parameter. The identifier _id is always
// kept. If one path is the beginning of another, the shorter one counts.
func ParseProjection(paths []string) Projection {
	var p Projection
	for _, path := range paths {
		if path == "" {
			continue
		}
		if p.root == nil {
			p.root = branch{"_id": nil}
		}
		p.root.add(strings.Split(path, "."))
	}
	return p
}

func (b branch) add(keys []string) {
	for i, key := range keys {
		child, known := b[key]
		if known && child == nil {
			return
		}
		if i == len(keys)-1 {
			b[key] = nil
			return
		}
		if !known {
			child = branch{}
			b[key] = child
		}
		b = child
	}
}

// Append appends the projected document as a JSON object.
func (p Projection) Append(dst []byte, doc Document) []byte {
	dst = append(dst, '{')
	first := true
	for name, v := range doc.Fields() {
		child, keep := p.root[name]
		if p.root != nil && !keep {
			continue
		}
		dst = child.appendMember(dst, jsonscan.AppendString(nil, name), v, &first)
	}
	return append(dst, '}')
}

// appendMember appends a comma unless it is the first member, the quoted key and what
// the branch keeps of the value; nothing if it keeps nothing.
func (b branch) appendMember(dst, key, v []byte, first *bool) []byte {
	if b != nil && !jsonscan.IsObject(v) {
		return dst
	}
	if !*first {
		dst = append(dst, ',')
	}
	*first = false
	dst = append(append(dst, key...), ':')
	if b == nil {
		return append(dst, v...)
	}
	dst = append(dst, '{')
	inner := true
	for key, member := range jsonscan.Members(v) {
		if child, keep := b[jsonscan.Unquote(key)]; keep {
			dst = child.appendMember(dst, key, member, &inner)
		}
	}
	return append(dst, '}')
}
